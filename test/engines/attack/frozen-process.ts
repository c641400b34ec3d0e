import { setTimeout as sleep } from 'node:timers/promises'

import { Client } from 'pg'

import {
  askUntilDone,
  countStatuses,
  isDone,
  longestMs,
  transfer,
  waitUntil,
  wrongsIn,
  type Answer,
} from './ask.ts'
import type { Attack, AttackResult } from './attack.ts'
import { sendLoad, type LoadRequest } from './load.ts'
import { startPlatform, type Payer, type Platform } from './platform.ts'

const ROUNDS = 2
const PAYERS = 20
const FREE_WITHIN_MS = 30_000

/** One `serve` stands still while it has rows locked, and another one serves the same payers. */
export const frozenProcess: Attack = {
  name: 'frozen-process',
  about: 'stops a serve in the midst of its transactions, and asks another one',
  needsServer: true,
  async run() {
    const platform = await startPlatform({ payers: PAYERS, roles: ['serve', 'serve', 'work'] })
    try {
      return [await freeze(platform)]
    } finally {
      await platform.stop()
    }
  },
}

async function freeze(platform: Platform): Promise<AttackResult> {
  const { payers, members } = platform
  const [first, second] = members
  const answers: Answer[] = []
  let [held, stuck, freeMs] = [0, 0, 0]
  for (let round = 0; round < ROUNDS; round++) {
    held += await stopHolding(platform, `round-${round}`)
    const startedAt = performance.now()
    const all = await Promise.all(
      payers.map((payer, place) => {
        const question = transfer(payer, `other-${round}-${place}`)
        return askUntilDone(second?.facts.url ?? '', question, FREE_WITHIN_MS)
      }),
    )
    freeMs = Math.max(freeMs, performance.now() - startedAt)
    answers.push(...all.flat())
    stuck += all.filter((one) => !isDone(one)).length
    first?.program.kill('SIGCONT')
    await waitUntil(async () => {
      const again = await askUntilDone(first?.facts.url ?? '', transfer(payers[0]!, 'again'), 0)
      return isDone(again)
    }, FREE_WITHIN_MS)
  }
  const failures = answers.filter(({ status }) => status === 500 || status === 0).length
  return {
    tried: `a serve stopped with ${held} transactions open, in ${ROUNDS} rounds`,
    count: ROUNDS * PAYERS,
    outcome: [
      `another serve: ${countStatuses(answers)}`,
      `the slowest answer after ${longestMs(answers)} ms`,
      `all done after ${(freeMs / 1000).toFixed(0)} s`,
    ].join(', '),
    wrong: wrongsIn([
      [held === 0, 'no transaction was open: nothing was tried'],
      [stuck > 0, `${stuck} payers were blocked for ${FREE_WITHIN_MS / 1000} s`],
      [failures > 0, `${failures} answers 500, or none`],
    ]),
  }
}

/** Stops the first program when it has a transaction open; tells how many. */
async function stopHolding(
  { members, payers, databaseUrl }: Platform,
  name: string,
): Promise<number> {
  const [first] = members
  const requests = payers.map((payer) => loadOf(payer, name))
  const load = { url: first?.facts.url ?? '', requests, atOnce: 32, seconds: 4 }
  // Its answers do not come, and nobody waits for them.
  const loading = sendLoad(load).catch(() => undefined)
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  let held = 0
  try {
    await sleep(1000)
    for (let tries = 0; held === 0 && tries < 20; tries++) {
      first?.program.kill('SIGSTOP')
      await sleep(100)
      const { rows } = await client.query<{ held: number }>(`
        select count(*)::int as held from pg_stat_activity
        where datname = current_database() and state like 'idle in transaction%'`)
      held = rows[0]?.held ?? 0
      if (held > 0) break
      first?.program.kill('SIGCONT')
      await sleep(50)
    }
  } finally {
    await client.end()
  }
  void loading
  return held
}

function loadOf(payer: Payer, name: string): LoadRequest {
  const { path, key, body } = transfer(payer, '')
  return {
    method: 'POST',
    path,
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, idempotencyKey: `${name}-{n}` }),
  }
}
