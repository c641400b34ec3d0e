import { randomBytes } from 'node:crypto'

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
  type Answer,
  type Question,
} from './ask.ts'
import type { Attack, AttackResult } from './attack.ts'
import { startPlatform, type Payer, type Platform } from './platform.ts'

const PAYERS = 5
const BACK_WITHIN_MS = 30_000
const UNAVAILABLE = 'database_unavailable'

/** What a server does to us: by which statement, and by which it is undone. */
type Trouble = { tried: string; begin: string; end: string }

export const databaseDown: Attack = {
  name: 'database-down',
  about: 'takes the database away, and all of its connections',
  needsServer: true,
  async run() {
    const server = await connectTo(process.env['DATABASE_URL'])
    const role = `quittance_attacked_${process.pid}`
    let database = ''
    try {
      const platform = await startPlatform({
        payers: PAYERS,
        async through(databaseUrl) {
          database = new URL(databaseUrl).pathname.slice(1)
          return asOwner({ server, role, database, databaseUrl })
        },
      })
      const results: AttackResult[] = []
      try {
        for (const trouble of troublesOf(database, role)) {
          results.push(await cut(platform, { server, database, trouble }))
        }
        return results
      } finally {
        await platform.stop()
      }
    } finally {
      if (database) await server.query(`drop database if exists ${database} with (force)`)
      await server.query(`drop role if exists ${role}`)
      await server.end()
    }
  },
}

async function connectTo(url: string | undefined): Promise<Client> {
  const client = new Client({ connectionString: url?.split(/\s+/)[0] })
  await client.connect()
  return client
}

/** As somebody whose connections can be limited: one who may do everything has no limit. */
async function asOwner(options: {
  server: Client
  role: string
  database: string
  databaseUrl: string
}): Promise<string> {
  const { server, role, database, databaseUrl } = options
  const password = randomBytes(16).toString('hex')
  await server.query(`create role ${role} login password '${password}'`)
  await server.query(`alter database ${database} owner to ${role}`)
  const url = new URL(databaseUrl)
  url.username = role
  url.password = password
  return url.href
}

function troublesOf(database: string, role: string): Trouble[] {
  return [
    {
      tried: 'the database lets nobody in',
      begin: `alter database ${database} with allow_connections false`,
      end: `alter database ${database} with allow_connections true`,
    },
    {
      tried: 'no connection is left',
      begin: `alter role ${role} connection limit 0`,
      end: `alter role ${role} connection limit -1`,
    },
  ]
}

async function cut(
  { url, payers, members }: Platform,
  { server, database, trouble }: { server: Client; database: string; trouble: Trouble },
): Promise<AttackResult> {
  const questions = payers.flatMap((payer, place) =>
    asked(payer, `${trouble.tried.replaceAll(' ', '-')}-${place}`),
  )
  const statusUrls = members.map(({ statusUrl }) => statusUrl)
  await server.query(trouble.begin)
  let answers: Answer[]
  let ready: boolean[]
  let isAlive: boolean
  try {
    await server.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
      [database],
    )
    answers = await Promise.all(questions.map((question) => ask(url, question)))
    ready = await areReady(statusUrls)
    isAlive = (await ask(url, { path: '/healthz', key: '' })).status === 200
  } finally {
    await server.query(trouble.end)
  }
  const backMs = await waitUntil(
    async () => !(await areReady(statusUrls)).includes(false),
    BACK_WITHIN_MS,
  )
  const again = await Promise.all(
    questions.map((question) => askUntilDone(url, question, BACK_WITHIN_MS)),
  )
  const unsaid = answers.filter(({ headers }) => !headers.has('retry-after')).length
  const others = answers.filter(({ status, text }) => status !== 503 || !isNamed(text)).length
  const stuck = again.filter((one) => !isDone(one)).length
  return {
    tried: trouble.tried,
    count: answers.length,
    outcome: [
      `${countStatuses(answers)}, the slowest after ${longestMs(answers)} ms`,
      `${ready.filter((one) => !one).length} of ${ready.length} programs said not ready`,
      backMs === undefined ? 'not back' : `back after ${backMs} ms`,
      `${again.length - stuck} of ${again.length} done afterwards`,
    ].join(', '),
    wrong: wrongsIn([
      [others > 0, `${others} were answered by something else than 503 ${UNAVAILABLE}`],
      [unsaid > 0, `${unsaid} answers without Retry-After`],
      [ready.includes(true), 'a program said that it is ready'],
      [!isAlive, '/healthz did not answer'],
      [backMs === undefined, `not ready within ${BACK_WITHIN_MS / 1000} s after it`],
      [stuck > 0, `${stuck} requests were not done afterwards`],
    ]),
  }
}

/** Group A has numbers in place of names, and says it in words. */
function isNamed(text: string): boolean {
  return text.includes(UNAVAILABLE) || /database/i.test(text)
}

function asked(payer: Payer, name: string): Question[] {
  const { key } = payer
  return [
    { path: '/api/transactions?limit=20', key },
    { path: '/v1/wallets', key },
    payment(payer, name),
    transfer(payer, name),
  ]
}
