import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Counter, Gauge, type Registry } from 'prom-client'

import { createCache } from '../../base/cache.ts'
import { limits } from '../../base/limits.ts'
import type { Logger } from '../../base/logger.ts'
import { actorOf, mayUse, type Caller } from '../../domain/access.ts'
import { RequestError } from '../../wire/errors.ts'
import { networkOf } from '../access/limit-rate.ts'
import { leaveUnlogged } from '../server/request-logger.ts'
import { createLane, type Lane } from './lane.ts'

/**
 * Admits requests before any work is done for them. A request goes on when its turn comes in one of
 * a few lanes, and is refused at once where that would take too long. Each lane has places of its
 * own, so that a flood in one does not affect the others.
 */
export type Door = {
  /**
   * Waits for the turn of a request that needs a credential, and finds out who asks. A credential
   * that is new is shown among the strangers, and the work then waits where it belongs.
   */
  pass: (request: FastifyRequest, authenticate: () => Promise<Caller>) => Promise<Caller>
}

/**
 * Those whose credential was good before go on to `reads`, `writes` or `admins`; `strangers` show
 * theirs first.
 */
export type LaneName =
  'alive' | 'status' | 'pages' | 'outside' | 'strangers' | 'reads' | 'writes' | 'bulk' | 'admins'

/** What a route says in its `config`: its lane, if it is not a page. */
export type DoorConfig = { lane: 'alive' | 'status' | 'outside' | 'reads' | 'writes' | 'bulk' }

/** How many requests are at work in each lane at once; of a caller half as many. */
export type LaneWidths = Readonly<Record<LaneName, number>>

export const LANE_WIDTHS: LaneWidths = {
  // Apart from what may wait for a database that hangs.
  alive: 4,
  status: 16,
  pages: 4,
  // Those wait for parties elsewhere, or for a password's hash.
  outside: 32,
  strangers: 8,
  reads: 32,
  // Those that come together share a transaction, so more of them cost less each.
  writes: 128,
  // Each takes as long as many others, which must not be taken to need that long as well.
  bulk: 8,
  admins: 16,
}

const LANES = Object.keys(LANE_WIDTHS) as LaneName[]

const now = (): number => performance.now()

/** Where requests take longer the more of them are at work. */
const AIMED: ReadonlySet<LaneName> = new Set(['reads', 'writes', 'admins'])

export function addDoor(
  server: FastifyInstance,
  options: { logger: Logger; registry: Registry; lanes?: Partial<LaneWidths> },
): void {
  const delay = createLoopDelay(now)
  const lanes = new Map<LaneName, Lane>()
  for (const name of LANES) {
    const width = options.lanes?.[name] ?? LANE_WIDTHS[name]
    const { doorWaiting: maxWaiting, doorWaitMs: maxWaitMs } = limits
    const aim = AIMED.has(name) && { aimMs: limits.doorAimMs }
    lanes.set(name, createLane({ width, ...aim, maxWaiting, maxWaitMs, now, delayMs: delay.ms }))
  }
  const regulars = createRegulars()
  const refused = countRefused(options, lanes)
  server.addHook('onClose', async () => {
    delay.stop()
    refused.stop()
  })
  server.decorateRequest(PLACE, undefined)
  const enter = async (request: FastifyRequest, name: LaneName, caller: string) => {
    const entry = await lanes.get(name)?.enter(caller)
    if (entry?.isIn === false) {
      leaveUnlogged(request)
      refused.count(name)
      throw new OverloadedError(entry.waitMs)
    }
    request.setDecorator(PLACE, entry?.leave)
    // Who has gone while it waited needs no answer any more.
    if (request.raw.socket.destroyed) throw new GoneError()
  }
  server.decorate<Door>(DOOR, createDoor(enter, regulars))
  server.addHook('onRequest', async (request) => {
    if (isReadFirst(request) || needsCaller(request)) return
    const regular = regulars.find(request.headers)
    await enter(request, laneOf(request, regular), regular?.name ?? networkOf(request.ip))
  })
  server.addHook('preValidation', async (request) => {
    if (isReadFirst(request)) await enter(request, 'outside', networkOf(request.ip))
  })
  // A client that is slow to read the answer holds no place.
  server.addHook('onSend', async (request, { statusCode }) => {
    leave(request)
    // The delay slows down a client that repeats at once, without a pause.
    if (statusCode === 429) await sleep(limits.rateRefusalMs, undefined, { ref: false })
  })
  server.addHook('onResponse', async (request) => leave(request))
}

export function doorOf(server: FastifyInstance): Door {
  return server.getDecorator<Door>(DOOR)
}

const DOOR = 'quittanceDoor'
const PLACE = 'quittancePlace'

type Enter = (request: FastifyRequest, lane: LaneName, caller: string) => Promise<void>

function createDoor(enter: Enter, regulars: Regulars): Door {
  return {
    async pass(request, authenticate) {
      const before = regulars.find(request.headers)
      await enter(request, laneOf(request, before), before?.name ?? networkOf(request.ip))
      try {
        const caller = await authenticate()
        const regular = regulars.remember(request.headers, caller)
        if (before) return caller
        leave(request)
        await enter(request, laneOf(request, regular), regular.name)
        return caller
      } catch (error) {
        if (error instanceof RequestError && error.failure === 'unauthorized') {
          regulars.forget(request.headers)
        }
        throw error
      }
    },
  }
}

/** Who asked with a credential that was good. */
type Regular = { name: string; isAdmin: boolean }

/**
 * Remembers which credentials were good, by their hash, so that the door knows whose request it is
 * before anything is asked of the database. Nobody is let in by that: it only says whose turn a
 * request takes.
 */
