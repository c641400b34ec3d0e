import { setTimeout as sleep } from 'node:timers/promises'

import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'

import { recent } from '../base/cache.ts'
import { messageOf } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import {
  PlatformSignerSchema,
  StablecoinSchema,
  type PlatformSignerWire,
  type StablecoinWire,
} from '../wire/group-b/signers.ts'
import { namedObject } from '../wire/shapes.ts'
import type { DoorConfig } from './door/door.ts'

export type HealthCheck = {
  name: string
  /** Rejects, with a sentence that says what to do, when the part cannot serve. */
  check: () => Promise<Said>
}

/** What `/readyz` shows of a part that serves, in addition to its status. */
type Said = { message: string; signers?: PlatformSignerWire[]; stablecoin?: StablecoinWire } | void

/** `/healthz`: the process lives. `/readyz`: it can serve, part by part. */
export function addHealthRoutes(
  server: FastifyInstance,
  options: {
    /** Those that there are by now. */
    checks: () => readonly HealthCheck[]
    warnings?: readonly string[]
    isStopping: () => boolean
  },
): void {
  const { warnings = [] } = options
  const config: DoorConfig = { lane: 'status' }
  const alive: DoorConfig = { lane: 'alive' }
  server.get('/healthz', { config: alive }, async () => ({ status: 'ok' }))

  // Requests that arrive during a check share its answer, so many callers are one to the database.
  const runAll = recent({
    load: async () => Promise.all(options.checks().map(runCheck)),
    maxAgeMs: 0,
    now: () => performance.now(),
  })
  server.get('/readyz', { config }, async (_request, reply) => {
    const parts = await runAll()
    const stopping = options.isStopping()
    const ready = !stopping && parts.every((part) => part.status === 'ok')
    if (!ready) reply.code(503).header('retry-after', '1')
    return {
      status: stopping ? 'stopping' : ready ? 'ready' : 'not_ready',
      parts: Object.fromEntries(parts.map(({ name, ...part }) => [name, part])),
      ...(warnings.length > 0 && { warnings }),
    }
  })
}

const NO_ANSWER = `There was no answer within ${limits.healthCheckMs / 1000} s.`

function failed(message: string) {
  return { failure: message, said: undefined }
}

/** A balancer that asks is not kept waiting by what hangs. */
async function runCheck(part: HealthCheck) {
  const startedAt = performance.now()
  const late = new AbortController()
  const { failure, said } = await Promise.race([
    part.check().then(
      (said) => ({ failure: undefined, said }),
      (error: unknown) => failed(messageOf(error)),
    ),
    sleep(limits.healthCheckMs, failed(NO_ANSWER), { signal: late.signal }).catch(() =>
      failed(NO_ANSWER),
    ),
  ])
  late.abort()
  const elapsedMs = Math.round((performance.now() - startedAt) * 10) / 10
  return failure === undefined
    ? { name: part.name, status: 'ok', elapsedMs, ...said }
    : { name: part.name, status: 'failed', elapsedMs, message: failure }
}

export const LivenessSchema = namedObject('Liveness', { status: Type.Literal('ok') })

export const ReadinessSchema = namedObject('Readiness', {
  status: Type.Enum(['ready', 'not_ready', 'stopping']),
  parts: Type.Record(
    Type.String(),
    Type.Object({
      status: Type.Enum(['ok', 'failed']),
      elapsedMs: Type.Number(),
      message: Type.Optional(Type.String({ description: 'What is wrong, and what to do.' })),
      signers: Type.Optional(Type.Array(PlatformSignerSchema)),
      stablecoin: Type.Optional(StablecoinSchema),
    }),
    { description: 'The database, its schema and the chain.' },
  ),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description: 'What the operator has accepted, such as a single provider.',
    }),
  ),
})
