import type { Delivery } from '../../../../store/webhooks/delivery-log.ts'
import type { Subscription } from '../../../../store/webhooks/subscriptions.ts'
import { RequestError } from '../../../../wire/errors.ts'
import type { DeliveryWire, SubscriptionWire } from '../../../../wire/group-a/subscriptions.ts'

export function toSubscriptionWire(subscription: Subscription): SubscriptionWire {
  const { id, url, endpoints, createdAt, updatedAt } = subscription
  return {
    id,
    url,
    endpoint: url,
    subscriptionDetails: endpoints.flatMap((endpoint) =>
      endpoint.types.map((notificationType) => ({
        url: endpoint.url,
        notificationType,
        status: endpoint.state,
      })),
    ),
    createDate: createdAt.toISOString(),
    updateDate: updatedAt.toISOString(),
  }
}

export function toDeliveryWire(delivery: Delivery): DeliveryWire {
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

export function subscriptionNotFound(): RequestError {
  return new RequestError('not_found', 'You have no subscription with this id.')
}
