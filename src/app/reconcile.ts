/** The published entry `quittance/reconcile`: do these records agree with the chain? */
import '../base/require-node.ts'

export {
  reconcile,
  type ReconcileOptions,
  type ReconcileProgress,
  type RecordsToken,
} from './reconcile/reconcile.ts'
export type { PaymentRow } from '../reconciler/sources/rows.ts'
export type { ReportJson } from '../reconciler/reports/json.ts'
