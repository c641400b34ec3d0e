import { Kysely, PostgresDialect, sql } from 'kysely'
import { Client, Pool } from 'pg'

import type { Db } from '../../../src/store/database/database.ts'
import { listTransactions, type TransactionFilter } from '../../../src/store/transactions/list.ts'
import { at, time, type Sample } from './rounds.ts'

/** How the bench fills the table, which decides what each search has to find. */
export type Filled = {
  userId: number
  rows: number
  firstDay: number
  stepMs: number
  payee: `0x${string}`
}

/** Beside each search its statements sent by the bare driver; PGlite has none. */
export type Searching = Filled & { rounds: number; url: string | undefined }

/** One order in so many rows has a reference that can be searched for. */
const ROWS_PER_ORDER = 10

/** The orders whose references are searched for. */
export async function fillOrders(db: Db, { userId, rows, firstDay }: Filled): Promise<void> {
  const signer = `0x${'5e'.repeat(20)}`
  await sql`
    insert into installation (environment, chain_id) values ('sandbox', 31337)`.execute(db)
  await sql`
    insert into nonce_lanes (chain_id, signer, next_nonce) values (31337, ${signer}, 0)`.execute(db)
  for (let first = 0; first < rows; first += 200_000) {
    await sql`
      insert into orders (subject, spender, chain_id, signer, reference, counter, route, payee,
        amount, gas, state, accepted_at, updated_at)
      select 'TX' || lpad(n::text, 20, '0'), ${`user:${userId}`}, 31337, ${signer},
        '0x' || lpad(to_hex(n), 64, '0'), n, 'direct', '0x' || lpad(to_hex(n), 40, '0'), 1, 21000,
        'completed', ${new Date(firstDay)}, ${new Date(firstDay)}
      from generate_series(${first}::bigint, ${first + Math.min(rows, 200_000) - 1}::bigint,
        ${ROWS_PER_ORDER}) n`.execute(db)
  }
}

/** Each filter alone and with others: of one row, of none, of half of them and of all. */
function searchesOf(filled: Filled): Record<string, TransactionFilter> {
  const { userId, rows, firstDay, stepMs, payee } = filled
  const shop = { shop: 'main' }
  const mine = { userId, currency: 'USD' } as const
  const one = 471 * ROWS_PER_ORDER
  const oldest = { from: new Date(firstDay), until: new Date(firstDay + (rows * stepMs) / 4) }
  return {
    'hash of one': { userId, hash: hex(one, 64) },
    'hash of none': { userId, hash: hex(rows * 2, 64) },
    'reference of one': { userId, reference: hex(one, 64) },
    'reference of none': { userId, reference: hex(rows * 2, 64) },
    'external_id of one': { userId, externalId: `row-${one}` },
    'external_id of none': { userId, externalId: 'none' },
    'metadata of one': { userId, metadata: { order: `${one}` } },
    'metadata of none': { userId, metadata: { order: 'none' } },
    'metadata of half': { userId, metadata: { lane: '1' } },
    'metadata of all': { userId, metadata: shop },
    'metadata of all and one': { userId, metadata: { ...shop, order: `${one}` } },
    'address of one': { userId, toAddress: hex(1, 40) },
    'address of none': { userId, toAddress: `0x${'cd'.repeat(20)}` },
    'address of half': { userId, toAddress: payee },
    'currency of all': mine,
    'currency of the oldest': { ...mine, currency: 'EUR' },
    'currency of none': { ...mine, currency: 'GBP' },
    'amount of few': { ...mine, minAmount: '4711.25', maxAmount: '4711.25' },
    'amount of none': { ...mine, minAmount: '20000' },
    'amount of half': { ...mine, minAmount: '5000' },
    'amount of all': { ...mine, minAmount: '0.01' },
    'address of half, currency': { ...mine, toAddress: payee },
    'address of half, amount of half': { ...mine, toAddress: payee, maxAmount: '5000' },
    'two halves without a row in both': { userId, toAddress: payee, metadata: { lane: '1' } },
    'all, refunded': { ...mine, metadata: shop, status: 'refunded' },
    'all at once': {
      ...mine,
      ...oldest,
      metadata: { ...shop, lane: '0' },
      toAddress: payee,
      minAmount: '1',
      maxAmount: '9000',
      type: 'payment',
      status: 'completed',
    },
  }
}

function hex(value: number, digits: number): `0x${string}` {
  return `0x${value.toString(16).padStart(digits, '0')}`
}

/** The slowest p99 of all searches, in milliseconds. */
export type Slowest = { ours: number; floor: number | undefined }

/** The first page of each search, and one far behind it. */
export async function measureSearches(db: Db, searching: Searching): Promise<Slowest> {
  const { rounds, rows, firstDay, url } = searching
  const bare = url === undefined ? undefined : await openBare(url)
  const heads = ['p50 ms', 'p99 ms', 'cpu p99', ...(bare ? ['floor p50', 'floor p99'] : [])]
  console.log('search'.padEnd(60), ...heads.map((head) => head.padStart(9)))
  const createdAt = new Date(firstDay + 400 * 86_400_000)
  const slowest: Slowest = { ours: 0, floor: bare && 0 }
  for (const [name, search] of Object.entries(searchesOf(searching))) {
    for (const place of [{ offset: 0 }, { after: { createdAt, id: BigInt(rows) } }]) {
      const list = (on: Db) => listTransactions(on, search, { limit: 50, ...place })
      const { total, isExact } = await list(db)
      const { wall, cpu } = await time(rounds, () => list(db))
      const floor = await bare?.measure(rounds, list)
      const what = `${name}, ${'after' in place ? 'deep' : 'first'}`
      const figures = [at(wall, 0.5), at(wall, 0.99), at(cpu, 0.99)]
      if (floor !== undefined) figures.push(at(floor.wall, 0.5), at(floor.wall, 0.99))
      console.log(
        `${what}, ${isExact ? '' : 'more than '}${total}`.padEnd(60),
        ...figures.map((figure) => figure.padStart(9)),
      )
      slowest.ours = Math.max(slowest.ours, Number(figures[1]))
      if (slowest.floor !== undefined) slowest.floor = Math.max(slowest.floor, Number(figures[4]))
    }
  }
  await bare?.close()
  return slowest
}

type Bare = {
  /** Times the statements that the work sends, without the work. */
  measure: (rounds: number, work: (db: Db) => Promise<unknown>) => Promise<Sample>
  close: () => Promise<void>
}

async function openBare(url: string): Promise<Bare> {
  const options = { connectionString: url, options: '-c jit=off' }
  const sent: { text: string; values: unknown[] }[] = []
  const pool = new Pool(options)
  const spied = new Kysely<unknown>({
    dialect: new PostgresDialect({ pool }),
    log({ query }) {
      sent.push({ text: query.sql, values: [...query.parameters] })
    },
  })
  const client = new Client(options)
  await client.connect()
  return {
    async measure(rounds, work) {
      sent.length = 0
      await work(spied)
      const statements = [...sent]
      return time(rounds, async () => {
        for (const statement of statements) await client.query(statement)
      })
    },
    async close() {
      await Promise.all([client.end(), spied.destroy()])
    },
  }
}
