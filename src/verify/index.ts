/** The published entry `quittance/verify`: does this hash, settlement, mint or redeem hold? */
import '../base/require-node.ts'

export type {
  /** Bytes as text: `0x` and an even number of hex digits. */
  Hex,
} from '../chain/hex.ts'
export { plainProvider } from '../chain/rpc/provider.ts'
export type { Provider, RpcCall } from '../chain/rpc/provider.ts'
export { ClaimError, type BaseClaim, type TimeWindow, type VerifyOptions } from './claim.ts'
export { check, type QuittanceClaim, type Trust } from './check.ts'
export type { Coin } from './coins.ts'
export type { PaymentClaim } from './payment-claim.ts'
export type { Payment, PaymentKind, Rail } from './read-payments.ts'
export { PROFILES, type Profile, type ProfileName, type ProfileStatement } from './profiles.ts'
export { MAX_QUITTANCE_BYTES, type Quittance } from './quittance.ts'
export { quittanceSchema } from './quittance-schema.ts'
export { prove, type Proof, type ProofRequest } from './prove.ts'
export type { Range } from './search.ts'
export { readCoin, type TokenState } from './token-state.ts'
export {
  couldNotAsk,
  type Complaint,
  type Disagreement,
  type DisagreementKind,
  type Evidence,
  type PendingKind,
  type Verdict,
} from './verdict.ts'
export { verifyMint, verifyRedeem, type MintClaim, type RedeemClaim } from './verify-supply.ts'
export {
  verifySettlement,
  verifyTransaction,
  type SettlementClaim,
  type TransactionClaim,
} from './verify-transaction.ts'
