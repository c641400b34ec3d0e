import type { Clock } from '../base/clock.ts'
import type { TokenProfile } from '../chain/read/token-answers.ts'
import type { RandomBytes } from '../domain/ids.ts'
import type { Payment, Transfer } from '../domain/ledger.ts'
import type { Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'

/** The chain on which the stablecoin is; the token's address is in lower case. */
export type Stablecoin = {
  token: Hex
  chainId: number
  /** Where the token has other minters: the platform as one of them, or as none. */
  issuer?: Issuer | undefined
}

/** The stablecoin, with what its functions can do. */
export type ProfiledStablecoin = Stablecoin & { profile: TokenProfile }

/** The platform as one of the minters of a FiatToken such as USDC. */
export type Issuer = {
  /** Mints, and is where holders send what they redeem. */
  address: Hex
  /** Asks the token whether it is a minter now. */
  isMinter: () => Promise<boolean>
}

/** Notifies the owner of the new state. Call it last in the transaction that makes the change. */
export type Teller = {
  tellOfPayment: (db: Db, payment: Payment) => Promise<void>
  tellOfTransfer: (db: Db, transfer: Transfer) => Promise<void>
}

/** What the operations on the ledger depend on. */
export type LedgerContext = Teller & {
  /** Undefined where the chain has none, or is not served: then nothing is redeemed there. */
  stablecoinOn: (chainId: number) => Stablecoin | undefined
  /** The name of the bank that sends its wires; undefined for the one that has no name. */
  bank?: string | undefined
  clock: Clock
  randomBytes: RandomBytes
}
