import { setTimeout as sleep } from 'node:timers/promises'

import { limits } from '../../../src/base/limits.ts'
import { areCompleted, ask, askUntilDone, isDone, payment, waitUntil, wrongsIn } from './ask.ts'
import type { Attack, AttackResult } from './attack.ts'
import { startPlatform, type Platform } from './platform.ts'

const PAYERS = 10
const ROUNDS = 3
const MADE_WITHIN_MS = 15_000
const DONE_WITHIN_MS = 60_000

/** Nobody works, orders come in, and each scrape must know of all that came before it. */
export const gauges: Attack = {
  name: 'gauges',
  about: 'stops the work, lets orders wait, and reads their gauges in the very next scrape',
  needsServer: true,
  async run() {
    const platform = await startPlatform({ payers: PAYERS })
    try {
      return [await compare(platform)]
    } finally {
      await platform.stop()
    }
  },
}

async function compare(platform: Platform): Promise<AttackResult> {
  const { url, payers, members } = platform
  const worker = members.find(({ role }) => role === 'work')?.program
  const made: Array<{ key: string; id: string }> = []
  const wrong: string[] = []
  const seen: string[] = []
  worker?.kill('SIGSTOP')
  const startedAt = performance.now()
  for (let round = 0; round < ROUNDS; round++) {
    const answers = await Promise.all(
      payers.map((payer, place) =>
        askUntilDone(url, payment(payer, `gauge-${round}-${place}`), MADE_WITHIN_MS),
      ),
    )
    for (const [place, got] of answers.entries()) {
      if (!isDone(got)) continue
      made.push({ key: payers[place]!.key, id: String(got.at(-1)?.body['transaction_id']) })
    }
    // No more than this may be old of what a scrape says.
    await sleep(limits.metricsAgeMs + 1_000)
    const { open, ageS } = await scrape(platform)
    const oldestS = (performance.now() - startedAt) / 1000
    seen.push(`${open} open, the oldest ${ageS.toFixed(0)} s`)
    if (open !== made.length) wrong.push(`${open} orders in place of ${made.length}`)
    if (ageS < 1 || ageS > oldestS + 2) {
      wrong.push(`the oldest is ${ageS} s old, of ${oldestS.toFixed(0)} s`)
    }
  }
  worker?.kill('SIGCONT')
  const doneMs = await waitUntil(() => areCompleted(url, made), DONE_WITHIN_MS)
  await sleep(limits.metricsAgeMs)
  const { open, ageS } = await scrape(platform)
  seen.push(`${open} open at the end`)
  return {
    tried: 'the gauges of open orders after each change',
    count: ROUNDS + 1,
    outcome: seen.join('; '),
    wrong: [
      ...wrong,
      ...wrongsIn([
        [made.length < ROUNDS * PAYERS, `${made.length} orders were made: too little was tried`],
        [doneMs === undefined, `orders open after ${DONE_WITHIN_MS / 1000} s`],
        [open !== 0 || ageS !== 0, `${open} open, ${ageS} s old, when all was done`],
      ]),
    ],
  }
}

async function scrape({ url, adminKey }: Platform): Promise<{ open: number; ageS: number }> {
  const { text } = await ask(url, { path: '/metrics', key: adminKey })
  const valueOf = (name: string): number =>
    Number(new RegExp(`^${name}\\{chain="local"\\} (\\S+)$`, 'm').exec(text)?.[1] ?? NaN)
  return {
    open: valueOf('quittance_open_orders'),
    ageS: valueOf('quittance_oldest_open_order_seconds'),
  }
}
