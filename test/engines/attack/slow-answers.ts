import { Client } from 'pg'

import { limits } from '../../../src/base/limits.ts'
import {
  ask,
  askUntilDone,
  countStatuses,
  isDone,
  longestMs,
  payment,
  wrongsIn,
  type Answer,
} from './ask.ts'
import type { Attack, AttackResult } from './attack.ts'
import { startPlatform, type Platform } from './platform.ts'

const PAYERS = 20
const AGAIN_WITHIN_MS = 30_000
/** The limit of a request, and what a busy machine adds. */
const ANSWER_MS = limits.handlerTimeoutMs + 3_000

/** What a payment stands on does not answer; the payment is answered in time all the same. */
export const slowAnswers: Attack = {
  name: 'slow-answers',
  about: 'pays while the lanes of nonces are locked, and while the chain says nothing',
  needsServer: true,
  async run() {
    const platform = await startPlatform({ payers: PAYERS })
    try {
      const { payers, url, databaseUrl, chain } = platform
      // Each has a lane of its own from then on.
      await Promise.all(payers.map((payer, place) => ask(url, payment(payer, `first-${place}`))))
      return [
        await pay(platform, { tried: 'behind locked lanes', hold: () => lockLanes(databaseUrl) }),
        await pay(platform, { tried: 'beside a silent chain', hold: async () => still(chain.pid) }),
      ]
    } finally {
      await platform.stop()
    }
  },
}

async function pay(
  { url, payers }: Platform,
  { tried, hold }: { tried: string; hold: () => Promise<() => Promise<void>> },
): Promise<AttackResult> {
  const letGo = await hold()
  let answers: Answer[]
  try {
    answers = await Promise.all(
      payers.map((payer, place) => ask(url, payment(payer, nameOf(tried, place)))),
    )
  } finally {
    await letGo()
  }
  const again = await Promise.all(
    payers.map((payer, place) =>
      askUntilDone(url, payment(payer, nameOf(tried, place)), AGAIN_WITHIN_MS),
    ),
  )
  const ids = new Set(again.map((one) => one.at(-1)?.body['transaction_id']))
  const late = answers.filter(({ tookMs, status }) => tookMs > ANSWER_MS || status === 0).length
  const others = answers.filter(({ status }) => status !== 201 && status !== 503).length
  const unsaid = answers.filter(
    ({ status, headers }) => status === 503 && !headers.has('retry-after'),
  ).length
  const stuck = again.filter((one) => !isDone(one)).length
  return {
    tried: `payments ${tried}`,
    count: answers.length,
    outcome:
      `${countStatuses(answers)}, the slowest after ${longestMs(answers)} ms; ` +
      `afterwards ${again.length - stuck} of ${again.length} done with the same keys`,
    wrong: wrongsIn([
      [late > 0, `${late} were not answered within ${ANSWER_MS / 1000} s`],
      [others > 0, `${others} were answered by something else than 201 and 503`],
      [unsaid > 0, `${unsaid} times 503 without Retry-After`],
      [stuck > 0, `${stuck} keys could not be used afterwards`],
      [ids.size < again.length, 'two keys have one payment'],
    ]),
  }
}

function nameOf(tried: string, place: number): string {
  return `${tried.replaceAll(' ', '-')}-${place}`
}

/** As another program would that has them locked and does not go on. */
async function lockLanes(databaseUrl: string | undefined): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('begin')
  await client.query('select 1 from nonce_lanes for update')
  return () => client.end()
}

function still(pid: number): () => Promise<void> {
  process.kill(pid, 'SIGSTOP')
  return async () => void process.kill(pid, 'SIGCONT')
}
