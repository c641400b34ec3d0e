import { Client } from 'pg'

import {
  areReady,
  ask,
  askUntilDone,
  countStatuses,
  isDone,
  longestMs,
  payment,
  transfer,
  waitUntil,
  wrongsIn,
} from './ask.ts'
import type { Attack, AttackResult } from './attack.ts'
import { startPlatform, type Platform } from './platform.ts'

const PAYERS = 5
const BACK_WITHIN_MS = 30_000
const TABLES = ['transactions', 'transfers', 'orders', 'idempotent_requests']

/** As the server reports it: whatever writes fails with 53100, and whatever reads goes on. */
export const diskFull: Attack = {
  name: 'disk-full',
  about: 'lets every write of the database fail as on a full disk',
  needsServer: true,
  async run() {
    const platform = await startPlatform({ payers: PAYERS })
    try {
      return [await fill(platform)]
    } finally {
      await platform.stop()
    }
  },
}

async function fill({ url, payers, members, databaseUrl }: Platform): Promise<AttackResult> {
  const questions = payers.flatMap((payer, place) => [
    payment(payer, `full-payment-${place}`),
    transfer(payer, `full-transfer-${place}`),
  ])
  const reads = payers.map(({ key }) => ({ path: '/api/transactions?limit=20', key }))
  const askAll = async (all: typeof reads) => Promise.all(all.map((one) => ask(url, one)))
  const letGo = await failWrites(databaseUrl)
  const answers = await askAll(questions)
  const [serves] = await areReady([url])
  const read = await askAll(reads)
  await letGo()
  const statusUrls = members.map(({ statusUrl }) => statusUrl)
  const backMs = await waitUntil(
    async () => !(await areReady(statusUrls)).includes(false),
    BACK_WITHIN_MS,
  )
  const again = await Promise.all(
    questions.map((question) => askUntilDone(url, question, BACK_WITHIN_MS)),
  )
  const others = answers.filter(({ status, text }) => status !== 503 || !/database/i.test(text))
  const unsaid = answers.filter(({ headers }) => !headers.has('retry-after')).length
  const unread = read.filter(({ status }) => status !== 200).length
  const stuck = again.filter((one) => !isDone(one)).length
  return {
    tried: 'payments and transfers while every write fails with 53100',
    count: answers.length,
    outcome: [
      `${countStatuses(answers)}, the slowest after ${longestMs(answers)} ms`,
      `${read.length - unread} of ${read.length} reads answered`,
      `the server said ${serves ? 'ready' : 'not ready'}`,
      backMs === undefined ? 'not back' : `back after ${backMs} ms`,
      `${again.length - stuck} of ${again.length} done afterwards`,
    ].join(', '),
    wrong: wrongsIn([
      [others.length > 0, `${others.length} were answered by something else than 503`],
      [unsaid > 0, `${unsaid} answers without Retry-After`],
      [serves !== false, 'the server said that it is ready'],
      [unread > 0, `${unread} reads failed`],
      [backMs === undefined, `not ready within ${BACK_WITHIN_MS / 1000} s after it`],
      [stuck > 0, `${stuck} requests were not done afterwards`],
    ]),
  }
}

async function failWrites(databaseUrl: string | undefined): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query(`
    create function be_full() returns trigger language plpgsql as $$
    begin raise exception 'could not extend file' using errcode = '53100'; end $$`)
  for (const table of TABLES) {
    await client.query(
      `create trigger full_disk before insert or update on ${table}
       for each statement execute function be_full()`,
    )
  }
  return async () => {
    await client.query('drop function be_full cascade')
    await client.end()
  }
}