type Regulars = {
  find: (headers: IncomingHttpHeaders) => Regular | undefined
  remember: (headers: IncomingHttpHeaders, caller: Caller) => Regular
  forget: (headers: IncomingHttpHeaders) => void
}

function createRegulars(): Regulars {
  const known = createCache<Regular>(limits.cachedApiKeys + limits.cachedTokens)
  return {
    find(headers) {
      const credential = credentialOf(headers)
      return credential === undefined ? undefined : known.get(credential)
    },
    remember(headers, caller) {
      // All credentials of a user are one caller, or more keys would be more turns.
      const regular = { name: actorOf(caller), isAdmin: mayUse(caller, 'admin') }
      const credential = credentialOf(headers)
      if (credential !== undefined) known.set(credential, regular)
      return regular
    },
    forget(headers) {
      const credential = credentialOf(headers)
      if (credential !== undefined) known.delete(credential)
    },
  }
}

function credentialOf({ authorization, 'x-api-key': key }: IncomingHttpHeaders) {
  const text = authorization ?? (typeof key === 'string' ? key : undefined)
  return text === undefined ? undefined : hash('sha256', text, 'base64')
}

function leave(request: FastifyRequest): void {
  request.getDecorator<(() => void) | undefined>(PLACE)?.()
}

/**
 * Anybody can send a body slowly. Where no credential is required, the body is read before the
 * request takes a place.
 */
function isReadFirst({ method, routeOptions }: FastifyRequest): boolean {
  return method === 'POST' && configOf(routeOptions)?.lane === 'outside'
}

/** Its turn depends on who asks, so it waits in `pass`. */
function needsCaller({ routeOptions }: FastifyRequest): boolean {
  const lane = configOf(routeOptions)?.lane
  return lane === 'reads' || lane === 'writes' || lane === 'bulk'
}

function laneOf(request: FastifyRequest, regular: Regular | undefined): LaneName {
  const lane = configOf(request.routeOptions)?.lane ?? 'pages'
  if (!needsCaller(request)) return lane
  if (regular === undefined) return 'strangers'
  return regular.isAdmin ? 'admins' : lane
}

function configOf({ config }: FastifyRequest['routeOptions']): DoorConfig | undefined {
  const { lane } = config as Partial<DoorConfig>
  return lane && { lane }
}

/**
 * By how many milliseconds the event loop is late now, or was a moment ago. It is watched while
 * somebody asks, and a program at rest is left to rest.
 */
type LoopDelay = { ms: () => number; stop: () => void }

function createLoopDelay(now: () => number): LoopDelay {
  let timer: NodeJS.Timeout | undefined
  let askedAt = 0
  let tickedAt = 0
  let lastMs = 0
  const lateness = (): number => Math.max(now() - tickedAt - TICK_MS, 0)
  const stop = (): void => {
    clearInterval(timer)
    timer = undefined
  }
  const tick = (): void => {
    lastMs = lateness()
    tickedAt = now()
    if (tickedAt - askedAt > WATCHED_MS) stop()
  }
  return {
    ms() {
      askedAt = now()
      if (timer === undefined) {
        tickedAt = askedAt
        lastMs = 0
        timer = setInterval(tick, TICK_MS).unref()
      }
      return Math.max(lastMs, lateness())
    },
    stop,
  }
}

const WATCHED_MS = 1000
const TICK_MS = 50

/** Counts, and says now and then in the log how many they were. */
function countRefused(
  { logger, registry }: { logger: Logger; registry: Registry },
  lanes: ReadonlyMap<LaneName, Lane>,
): { count: (lane: LaneName) => void; stop: () => void } {
  const registers = [registry]
  const labelNames = ['lane']
  const total = new Counter({
    name: 'quittance_overload_refusals_total',
    help: 'Requests that were refused at once, because their turn would have been too late',
    labelNames,
    registers,
  })
  for (const lane of LANES) total.inc({ lane }, 0)
  const requests = new Gauge({
    name: 'quittance_requests',
    help: 'Requests in progress, and requests that wait for their turn',
    labelNames: ['lane', 'state'],
    registers,
    collect() {
      for (const [lane, { counts }] of lanes) {
        const { inside, waiting } = counts()
        requests.set({ lane, state: 'working' }, inside)
        requests.set({ lane, state: 'waiting' }, waiting)
      }
    },
  })
  let unsaid: Partial<Record<LaneName, number>> = {}
  let timer: NodeJS.Timeout | undefined
  const say = (): void => {
    timer = undefined
    logger.warn({ refused: unsaid }, 'refused requests: too many at once')
    unsaid = {}
  }
  return {
    count(lane) {
      total.inc({ lane })
      unsaid[lane] = (unsaid[lane] ?? 0) + 1
      timer ??= setTimeout(say, SAID_EVERY_MS).unref()
    },
    stop() {
      if (timer === undefined) return
      clearTimeout(timer)
      say()
    },
  }
}

const SAID_EVERY_MS = 10_000

class OverloadedError extends RequestError {
  constructor(waitMs: number) {
    const seconds = Math.min(Math.max(Math.ceil(waitMs / 1000), 1), LONGEST_RETRY_S)
    const sentence =
      'Too many requests are waiting already. Nothing was done with this one: ' +
      `send it again in ${seconds} s.`
    super('overloaded', sentence, {
      headers: { 'retry-after': String(seconds), 'request-not-processed': 'true' },
      retryable: true,
    })
  }
}

const LONGEST_RETRY_S = 10

class GoneError extends RequestError {
  constructor() {
    super('request_timeout', 'The connection was closed before the turn came.')
  }
}
