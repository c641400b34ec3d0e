import type { Clock } from '../../../../base/clock.ts'
import { actorOf } from '../../../../domain/access.ts'
import {
  acknowledgeAlert,
  listAlertRows,
  type SenderAlertKind,
} from '../../../../store/orders/sender-alerts.ts'
import { RequestError } from '../../../../wire/errors.ts'
import {
  AlertListSchema,
  AlertNotedSchema,
  AlertNoteSchema,
  AlertParamsSchema,
} from '../../../../wire/group-b/console.ts'
import { OfChainQuerySchema } from '../../../../wire/group-b/admin.ts'
import { wantedChain, type Chains } from '../../../chains.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { fieldsOf } from '../fields.ts'
import { ADMINISTRATION } from './administration.ts'

const REMEDIES: Readonly<Record<SenderAlertKind, string>> = {
  reorg_after_final:
    'Wait for the block that replaced it. If the payment is not in it, pay again or write it off.',
  settlement_mismatch: 'Compare the receipt with the order, and check the configured contract.',
  nonce_taken_by_like_payment: 'Find out who else holds the key of this signer, and replace it.',
}

export function alertEndpoints({ clock, chains }: { clock: Clock; chains: Chains }): Endpoint[] {
  const list = defineEndpoint({
    ...ADMINISTRATION,
    route: 'GET /api/admin/alerts',
    operationId: 'listAlerts',
    summary: 'List the open alerts of the sender, oldest first',
    query: OfChainQuerySchema,
    answer: AlertListSchema,
    handle: async ({ query, db }) => {
      const alerts = await listAlertRows(db, wantedChain(chains, query))
      return {
        success: true as const,
        alerts: alerts.map(({ id, hash, ...alert }) => ({
          id: String(id),
          remedy: REMEDIES[alert.kind],
          eth_transaction_hash: hash,
          ...fieldsOf(
            alert,
            'kind',
            'chain',
            'transactionId',
            'openedAt',
            'note',
            'acknowledgedBy',
          ),
          ...fieldsOf(alert, 'acknowledgedAt'),
        })),
      }
    },
  })
  const acknowledge = defineEndpoint({
    ...ADMINISTRATION,
    route: 'POST /api/admin/alerts/{alert_id}/acknowledge',
    operationId: 'acknowledgeAlert',
    summary: 'Acknowledge an open alert with a note',
    params: AlertParamsSchema,
    body: AlertNoteSchema,
    answer: AlertNotedSchema,
    handle: async ({ params, body, caller, db }) => {
      const { alert_id } = params
      const { note } = body
      const now = clock.now()
      const alert = { id: BigInt(alert_id), note, actor: actorOf(caller), now }
      if (!(await acknowledgeAlert(db, alert))) {
        throw new RequestError('not_found', 'There is no open alert with this id.')
      }
      return { success: true as const, alert_id }
    },
  })
  return [list, acknowledge]
}
