import type { Hex, Order } from '../../../../domain/orders.ts'
import type { Db } from '../../../../store/database/database.ts'

/** What a mint needs of the sender; the composition root fits it in. */
export type Minting<Prepared = unknown> = {
  /** Asks the chain what the mint takes, outside of any transaction, or rejects. */
  prepare: (db: Db, mint: MintOrder) => Promise<Prepared>
  /** Accepts the order in the open transaction, or rejects with nothing stored. */
  accept: (db: Db, prepared: Prepared) => Promise<{ order: Order; hash: Hex }>
  /** What is accepted is sent soon even without it. */
  kick: () => void
}

export type MintOrder = {
  /** The id of the mint. */
  subject: string
  spender: string
  payee: Hex
  /** In millionths, as the token counts. */
  amount: bigint
}
