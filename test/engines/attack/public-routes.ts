import type { GatewayDoor } from '../../../src/api/gateway-routes.ts'
import { startApi } from '../../fixtures/api/api.ts'
import { routesOf } from '../../fixtures/api/routes.ts'
import type { Attack, AttackOptions, AttackResult } from './attack.ts'
import { sendLoad, type LoadRequest } from './load.ts'
import { describe, timeOfRead } from './overload.ts'
import { startPlatform, type Platform } from './platform.ts'

const CONNECTIONS = 64
const MOST_SLOWDOWN = 3

/** Whoever has no credential asks as fast as it can, at each route that is open to it. */
export const publicRoutes: Attack = {
  name: 'public-routes',
  about: 'asks each route that needs no credential on 64 connections, beside a user who reads',
  async run(options) {
    const platform = await startPlatform({ payers: 20 })
    try {
      const results: AttackResult[] = []
      const routes = [...(await listPages()), ...(await listPublicOperations(platform))]
      for (const route of new Set(routes))
        results.push(await press(platform, { ...options, route }))
      return results
    } finally {
      await platform.stop()
    }
  },
}

/** From the documents of the server itself: those without a credential. */
async function listPublicOperations({ url }: Platform): Promise<string[]> {
  const routes: string[] = []
  for (const group of ['a', 'b']) {
    const answer = await fetch(`${url}/openapi/group-${group}.json`)
    const { paths } = (await answer.json()) as Documents
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { security }] of Object.entries(operations)) {
        if (security?.length === 0) routes.push(`${method.toUpperCase()} ${path}`)
      }
    }
  }
  if (routes.length === 0) throw new Error('the documents name no public operation')
  return routes.toSorted()
}

type Documents = { paths: Record<string, Record<string, { security?: unknown[] }>> }

/** From the list of a server without operations, so that a new one is not forgotten. */
async function listPages(): Promise<string[]> {
  const door: GatewayDoor = {
    receive: async () => 'unknown',
    checkoutPage: async () => undefined,
  }
  const pages = {
    db: undefined as never,
    loadPages: () => Promise.reject(new TypeError('nobody asks')),
    visitorRpcUrl: () => undefined,
  }
  const api = await startApi({ endpoints: [], server: { door, pages } })
  const routes = routesOf(api.server.printRoutes({ commonPrefix: false }))
  await api.close()
  return [...new Set(routes)].toSorted()
}

async function press(
  platform: Platform,
  { route, seconds, say }: AttackOptions & { route: string },
): Promise<AttackResult> {
  const { url } = platform
  await timeOfRead(platform)
  const beforeMs = await timeOfRead(platform)
  const load = sendLoad({
    url,
    requests: [await requestOf(url, route)],
    atOnce: CONNECTIONS,
    seconds: Math.min(seconds, MOST_SECONDS),
  })
  const times: number[] = []
  const over = new AbortController()
  const loading = load.finally(() => over.abort())
  // The second process takes a moment to begin.
  await new Promise((later) => setTimeout(later, BEGINS_MS))
  while (!over.signal.aborted) times.push(await timeOfRead(platform))
  const result = await loading
  const pressedMs = times.toSorted((a, b) => a - b)[times.length >> 1] ?? Infinity
  // Others may work on this machine, now and then.
  const calmMs = (beforeMs + (await timeOfRead(platform))) / 2
  const slowdown = pressedMs / calmMs
  const outcome =
    `a read took ${calmMs.toFixed(1)} ms before and after, ` +
    `${pressedMs.toFixed(1)} ms meanwhile`
  say(`${route}: ${outcome}; ${describe(result)}`)
  return {
    tried: `${route} on ${CONNECTIONS} connections`,
    count: result.tried,
    outcome,
    wrong: [
      ...(slowdown > MOST_SLOWDOWN && pressedMs > calmMs + NOISE_MS
        ? [`a read took ${slowdown.toFixed(1)} times as long`]
        : []),
      ...(result.hangs > 0 ? [`${result.hangs} hung`] : []),
    ],
  }
}

const MOST_SECONDS = 3
const BEGINS_MS = 500
/** What a timer or another process may cost a read of two milliseconds. */
const NOISE_MS = 5

/** With ids of the right form that nobody has, and a name that is there. */
async function requestOf(url: string, route: string): Promise<LoadRequest> {
  const [method = '', pattern = ''] = route.split(' ')
  const path = pattern
    .replace('{charge_id}', `REF${'1'.repeat(20)}`)
    .replace('{token}', 'a'.repeat(43))
    .replace('{gateway_id}', '1')
    .replace('{name}', pattern.includes('assets') ? await assetName(url) : 'x')
  const headers = { 'accept-encoding': 'gzip' }
  if (method === 'GET') return { method, path, headers }
  const typed = { ...headers, 'content-type': 'application/json' }
  return { method, path, headers: typed, body: BODIES[route] ?? '{"forged":true}' }
}

/** What costs the most: the password of nobody is hashed as any other. */
const BODIES: Readonly<Record<string, string>> = {
  'POST /api/token': JSON.stringify({ username: 'nobody-{n}', password: 'wrong every time' }),
}

async function assetName(url: string): Promise<string> {
  const page = await (await fetch(`${url}/console`)).text()
  return /assets\/([^"]+\.js)/.exec(page)?.[1] ?? ''
}
