import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

import type { Attack, AttackOptions, AttackResult } from './attack.ts'
import { sendLoad, type LoadRequest, type LoadResult } from './load.ts'
import { startPlatform, type Payer, type Platform } from './platform.ts'

/** Each may ask a thousand times in a minute. */
const PAYERS = 300
const PAYERS_A_SECOND = 20
const AT_ONCE = 64
const TIMES_CAPACITY = 3
export const NORMAL_WITHIN_MS = 5_000
export const ACCEPTED_P99_MS = 2_000
const REFUSED_P99_MS = 200
const LEAST_THROUGHPUT = 0.8

/** Three times as much as it can do: it does as much as before, and says no to the rest. */
export const overload: Attack = {
  name: 'overload',
  about: 'sends three times what it can do, transfers and reads, and looks how long others wait',
  async run(options) {
    const payers = Math.min(options.seconds * PAYERS_A_SECOND, PAYERS)
    const platform = await startPlatform({ payers })
    try {
      return [await flood(platform, { ...options, about: 'on kept connections' })]
    } finally {
      await platform.stop()
    }
  },
}

export async function flood(
  platform: Platform,
  options: AttackOptions & { about: string; onNewConnections?: true },
): Promise<AttackResult> {
  const { url, payers } = platform
  const { say, seconds, about, onNewConnections } = options
  const own = onNewConnections && { onNewConnections }
  const load = (name: string) => ({ url, requests: requestsOf(payers, `${about} ${name}`), ...own })
  // Each key is known and each path is compiled before anything is measured.
  await sendLoad({ ...load('warm'), atOnce: AT_ONCE, seconds: Math.min(5, seconds) })
  const calmMs = await timeOfRead(platform)
  const most = await sendLoad({
    ...load('most'),
    atOnce: AT_ONCE,
    seconds: Math.min(20, seconds),
  })
  const capacity = most.answered.count / most.seconds
  say(`capacity ${capacity.toFixed(0)} a second; a read takes ${calmMs.toFixed(0)} ms`)
  say(describe(most))
  const [result, admin] = await Promise.all([
    sendLoad({ ...load('flood'), rate: capacity * TIMES_CAPACITY, seconds }),
    sendLoad({ url, requests: [readRequest(platform.adminKey)], atOnce: 1, seconds }),
  ])
  const normalAfterMs = await untilNormal(platform, calmMs)
  say(describe(result))
  say(`meanwhile an administrator: ${describe(admin)}`)
  const throughput = result.answeredInTime / result.seconds / capacity
  return {
    tried: `${TIMES_CAPACITY} times ${capacity.toFixed(0)} requests a second, for ${seconds} s, ${about}`,
    count: result.tried,
    outcome: [
      describe(result),
      `load of the machine ${loadavg()[0]?.toFixed(1)}`,
      `${(throughput * 100).toFixed(0)} % of the maximum`,
      `administrator p99 ${admin.answered.p99Ms} ms`,
      normalAfterMs === undefined ? 'not normal after' : `normal after ${normalAfterMs} ms`,
    ].join(', '),
    wrong: wrongsOf({ result, admin, throughput, normalAfterMs }),
  }
}

function wrongsOf(facts: {
  result: LoadResult
  admin: LoadResult
  throughput: number
  normalAfterMs: number | undefined
}): string[] {
  const { result, admin, throughput, normalAfterMs } = facts
  const others = Object.keys(result.statuses).filter((status) => !EXPECTED.has(status))
  const wrongs: Array<[boolean, string]> = [
    [throughput < LEAST_THROUGHPUT, `it did ${(throughput * 100).toFixed(0)} % of its maximum`],
    [result.answered.p99Ms >= ACCEPTED_P99_MS, `accepted: p99 ${result.answered.p99Ms} ms`],
    [result.refused.p99Ms >= REFUSED_P99_MS, `refused: p99 ${result.refused.p99Ms} ms`],
    [result.notLater > 0, `${result.notLater} times 503 without Retry-After`],
    [result.hangs > 0, `${result.hangs} hung`],
    [
      others.length > 0,
      `answers ${others.map((one) => `${one} × ${result.statuses[one]}`).join()}`,
    ],
    [normalAfterMs === undefined, `not normal within ${NORMAL_WITHIN_MS} ms`],
    [admin.answered.count < admin.tried, 'an administrator was refused'],
  ]
  return wrongs.filter(([isWrong]) => isWrong).map(([, sentence]) => sentence)
}

export const EXPECTED: ReadonlySet<string> = new Set(['200', '201', 'refused'])

export function describe(result: LoadResult): string {
  const { tried, answered, refused, hangs, notSent, ownDelayMs } = result
  return [
    `${tried} tried`,
    `${answered.count} answered (p50 ${answered.p50Ms} ms, p99 ${answered.p99Ms} ms)`,
    `${refused.count} refused (p50 ${refused.p50Ms} ms, p99 ${refused.p99Ms} ms)`,
    `${hangs} hung`,
    ...(ownDelayMs > 20 ? [`the sender was ${ownDelayMs} ms late itself`] : []),
    ...(notSent > 0 ? [`${notSent} not sent, as too many were open`] : []),
  ].join(', ')
}

/** A transfer and a read of each payer; no transfer has a key that another load has had. */
function requestsOf(payers: readonly Payer[], name: string): LoadRequest[] {
  return payers.flatMap(({ key, from, to }) => {
    const transfer = {
      idempotencyKey: `${name.replaceAll(' ', '-')}-{n}`,
      source: { type: 'wallet', id: from },
      destination: { type: 'wallet', id: to },
      amount: '0.01',
    }
    const headers = { authorization: `Bearer ${key}` }
    return [
      {
        method: 'POST',
        path: '/v1/transfers',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(transfer),
      },
      readRequest(key),
    ]
  })
}

const READ = '/api/transactions?limit=20'

export function readRequest(key: string): LoadRequest {
  return { method: 'GET', path: READ, headers: { authorization: `Bearer ${key}` } }
}

/** The median of reads one after the other, with nothing beside them. */
export async function timeOfRead({ url, payers }: Platform): Promise<number> {
  const times: number[] = []
  for (const { key } of payers.slice(0, 20)) times.push((await readOnce(url, key)).tookMs)
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0
}

async function readOnce(url: string, key: string): Promise<{ status: number; tookMs: number }> {
  const startedAt = performance.now()
  const headers = { authorization: `Bearer ${key}` }
  const signal = AbortSignal.timeout(NORMAL_WITHIN_MS)
  const status = await fetch(url + READ, { headers, signal }).then(
    async (answer) => {
      await answer.arrayBuffer()
      return answer.status
    },
    () => 0,
  )
  return { status, tookMs: performance.now() - startedAt }
}

/** Until ten reads in a row are answered about as soon as before. */
export async function untilNormal(platform: Platform, calmMs: number): Promise<number | undefined> {
  const startedAt = performance.now()
  let good = 0
  for (;;) {
    const passedMs = performance.now() - startedAt
    if (good >= 10) return Math.round(passedMs)
    if (passedMs > NORMAL_WITHIN_MS) return undefined
    const { status, tookMs } = await readOnce(platform.url, platform.payers[good]?.key ?? '')
    good = status === 200 && tookMs < 3 * calmMs + 20 ? good + 1 : 0
    await sleep(20)
  }
}
