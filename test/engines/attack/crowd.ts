import { fork } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { payment, wrongsIn } from './ask.ts'
import type { Attack, AttackOptions, AttackResult } from './attack.ts'
import { sendLoad, type LoadRequest, type LoadResult } from './load.ts'
import {
  ACCEPTED_P99_MS,
  describe,
  EXPECTED,
  flood,
  NORMAL_WITHIN_MS,
  readRequest,
  timeOfRead,
  untilNormal,
} from './overload.ts'
import { startPlatform, type Payer, type Platform } from './platform.ts'

const PAYERS = 300
const CROWD = 4_500
const ROUNDS = 5
/** Those beside it: an administrator, a user who reads, and whoever asks for its health. */
const BESIDE_A_SECOND = 10
const BESIDE_S = 3
/** How much later a refusal may be than that of a server which does nothing else. */
const MOST_LATER = { p50Ms: 200, p99Ms: 500 }
const MOST_REFUSED_BESIDE = 0.1

/** With what a server takes that does nothing but refuse, for the same sender just before. */
type Round = { crowd: LoadResult; beside: LoadResult; floor: LoadResult }

/** All come at once, each on a connection of its own, and the time begins before it is open. */
export const crowd: Attack = {
  name: 'crowd',
  about: `sends ${CROWD} payments at once, each on a new connection, beside those who read`,
  async run(options) {
    const platform = await startPlatform({ payers: PAYERS })
    const bare = fork(fileURLToPath(new URL('bare-process.ts', import.meta.url)))
    try {
      const [bareUrl] = (await once(bare, 'message')) as [string]
      return [
        await come(platform, { ...options, bareUrl }),
        await flood(platform, { ...options, about: 'on new connections', onNewConnections: true }),
      ]
    } finally {
      bare.disconnect()
      await platform.stop()
    }
  },
}

async function come(
  platform: Platform,
  { say, bareUrl }: AttackOptions & { bareUrl: string },
): Promise<AttackResult> {
  const { url, payers } = platform
  const [readers, crowd] = [payers.slice(0, PAYERS / 10), payers.slice(PAYERS / 10)]
  const load = { url, requests: besideOf(platform, readers), onNewConnections: true } as const
  // Each key is known and each path is compiled before anything is measured.
  await sendLoad({ url, requests: paymentsOf(crowd, 'warm'), atOnce: 16, seconds: 3 })
  await comeAtOnce(url, paymentsOf(crowd, 'first'))
  const calmMs = await timeOfRead(platform)
  const rounds: Round[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const floor = await comeAtOnce(bareUrl, paymentsOf(crowd, 'floor'))
    const reading = sendLoad({ ...load, rate: BESIDE_A_SECOND, seconds: BESIDE_S })
    await sleep(500)
    const result = await comeAtOnce(url, paymentsOf(crowd, `round-${round}`))
    rounds.push({ crowd: result, beside: await reading, floor })
    say(`${describe(result)}; beside: ${describe(rounds.at(-1)!.beside)}; bare ${describe(floor)}`)
  }
  const normalAfterMs = await untilNormal(platform, calmMs)
  return judge(rounds, normalAfterMs)
}

function comeAtOnce(url: string, requests: LoadRequest[]): Promise<LoadResult> {
  return sendLoad({ url, requests, atOnce: CROWD, seconds: 0, onNewConnections: true })
}

function judge(rounds: readonly Round[], normalAfterMs: number | undefined): AttackResult {
  // Others may work on this machine, in one round or another.
  const inOrder = rounds.toSorted((a, b) => laterMs(a, 'p99Ms') - laterMs(b, 'p99Ms'))
  const middle = inOrder[ROUNDS >> 1]!
  const { answered } = middle.crowd
  const [p50Ms, p99Ms] = [laterMs(middle, 'p50Ms'), laterMs(middle, 'p99Ms')]
  const all = rounds.flatMap(({ crowd, beside }) => [crowd, beside])
  const others = all
    .flatMap(({ statuses }) => Object.keys(statuses))
    .filter((one) => !EXPECTED.has(one))
  const beside = rounds.map((round) => round.beside)
  const waitedMs = Math.max(...beside.map((one) => one.answered.maxMs))
  const refused = sum(beside, (one) => one.refused.count) / sum(beside, (one) => one.tried)
  const refusedBeside = `${(refused * 100).toFixed(0)} % of those beside them were refused`
  return {
    tried: `${CROWD} new connections at once, with a payment on each`,
    count: ROUNDS * CROWD,
    outcome: [
      `in the middle of ${ROUNDS} rounds ${describe(middle.crowd)}`,
      `refused ${p50Ms} ms (p50) and ${p99Ms} ms (p99) later than by a server that only refuses`,
      `the longest beside them waited ${waitedMs} ms`,
      refusedBeside,
      `load of the machine ${loadavg()[0]?.toFixed(1)}`,
      normalAfterMs === undefined ? 'not normal after' : `normal after ${normalAfterMs} ms`,
    ].join(', '),
    wrong: wrongsIn([
      [sum(all, ({ hangs }) => hangs) > 0, 'some hung'],
      [others.length > 0, `answers ${others.join()}`],
      [sum(all, ({ notLater }) => notLater) > 0, '503 without Retry-After'],
      [p50Ms > MOST_LATER.p50Ms, `refused ${p50Ms} ms too late, p50`],
      [p99Ms > MOST_LATER.p99Ms, `refused ${p99Ms} ms too late, p99`],
      [answered.p99Ms > ACCEPTED_P99_MS, `accepted: p99 ${answered.p99Ms} ms`],
      [waitedMs > ACCEPTED_P99_MS, `one beside them waited ${waitedMs} ms`],
      [refused > MOST_REFUSED_BESIDE, refusedBeside],
      [normalAfterMs === undefined, `not normal within ${NORMAL_WITHIN_MS} ms`],
    ]),
  }
}

function laterMs({ crowd, floor }: Round, at: keyof typeof MOST_LATER): number {
  return crowd.refused[at] - floor.refused[at]
}

function paymentsOf(payers: readonly Payer[], name: string): LoadRequest[] {
  return payers.map((payer, place) => {
    const { path, body } = payment(payer, `${name}-${place}`)
    const headers = {
      authorization: `Bearer ${payer.key}`,
      'idempotency-key': `${name}-${place}-{n}`,
      'content-type': 'application/json',
    }
    return { method: 'POST', path, headers, body: JSON.stringify(body) }
  })
}

function besideOf({ adminKey }: Platform, readers: readonly Payer[]): LoadRequest[] {
  const health = { method: 'GET', path: '/healthz', headers: {} }
  return readers.flatMap(({ key }) => [readRequest(key), health, readRequest(adminKey)])
}

function sum(results: readonly LoadResult[], valueOf: (result: LoadResult) => number): number {
  return results.reduce((total, result) => total + valueOf(result), 0)
}
