import { BaseError, codeOf } from '../../../../base/errors.ts'
import type { RandomBytes } from '../../../../domain/ids.ts'
import { LEDGER_NOTIFICATIONS, type NotificationType } from '../../../../domain/notifications.ts'
import { createWebhookSecret } from '../../../../domain/webhook-secrets.ts'
import {
  deleteSubscription,
  findSubscription,
  insertSubscription,
  listSubscriptions,
  replaceSecret,
  type Subscription,
} from '../../../../store/webhooks/subscriptions.ts'
import { RequestError, type FieldProblem } from '../../../../wire/errors.ts'
import {
  SecretCreatedSchema,
  SubscriptionAnswerSchema,
  SubscriptionCreatedSchema,
  SubscriptionCreateSchema,
  SubscriptionDeletedSchema,
  SubscriptionListSchema,
  SubscriptionParamsSchema,
  type SubscriptionCreate,
  type SubscriptionWire,
} from '../../../../wire/group-a/subscriptions.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'

/** What the operations on subscriptions need of the webhooks; the composition root fits it in. */
export type SubscriptionDeps = {
  randomBytes: RandomBytes
  /** Rejects with a BaseError that says why no webhook can go there. */
  requireTarget: (url: string) => Promise<void>
}

export function subscriptionEndpoints(deps: SubscriptionDeps): Endpoint[] {
  return [
    subscriptionCreate(deps),
    subscriptionList,
    subscriptionDetail,
    subscriptionDelete,
    secretCreate(deps),
  ]
}

const tag = 'Notifications'

/** Stores where the caller receives notifications, and sends a ping there. */
function subscriptionCreate(deps: SubscriptionDeps): Endpoint {
  const { randomBytes, requireTarget } = deps
  return defineEndpoint({
    route: 'POST /v1/notifications/subscriptions',
    operationId: 'createSubscription',
    summary: 'Send your notifications to a URL, or each type to its own',
    description:
      'Each URL gets a signed ping, and receives nothing else until it answers that with a ' +
      '2xx. Notifications are signed (Standard Webhooks 1.0), arrive at least once, and count ' +
      'in `sequence`. An account has at most 20 subscriptions.',
    tag,
    access: 'notifications:write',
    body: SubscriptionCreateSchema,
    status: 201,
    answer: SubscriptionCreatedSchema,
    failures: ['conflict'],
    prepare: async ({ body }) => {
      const entries = readEntries(body)
      const problems = await Promise.all(
        entries.map(({ field, url }) => problemOf({ field, url, requireTarget })),
      )
      const found = problems.filter((problem) => problem !== undefined)
      if (found.length > 0) throw invalidRequest(found)
      return endpointsOf(entries)
    },
    handle: async ({ body, caller, db, prepared: endpoints }) => {
      const secret = createWebhookSecret(randomBytes)
      const url = body.url ?? body.endpoint ?? null
      const { userId } = caller
      const subscription = await refusingTooMany(() =>
        insertSubscription(db, { userId, url, secret, endpoints }),
      )
      return { data: { ...toSubscriptionWire(subscription), secret } }
    },
  })
}

const subscriptionList = defineEndpoint({
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

const subscriptionDetail = defineEndpoint({
  route: 'GET /v1/notifications/subscriptions/{id}',
  operationId: 'getSubscription',
  summary: 'Read a subscription',
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

const subscriptionDelete = defineEndpoint({
  route: 'DELETE /v1/notifications/subscriptions/{id}',
  operationId: 'deleteSubscription',
  summary: 'End a subscription; notifications in progress are not sent either',
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

function secretCreate({ randomBytes }: Pick<SubscriptionDeps, 'randomBytes'>): Endpoint {
  return defineEndpoint({
    route: 'POST /v1/notifications/subscriptions/{id}/secret',
    operationId: 'rotateSubscriptionSecret',
    summary: 'Get a new secret for a subscription; the old one also signs for 24 hours',
    description:
      'The old secret also signs for 24 hours, so that you can change without a gap. One that ' +
      'was replaced before that ends at once.',
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

type Entry = {
  /** Where in the request the url stands. */
  field: string
  url: string
  types: readonly NotificationType[]
}

function readEntries(body: SubscriptionCreate): Entry[] {
  const { url, endpoint, subscriptionDetails = [] } = body
  if (url !== undefined && endpoint !== undefined && url !== endpoint) {
    throw invalid('endpoint', 'conflict', 'This differs from `url`. Send one of them.')
  }
  const top = { field: url === undefined ? 'endpoint' : 'url', url: url ?? endpoint }
  const entries = subscriptionDetails.map((detail, index) => ({
    ...(detail.url === undefined
      ? top
      : { field: `subscriptionDetails.${index}.url`, url: detail.url }),
    types: [detail.notificationType],
  }))
  if (entries.length === 0) entries.push({ ...top, types: [...LEDGER_NOTIFICATIONS] })
  return entries.map((entry, index) => {
    const { url: found } = entry
    if (found !== undefined) return { ...entry, url: found }
    const field = subscriptionDetails.length === 0 ? 'url' : `subscriptionDetails.${index}.url`
    throw invalid(field, 'required', 'Send a `url` here, or one at the top for all entries.')
  })
}

function invalid(field: string, code: string, message: string): RequestError {
  return invalidRequest([{ field, code, message }])
}

async function problemOf(options: {
  field: string
  url: string
  requireTarget: SubscriptionDeps['requireTarget']
}): Promise<FieldProblem | undefined> {
  const { field, url, requireTarget } = options
  try {
    await requireTarget(url)
    return undefined
  } catch (error) {
    if (!(error instanceof BaseError)) throw error
    return { field, code: error.code, message: error.message, value: url.slice(0, 100) }
  }
}

/** Each address once, with all of its types. */
function endpointsOf(entries: readonly Entry[]): Array<{ url: string; types: NotificationType[] }> {
  const found = new Map<string, NotificationType[]>()
  for (const [index, { url, types }] of entries.entries()) {
    const known = found.get(url) ?? []
    if (types.some((type) => known.includes(type))) {
      const field = `subscriptionDetails.${index}`
      throw invalid(
        field,
        'duplicate',
        'Another entry has this type and `url` already. Remove one of them.',
      )
    }
    found.set(url, [...known, ...types])
  }
  return [...found].map(([url, types]) => ({ url, types }))
}

async function refusingTooMany<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof BaseError) || codeOf(error) !== 'too_many_subscriptions') throw error
    throw new RequestError('conflict', error.message, { cause: error })
  }
}

function toSubscriptionWire(subscription: Subscription): SubscriptionWire {
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

export function subscriptionNotFound(): RequestError {
  return new RequestError('not_found', 'You have no subscription with this id.')
}
