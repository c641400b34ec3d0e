import { randomBytes, randomUUID } from 'node:crypto'

import { createAccess } from '../api/access/access.ts'
import type { Endpoint, EndpointHooks } from '../api/admission/endpoint.ts'
import { createIdempotently } from '../api/admission/idempotently.ts'
import type { Screening } from '../api/admission/screen.ts'
import { createEndpoints, type Ground } from '../api/endpoints/all.ts'
import type { ProvePayment } from '../api/endpoints/api/transactions/receipt.ts'
import type { SubscriptionDeps } from '../api/endpoints/v1/notifications/subscriptions.ts'
import type { Bells } from '../base/bells.ts'
import type { Config, Environment } from '../base/config.ts'
import { limits } from '../base/limits.ts'
import type { Providers } from '../chain/rpc/providers.ts'
import type { SignerReader } from '../sender/signers/reader.ts'
import { prove } from '../verify/prove.ts'
import { createTargets, resolveByDns, type Resolve } from '../webhooks/targets.ts'
import type { OverviewWire } from '../wire/group-b/admin.ts'
import type { Chain } from './chain.ts'

/** Every operation of both groups, and what they need. */
export function createOperations<Payment, Mint, PayOut>(
  deps: Omit<Ground<Payment, Mint, PayOut>, MadeHere> & {
    /** Where this program listens. */
    host: string
    bells: Bells
    /** Absent: everything is allowed. */
    screen?: Screening | undefined
  },
): { endpoints: Endpoint[]; hooks: EndpointHooks } {
  const { db, screen } = deps
  const webhooks = deps.bells.of('webhooks')
  const access = createAccess(deps)
  const { authenticate, limitRate } = access
  const made = { randomBytes, createUuid: randomUUID, requireTarget: createRequireTarget(deps) }
  const idempotently = createIdempotently({
    db,
    screen,
    // Callers of Group A are notified of it, and need not wait for the next poll.
    onCommitted({ group }) {
      if (group === 'a') webhooks.ring()
    },
  })
  return {
    endpoints: createEndpoints({
      ...deps,
      ...access,
      ...made,
      kickRuns: deps.bells.of('runs').ring,
    }),
    hooks: { db, authenticate, limitRate, idempotently },
  }
}

type MadeHere =
  | 'tokens'
  | 'limitLogin'
  | 'forgetUser'
  | 'randomBytes'
  | 'createUuid'
  | 'requireTarget'
  | 'kickRuns'

export function createRequireTarget(options: {
  environment: Environment
  host: string
  resolve?: Resolve
}): SubscriptionDeps['requireTarget'] {
  const targets = createTargets({ resolve: resolveByDns, ...options })
  return async (url) => {
    await targets.locate(targets.read(url), AbortSignal.timeout(limits.webhookTargetTimeoutMs))
  }
}

/** What an operator needs to know of a chain and the database does not contain. */
export type Operating = {
  providers: () => OverviewWire['providers']
  provePayment: ProvePayment
  signers: SignerReader
}

export function createOperating(deps: {
  chain: Chain
  config: Config
  shutdown: { signal: AbortSignal }
  signers: SignerReader
}): Operating {
  const { providers } = deps.chain
  const { confirmations } = deps.config
  const { signal } = deps.shutdown
  return {
    signers: deps.signers,
    providers: () => healthOf(providers),
    provePayment: async ({ transactionId, ...payment }) => {
      const request = { ...payment, order: { transactionId } }
      const options = { providers: providers.all, confirmations, signal }
      const { quittance, verdict } = await prove(request, options)
      if (quittance !== undefined) return { quittance }
      return {
        problem:
          verdict.disagreements[0]?.message ?? 'The chain does not prove it now. Try again later.',
      }
    },
  }
}

export function healthOf(providers: Providers): OverviewWire['providers'] {
  return providers.states().map(({ name, circuit, isPaused, wrongChainId, ...tallies }) => ({
    name,
    score: Math.round(tallies.score * 100),
    latency_ms: Math.round(tallies.latencyMs),
    answered_percent: Math.round(tallies.answered * 100),
    failures: tallies.failures,
    state:
      wrongChainId === undefined
        ? isPaused
          ? 'paused'
          : circuit === 'closed'
            ? 'well'
            : 'failing'
        : 'wrong_chain',
  }))
}
