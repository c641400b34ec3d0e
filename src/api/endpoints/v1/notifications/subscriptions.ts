import { createWebhookSecret } from '../../../../domain/webhook-secrets.ts'
import {
  deleteSubscription,
  findSubscription,
  listSubscriptions,
  replaceSecret,
} from '../../../../store/webhooks/subscriptions.ts'
import {
  SecretCreatedSchema,
  SubscriptionAnswerSchema,
  SubscriptionDeletedSchema,
  SubscriptionListSchema,
  SubscriptionParamsSchema,
} from '../../../../wire/group-a/subscriptions.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import type { SubscriptionDeps } from './subscribe.ts'
import { subscriptionNotFound, toSubscriptionWire } from './wire.ts'

const tag = 'Notifications'

export const subscriptionListEndpoint = defineEndpoint({
  route: 'GET /v1/notifications/subscriptions',
  operationId: 'listSubscriptions',
  summary: 'List where your notifications go, oldest first',
  tag,
  access: 'notifications:read',
  answer: SubscriptionListSchema,
  handle: async ({ caller, db }) => {
    const subscriptions = await listSubscriptions(db, caller.userId)
    return { data: subscriptions.map(toSubscriptionWire) }
  },
})

export const subscriptionDetailEndpoint = defineEndpoint({
  route: 'GET /v1/notifications/subscriptions/{id}',
  operationId: 'getSubscription',
  summary: 'Read one subscription',
  tag,
  access: 'notifications:read',
  params: SubscriptionParamsSchema,
  answer: SubscriptionAnswerSchema,
  handle: async ({ params, caller, db }) => {
    const subscription = await findSubscription(db, { userId: caller.userId, id: params.id })
    if (!subscription) throw subscriptionNotFound()
    return { data: toSubscriptionWire(subscription) }
  },
})

export const subscriptionDeleteEndpoint = defineEndpoint({
  route: 'DELETE /v1/notifications/subscriptions/{id}',
  operationId: 'deleteSubscription',
  summary: 'Send no more notifications there, not even those on their way',
  tag,
  access: 'notifications:write',
  params: SubscriptionParamsSchema,
  answer: SubscriptionDeletedSchema,
  handle: async ({ params, caller, db }) => {
    const isDeleted = await deleteSubscription(db, { userId: caller.userId, id: params.id })
    if (!isDeleted) throw subscriptionNotFound()
    return { data: {} }
  },
})

export function secretCreateEndpoint({
  randomBytes,
}: Pick<SubscriptionDeps, 'randomBytes'>): Endpoint {
  return defineEndpoint({
    route: 'POST /v1/notifications/subscriptions/{id}/secret',
    operationId: 'rotateSubscriptionSecret',
    summary: 'Get a new secret for a subscription',
    description:
      'The one so far signs as well for 24 hours, so that you can change without a gap. One that ' +
      'was replaced before ends at once.',
    tag,
    access: 'notifications:write',
    params: SubscriptionParamsSchema,
    status: 201,
    answer: SecretCreatedSchema,
    handle: async ({ params, caller, db }) => {
      const secret = createWebhookSecret(randomBytes)
      const { userId } = caller
      const subscription = await replaceSecret(db, { userId, id: params.id, secret })
      if (!subscription) throw subscriptionNotFound()
      const previousSecretExpireDate = subscription.previousSecretUntil?.toISOString() ?? null
      return { data: { id: subscription.id, secret, previousSecretExpireDate } }
    },
  })
}
