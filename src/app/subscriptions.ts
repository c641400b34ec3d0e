import { randomBytes } from 'node:crypto'

import type { Endpoint } from '../api/admission/endpoint.ts'
import {
  deliveryListEndpoint,
  deliveryReplayEndpoint,
} from '../api/endpoints/v1/notifications/deliveries.ts'
import {
  subscriptionCreateEndpoint,
  type SubscriptionDeps,
} from '../api/endpoints/v1/notifications/subscribe.ts'
import {
  secretCreateEndpoint,
  subscriptionDeleteEndpoint,
  subscriptionDetailEndpoint,
  subscriptionListEndpoint,
} from '../api/endpoints/v1/notifications/subscriptions.ts'
import {
  anyDeliveryListEndpoint,
  anyDeliveryReplayEndpoint,
} from '../api/endpoints/api/deliveries.ts'
import type { Environment } from '../base/config.ts'
import { limits } from '../base/limits.ts'
import { resolveByDns, type Resolve } from '../webhooks/resolve.ts'
import { createTargets } from '../webhooks/targets.ts'

/** Every operation on subscriptions and their deliveries, the administrator's too. */
export function createSubscriptionEndpoints(options: {
  environment: Environment
  host: string
  resolve?: Resolve
}): Endpoint[] {
  const { environment, host, resolve = resolveByDns } = options
  const targets = createTargets({ environment, host, resolve })
  const deps: SubscriptionDeps = {
    randomBytes,
    async requireTarget(url) {
      await targets.locate(targets.read(url), AbortSignal.timeout(limits.webhookTargetTimeoutMs))
    },
  }
  return [
    subscriptionCreateEndpoint(deps),
    subscriptionListEndpoint,
    subscriptionDetailEndpoint,
    subscriptionDeleteEndpoint,
    secretCreateEndpoint(deps),
    deliveryListEndpoint,
    deliveryReplayEndpoint,
    anyDeliveryListEndpoint,
    anyDeliveryReplayEndpoint,
  ]
}
