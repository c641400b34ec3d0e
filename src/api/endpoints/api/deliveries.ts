import type { Db } from '../../../store/database/database.ts'
import {
  findDelivery,
  listDeliveries,
  replayDelivery,
  type Delivery,
} from '../../../store/webhooks/delivery-log.ts'
import { findNotification } from '../../../store/webhooks/notifications.ts'
import { listEveryonesEndpoints } from '../../../store/webhooks/subscriptions.ts'
import { RequestError } from '../../../wire/errors.ts'
import { notificationText, webhookHeaders } from '../../../wire/group-a/subscriptions.ts'
import {
  WebhookEndpointListQuerySchema,
  WebhookEndpointListSchema,
} from '../../../wire/group-b/console.ts'
import {
  AnyDeliveryAnswerSchema,
  AnyDeliveryDetailSchema,
  AnyDeliveryListQuerySchema,
  AnyDeliveryListSchema,
  AnyDeliveryParamsSchema,
  type AnyDeliveryWire,
} from '../../../wire/group-b/deliveries.ts'
import { effectiveLimit } from '../../../wire/shapes.ts'
import { invalidRequest } from '../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../admission/endpoint.ts'
import { idOf, pageOf } from '../lists.ts'
import { fieldsOf } from './fields.ts'

export function deliveryEndpoints(): Endpoint[] {
  return [deliveryList, deliveryRead, deliveryReplay, endpointList]
}

const tag = 'Operations'

const deliveryList = defineEndpoint({
  route: 'GET /api/deliveries',
  operationId: 'listAnyDeliveries',
  summary: 'List the webhook deliveries of all users with each try, newest first',
  tag,
  access: 'admin',
  query: AnyDeliveryListQuerySchema,
  answer: AnyDeliveryListSchema,
  handle: async ({ query, db }) => {
    const { user_id: userId, status: state, about, after } = query
    if (after !== undefined && (await findDelivery(db, { id: after })) === undefined) {
      const message = 'No delivery has this id. Send the next_after of an answer, or leave it out.'
      throw invalidRequest([{ field: 'query.after', code: 'bad_cursor', message }])
    }
    const limit = effectiveLimit(query.limit)
    const { shown, last } = await pageOf(limit, (limit) =>
      listDeliveries(db, { userId, state, about, after, limit }),
    )
    return {
      success: true as const,
      deliveries: shown.map(toAnyDeliveryWire),
      limit,
      next_after: last?.id ?? null,
    }
  },
})

const deliveryRead = defineEndpoint({
  route: 'GET /api/deliveries/{id}',
  operationId: 'readAnyDelivery',
  summary: 'Read a webhook delivery of any user: what is sent, and the result of each try',
  tag,
  access: 'admin',
  params: AnyDeliveryParamsSchema,
  answer: AnyDeliveryDetailSchema,
  handle: async ({ params, db }) => {
    const delivery = await findDelivery(db, { id: params.id })
    const notification = delivery && (await findNotification(db, delivery.notification.id))
    if (!delivery || !notification) throw deliveryNotFound()
    return {
      success: true as const,
      delivery: toAnyDeliveryWire(delivery),
      headers: webhookHeaders(notification),
      payload: notificationText(notification),
    }
  },
})

const endpointList = defineEndpoint({
  route: 'GET /api/admin/webhook-endpoints',
  operationId: 'listEveryonesWebhookEndpoints',
  summary: 'List the webhook URLs of all users, newest first',
  tag,
  access: 'admin',
  query: WebhookEndpointListQuerySchema,
  answer: WebhookEndpointListSchema,
  handle: async ({ query, db }) => {
    const { user_id: userId, after } = query
    const { shown, last } = await pageOf(effectiveLimit(query.limit), (limit) =>
      listEveryonesEndpoints(db, { userId, before: idOf(after), limit }),
    )
    return {
      success: true as const,
      endpoints: shown.map((endpoint) => ({
        ...fieldsOf(endpoint, 'subscriptionId', 'userId', 'username', 'url', 'types', 'waiting'),
        ...fieldsOf(endpoint, 'disabledCode', 'failingSince', 'createdAt'),
        id: String(endpoint.id),
        status: endpoint.state,
      })),
      next_after: last ? String(last.id) : null,
    }
  },
})

const deliveryReplay = defineEndpoint({
  route: 'POST /api/deliveries/{id}/replay',
  operationId: 'replayAnyDelivery',
  summary: 'Send a webhook of any user again, now',
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

/**
 * Makes a delivery due now, or says why it cannot be. One that is being tried at this moment is on
 * its way already, and stays as it is.
 */
export async function replay(db: Db, wanted: { userId?: number; id: string }): Promise<Delivery> {
  if (!(await findDelivery(db, wanted))) throw deliveryNotFound()
  const isReplayed = await replayDelivery(db, wanted.id)
  const delivery = await findDelivery(db, wanted)
  if (!delivery) throw deliveryNotFound()
  if (!isReplayed && delivery.endpointState === 'disabled') {
    throw new RequestError(
      'conflict',
      'The URL of this delivery is disabled. Replay its ping first, or subscribe again.',
    )
  }
  return delivery
}

function deliveryNotFound(): RequestError {
  return new RequestError('not_found', 'There is no delivery with this id, or it is not yours.')
}

function toAnyDeliveryWire(delivery: Delivery): AnyDeliveryWire {
  const { notification } = delivery
  return {
    ...fieldsOf(delivery, 'id', 'userId', 'username', 'subscriptionId', 'url', 'tries'),
    ...fieldsOf(delivery, 'createdAt', 'updatedAt'),
    notification_id: notification.id,
    notification_type: notification.type,
    sequence: notification.sequence,
    url_status: delivery.endpointState,
    status: delivery.state,
    next_try_at: delivery.dueAt?.toISOString() ?? null,
    latest_tries: delivery.latestTries.map((made) => ({
      created_at: made.startedAt.toISOString(),
      status_code: made.status,
      ...fieldsOf(made, 'durationMs', 'outcome', 'answerBytes', 'error'),
    })),
  }
}
