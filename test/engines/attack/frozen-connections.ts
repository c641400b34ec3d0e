import { setTimeout as sleep } from 'node:timers/promises'

import { startFreezingProxy, type FreezingProxy } from '../../fixtures/store/freezing-proxy.ts'
import {
  areCompleted,
  areReady,
  askUntilDone,
  countStatuses,
  isDone,
  payment,
  waitUntil,
  wrongsIn,
  type Answer,
} from './ask.ts'
import type { Attack, AttackOptions, AttackResult } from './attack.ts'
import { startPlatform, type Platform } from './platform.ts'

const ROUNDS = 2
const PAYERS = 10
const FREE_WITHIN_MS = 60_000
const SENT_WITHIN_MS = 90_000

/** No side learns that the other one is gone, as where a machine between them was pulled out. */
export const frozenConnections: Attack = {
  name: 'frozen-connections',
  about: 'freezes every connection to the database in the midst of payments',
  needsServer: true,
  async run(options) {
    const proxies: FreezingProxy[] = []
    const platform = await startPlatform({
      payers: PAYERS,
      async through(databaseUrl) {
        const proxy = await startFreezingProxy(databaseUrl)
        proxies.push(proxy)
        return proxy.url
      },
    })
    try {
      return [await freeze(platform, { ...options, proxy: proxies[0]! })]
    } finally {
      await platform.stop()
      for (const proxy of proxies) await proxy.stop()
    }
  },
}

async function freeze(
  platform: Platform,
  { proxy, say }: AttackOptions & { proxy: FreezingProxy },
): Promise<AttackResult> {
  const { url, payers, members } = platform
  const answers: Answer[] = []
  const ids: Array<{ key: string; id: string }> = []
  let [frozen, stuck, freeMs] = [0, 0, 0]
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now()
    const asking = payers.map(async (payer, place) => {
      // Some are in the midst of it when everything freezes, and some come afterwards.
      await sleep(place * 30)
      const got = await askUntilDone(
        url,
        payment(payer, `frozen-${round}-${place}`),
        FREE_WITHIN_MS,
      )
      freeMs = Math.max(freeMs, performance.now() - startedAt)
      answers.push(...got)
      if (!isDone(got)) stuck += 1
      else ids.push({ key: payer.key, id: String(got.at(-1)?.body['transaction_id']) })
    })
    await sleep(100)
    frozen += proxy.open()
    proxy.freeze()
    await Promise.all(asking)
    say(`round ${round + 1}: ${countStatuses(answers)}`)
  }
  const sentMs = await waitUntil(() => areCompleted(url, ids), SENT_WITHIN_MS)
  const ready = await areReady(members.map(({ statusUrl }) => statusUrl))
  const failures = answers.filter(({ status }) => status === 500).length
  const isOnce = new Set(ids.map(({ id }) => id)).size === ids.length
  return {
    tried: `${frozen} connections frozen in ${ROUNDS} rounds, with ${PAYERS} payments in each`,
    count: ROUNDS * PAYERS,
    outcome: [
      countStatuses(answers),
      `the last key was free after ${(freeMs / 1000).toFixed(0)} s`,
      sentMs === undefined ? 'not all completed' : `all completed ${sentMs} ms later`,
      `${ready.filter(Boolean).length} of ${ready.length} programs ready`,
    ].join(', '),
    wrong: wrongsIn([
      [frozen === 0, 'no connection was open'],
      [stuck > 0, `${stuck} keys were in flight after ${FREE_WITHIN_MS / 1000} s`],
      [failures > 0, `${failures} answers 500`],
      [sentMs === undefined, `payments open after ${SENT_WITHIN_MS / 1000} s`],
      [!isOnce, 'one payment answered two keys'],
      [ready.includes(false), 'a program was not ready afterwards'],
    ]),
  }
}
