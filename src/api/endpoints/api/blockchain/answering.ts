import type { Hex, Order, Route } from '../../../../domain/orders.ts'
import type { Db } from '../../../../store/database/database.ts'
import { createAnswering, ofPayee } from '../../../admission/refusals.ts'
import type { Outcome } from '../../../admission/together.ts'

/** What the operations on the chain need of the sender; the composition root fits it in. */
export type BlockchainPayments<Prepared = unknown> = {
  /** The caller's own address, which pays and holds the balance. */
  addressOf: (userId: number) => Promise<Hex>
  /** Asks the chain what the payment takes, outside of any transaction, or rejects. */
  prepare: (db: Db, payment: BlockchainPayment) => Promise<Prepared>
  /** Accepts the orders in the open transaction. Of one that is refused, nothing is stored. */
  acceptAll: (
    db: Db,
    prepared: readonly Prepared[],
  ) => Promise<ReadonlyArray<Outcome<{ order: Order; hash: Hex }>>>
  balanceOf: (address: Hex) => Promise<bigint>
  /** What is accepted is sent soon even without it. */
  kick: () => void
}

export type BlockchainPayment = {
  subject: string
  spender: string
  route: Route
  payer: Hex
  payee: Hex
  amount: bigint
}

/** Runs the work and turns what the sender refuses into the answer that the caller gets. */
export const answering = createAnswering({
  ...ofPayee({ failure: 'invalid_request', field: 'to_address' }),
  amount_not_positive: { failure: 'invalid_request', field: 'amount' },
  insufficient_funds: { failure: 'insufficient_funds', field: 'amount' },
  simulation_failed: { failure: 'payment_would_fail', field: 'to_address' },
  gas_too_high: { failure: 'payment_would_fail', field: 'to_address' },
  contract_not_configured: { failure: 'contract_not_configured', field: 'use_contract' },
  stablecoin_not_configured: { failure: 'conflict' },
  contract_mismatch: { failure: 'upstream_failed' },
})
