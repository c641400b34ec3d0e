/** The published entry `quittance`: the clients, with proof by the caller's own provider. */
import '../base/require-node.ts'

export * from '../client/index.ts'
export type { Provider, Verdict } from '../verify/index.ts'
export { NotSettledError, type NotSettledCode } from './errors.ts'
export {
  createPayments,
  type CheckedTransfer,
  type Payments,
  type PaymentsOptions,
  type RedeemOrder,
} from './checked-payments.ts'
export {
  createPlatform,
  type CheckedBatch,
  type CheckedPayment,
  type Intent,
  type Platform,
  type PlatformOptions,
} from './checked-platform.ts'
export type { ProofOptions } from './proof.ts'
export type { Settled, SettleOptions } from './settle.ts'
