import {
  findDelivery,
  listDeliveries,
  type Delivery,
} from '../../../store/webhooks/delivery-log.ts'
import {
  AnyDeliveryAnswerSchema,
  AnyDeliveryListQuerySchema,
  AnyDeliveryListSchema,
  AnyDeliveryParamsSchema,
  type AnyDeliveryWire,
} from '../../../wire/group-b/deliveries.ts'
import { effectiveLimit } from '../../../wire/shapes.ts'
import { invalidRequest } from '../../admission/checks.ts'
import { defineEndpoint } from '../../admission/endpoint.ts'
import { replay } from '../../admission/replay.ts'

const tag = 'Operations'

export const anyDeliveryListEndpoint = defineEndpoint({
  route: 'GET /api/deliveries',
  operationId: 'listAnyDeliveries',
  summary: 'Lists the webhooks of all users and what came of them, newest first',
  tag,
  access: 'admin',
  query: AnyDeliveryListQuerySchema,
  answer: AnyDeliveryListSchema,
  handle: async ({ query, db }) => {
    const { user_id: userId, status: state, about, after } = query
    if (after !== undefined && (await findDelivery(db, { id: after })) === undefined) {
      const message =
        'There is no such delivery. Take the next_after of an answer, or leave it out.'
      throw invalidRequest([{ field: 'query.after', code: 'bad_cursor', message }])
    }
    const limit = effectiveLimit(query.limit)
    const found = await listDeliveries(db, { userId, state, about, after, limit: limit + 1 })
    const shown = found.slice(0, limit)
    return {
      success: true as const,
      deliveries: shown.map(toAnyDeliveryWire),
      limit,
      next_after: found.length > limit ? (shown.at(-1)?.id ?? null) : null,
    }
  },
})

export const anyDeliveryReplayEndpoint = defineEndpoint({
  route: 'POST /api/deliveries/{id}/replay',
  operationId: 'replayAnyDelivery',
  summary: 'Sends a webhook of any user again, now',
  tag,
  access: 'admin',
  params: AnyDeliveryParamsSchema,
  answer: AnyDeliveryAnswerSchema,
  failures: ['conflict'],
  handle: async ({ params, db }) => {
    const delivery = await replay(db, { id: params.id })
    return { success: true as const, delivery: toAnyDeliveryWire(delivery) }
  },
})

function toAnyDeliveryWire(delivery: Delivery): AnyDeliveryWire {
  const { notification } = delivery
  return {
    id: delivery.id,
    user_id: delivery.userId,
    username: delivery.username,
    subscription_id: delivery.subscriptionId,
    notification_id: notification.id,
    notification_type: notification.type,
    sequence: notification.sequence,
    url: delivery.url,
    url_status: delivery.endpointState,
    status: delivery.state,
    tries: delivery.tries,
    next_try_at: delivery.dueAt?.toISOString() ?? null,
    latest_tries: delivery.latestTries.map((made) => ({
      created_at: made.startedAt.toISOString(),
      duration_ms: made.durationMs,
      outcome: made.outcome,
      status_code: made.status,
      answer_bytes: made.answerBytes,
      error: made.error,
    })),
    created_at: delivery.createdAt.toISOString(),
    updated_at: delivery.updatedAt.toISOString(),
  }
}
