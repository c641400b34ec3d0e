import type { Withdrawing } from '../../../../src/api/endpoints/v1/transfers.ts'
import type { PreparedWithdrawal } from '../../../../src/app/ledger.ts'
import type { Hex } from '../../../../src/domain/orders.ts'
import type { LedgerContext } from '../../../../src/ledger/context.ts'
import type { SupplyWatch } from '../../../../src/ledger/watch-supply.ts'
import type { BalanceDeps } from '../../../../src/rails/balances.ts'
import type { DepositDeps } from '../../../../src/rails/deposits.ts'
import type { Sender } from '../../../../src/sender/sender.ts'
import type { Db } from '../../../../src/store/database/database.ts'
import { DOLLAR } from '../../../fixtures/books/money.ts'
import type { Ground } from '../life.ts'

export type MoneySim = Ground & {
  dollar: Hex
  /** Calls the dollar as its admin. */
  asAdmin: (signature: string, ...words: string[]) => Promise<void>
  minter: Hex
  /** Whose money is at the platform, which signs for it. */
  custodian: Hex
  /** Whoever money is minted to, and who burns it. */
  holders: Ground['signers']
  ledger: LedgerContext
  userId: number
  wallet: bigint
  /** One process, begun anew from the tables when the one before it has crashed. */
  living: () => Living
  /** What an answer told the caller of. */
  toldMints: string[]
  toldRedeems: { id: string; reference: Hex; amount: bigint }[]
  /** Redeems that the platform itself burns for. */
  toldOwnRedeems: string[]
  /** What the platform pays out in dollars, each to an address of its own. */
  payouts: { subject: string; payee: Hex; amount: bigint; isTold: boolean }[]
  /** Withdrawals from the wallet, each to an address of its own. */
  withdrawals: { subject: string; payee: Hex; isTold: boolean }[]
  /** After which blocks a signer came to have another balance, without a transaction. */
  fundsMoved: number[]
  /** Of whose payments a stranger has used the permit. */
  usedPermits: string[]
  /** The first block whose deposits are recorded. */
  since: number
}

export type Living = {
  db: Db
  sender: Sender
  watch: SupplyWatch
  withdrawing: Withdrawing<PreparedWithdrawal>
  deposits: DepositDeps
  balances: BalanceDeps
}

export const DEPOSIT = 1_000n * DOLLAR
