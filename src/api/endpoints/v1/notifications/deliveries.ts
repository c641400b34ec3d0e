import {
  findDelivery,
  listDeliveries,
  type Delivery,
} from '../../../../store/webhooks/delivery-log.ts'
import { findSubscription } from '../../../../store/webhooks/subscriptions.ts'
import {
  DeliveryAnswerSchema,
  DeliveryListQuerySchema,
  DeliveryListSchema,
  DeliveryParamsSchema,
  SubscriptionParamsSchema,
  type DeliveryWire,
} from '../../../../wire/group-a/subscriptions.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { replay } from '../../api/deliveries.ts'
import { subscriptionNotFound } from './subscriptions.ts'

export function subscriptionDeliveryEndpoints(): Endpoint[] {
  return [deliveryList, deliveryReplay]
}

const tag = 'Notifications'

const deliveryList = defineEndpoint({
  route: 'GET /v1/notifications/subscriptions/{id}/deliveries',
  operationId: 'listDeliveries',
  summary: 'List the deliveries of a subscription with each try, newest first',
  tag,
  access: 'notifications:read',
  params: SubscriptionParamsSchema,
  query: DeliveryListQuerySchema,
  answer: DeliveryListSchema,
  handle: async ({ params, query, caller, db }) => {
    const { userId } = caller
    const subscriptionId = params.id
    const subscription = await findSubscription(db, { userId, id: subscriptionId })
    if (!subscription) throw subscriptionNotFound()
    const { status: state, pageAfter: after } = query
    if (after !== undefined && (await findDelivery(db, { userId, id: after })) === undefined) {
      const message = 'No delivery has this id. Send the last id of the previous page.'
      throw invalidRequest([{ field: 'query.pageAfter', code: 'bad_cursor', message }])
    }
    const limit = effectiveLimit(query.pageSize)
    const found = await listDeliveries(db, { userId, subscriptionId, state, after, limit })
    return { data: found.map(toDeliveryWire) }
  },
})

const deliveryReplay = defineEndpoint({
  route: 'POST /v1/notifications/deliveries/{id}/replay',
  operationId: 'replayDelivery',
  summary: 'Send a notification again, now',
  description:
    'It is the same notification with the same `webhook-id`, and the schedule of tries starts ' +
    'again. Replay the ping of a disabled URL to try that URL again.',
  tag,
  access: 'notifications:write',
  params: DeliveryParamsSchema,
  answer: DeliveryAnswerSchema,
  failures: ['conflict'],
  handle: async ({ params, caller, db }) => {
    const delivery = await replay(db, { userId: caller.userId, id: params.id })
    return { data: toDeliveryWire(delivery) }
  },
})

function toDeliveryWire(delivery: Delivery): DeliveryWire {
  const { notification } = delivery
  return {
    id: delivery.id,
    subscriptionId: delivery.subscriptionId,
    notificationId: notification.id,
    notificationType: notification.type,
    sequence: notification.sequence,
    url: delivery.url,
    status: delivery.state,
    tries: delivery.tries,
    nextTryDate: delivery.dueAt?.toISOString() ?? null,
    latestTries: delivery.latestTries.map((made) => ({
      date: made.startedAt.toISOString(),
      durationMs: made.durationMs,
      outcome: made.outcome,
      statusCode: made.status,
      answerBytes: made.answerBytes,
      error: made.error,
    })),
    createDate: delivery.createdAt.toISOString(),
    updateDate: delivery.updatedAt.toISOString(),
  }
}
