import { sql, type RawBuilder } from 'kysely'

import { messageOf } from '../../src/base/errors.ts'
import { MIGRATION_PATIENCE } from '../../src/store/database/connections.ts'
import { openDatabase, type Database, type Db } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { listTransactions, type TransactionFilter } from '../../src/store/transactions/list.ts'
import { recountTallies } from '../../src/store/transactions/tallies.ts'
import { recordTransaction } from '../../src/store/transactions/transactions.ts'
import { measureExport } from '../../test/engines/bench/exports.ts'
import { tellRows } from '../../test/engines/bench/result.ts'
import { at, time } from '../../test/engines/bench/rounds.ts'
import {
  fillOrders,
  measureSearches,
  type Filled,
  type Slowest,
} from '../../test/engines/bench/searches.ts'

const ROWS = Number(process.env['BENCH_ROWS'] ?? 1_000_000)
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 200)
const PEER_ROUNDS = Math.min(ROUNDS, 3)
const PAYEE = `0x${'ab'.repeat(20)}` as const
const FIRST_DAY = Date.UTC(2023, 0, 1)
const DAY_MS = 86_400_000

/** How the rows lie in time: milliseconds between one and the next. */
const SHAPES = { 'three years': (1095 * DAY_MS) / ROWS, 'one day': DAY_MS / ROWS, 'one instant': 0 }

/** Fills a database of its own with one user's transactions and times every kind of list. */
async function main(): Promise<void> {
  const all = Object.keys(SHAPES) as (keyof typeof SHAPES)[]
  const shapes = all.filter((shape) => shape === (process.env['BENCH_SHAPE'] ?? shape))
  const worst: Deepest[] = []
  const searches: Slowest[] = []
  for (const shape of shapes) {
    const own = await openOwn()
    const { database } = own
    try {
      const startedAt = performance.now()
      const filled = await fill(database, SHAPES[shape])
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(0)
      console.log(`\n${ROWS} rows over ${shape}, ${database.kind} engine, filled in ${seconds} s`)
      if (!process.env['BENCH_SEARCH']) worst.push(...(await measureLists(database.db, filled)))
      searches.push(await measureSearches(database.db, { ...filled, rounds: ROUNDS, url: own.url }))
      await tellExport(database.db, filled)
    } finally {
      await own.drop()
    }
  }
  tellRows('list', [...listRows(worst), searchRow(searches)])
}

async function tellExport(db: Db, { userId }: Filled): Promise<void> {
  const told = await measureExport(db, { userId, lookEvery: Math.ceil(ROWS / 20) })
  const perSecond = Math.round(told.lines / told.seconds)
  const held = told.heldMb.toFixed(1)
  console.log(`export: ${told.lines} lines, ${perSecond} a second, ${held} MB held at most`)
}

function listRows(worst: readonly Deepest[]) {
  if (worst.length === 0) return []
  const slowest = (name: keyof Deepest) => Math.max(...worst.map((times) => times[name]))
  return [
    {
      what: 'deepest page of the slowest filter, p50',
      unit: 'ms',
      ours: slowest('ours'),
      peer: { what: 'offset and count(*)', value: slowest('naive') },
    },
  ]
}

function searchRow(searches: readonly Slowest[]) {
  const floors = searches.flatMap(({ floor }) => floor ?? [])
  return {
    what: 'slowest search, p99',
    unit: 'ms',
    ours: Math.max(...searches.map(({ ours }) => ours)),
    ...(floors.length > 0 && {
      floor: { what: 'its statements by bare pg', value: Math.max(...floors) },
    }),
  }
}

/** How long the deepest page of one filter takes, in the middle of the tries. */
type Deepest = { ours: number; naive: number }

type Own = { database: Database; url: string | undefined; drop: () => Promise<void> }

/** A new database on the server of DATABASE_URL, or PGlite in memory. */
async function openOwn(): Promise<Own> {
  const server = process.env['DATABASE_URL']
  if (server === undefined) {
    const database = await openDatabase({})
    return { database, url: undefined, drop: () => database.close() }
  }
  const name = `quittance_bench_${process.pid}_${Date.now()}`
  await onServer(server, sql`create database ${sql.id(name)}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  // To fill a million rows takes longer than a request may.
  const database = await openDatabase({ url: url.href, patience: MIGRATION_PATIENCE })
  const drop = async () => {
    await database.close()
    await onServer(server, sql`drop database ${sql.id(name)}`)
  }
  return { database, url: url.href, drop }
}

async function onServer(url: string, statement: RawBuilder<unknown>): Promise<void> {
  const { db, close } = await openDatabase({ url, patience: MIGRATION_PATIENCE })
  await statement.execute(db)
  await close()
}

async function fill({ db, kind }: Database, stepMs: number): Promise<Filled> {
  await migrate(db)
  const { rows } = await sql<{ id: number }>`
    insert into users (username, password_hash, scopes)
    values ('bench', '$argon2id$none', '{admin}') returning id`.execute(db)
  const userId = rows[0]!.id
  // One in a hundred thousand is refunded: what is rare is the hard case for a walk.
  for (let first = 0; first < ROWS; first += 20_000) {
    await sql`
      insert into transactions (transaction_id, user_id, type, status, amount, currency,
        description, metadata, to_address, eth_transaction_hash, external_id, created_at,
        updated_at, log_key)
      select 'TX' || lpad(n::text, 20, '0'), ${userId},
        (array['payment', 'transfer', 'deposit', 'withdrawal', 'settlement'])
          [1 + (hashint8(n) & 1023) % 5],
        case when n % 100000 = 7 then 'refunded' when n % 50 = 1 then 'failed'
          when n > ${ROWS} * 0.999 then 'processing' else 'completed' end,
        n % 10000 + 0.25, case when n < ${ROWS} * 0.02 then 'EUR' else 'USD' end,
        'row of the bench', jsonb_build_object('order', n::text, 'shop', 'main', 'lane', n % 2),
        case when n % 2 = 0 then ${PAYEE} else '0x' || lpad(to_hex(n), 40, '0') end,
        '0x' || lpad(to_hex(n), 64, '0'), 'row-' || n, at, at, 0
      from generate_series(${first}::bigint, ${first + Math.min(ROWS, 20_000) - 1}::bigint) n
      cross join lateral (
        select ${new Date(FIRST_DAY)}::timestamptz
          + (n * ${stepMs}::float8) * interval '1 millisecond' as at
      ) as time`.execute(db)
    await sql`
      insert into transaction_moves (internal_id, user_id, to_status, actor, reason, log_key)
      select id, user_id, 'pending', 'bench', 'row of the bench', 0 from transactions
      where id > ${first}`.execute(db)
  }
  await recountTallies(db, { userId })
  const filled = { userId, rows: ROWS, firstDay: FIRST_DAY, stepMs, payee: PAYEE }
  await fillOrders(db, filled)
  // A server does this by itself within a minute; PGlite never does.
  if (kind === 'server') await sql`analyze`.execute(db)
  for (let made = 0; made < Math.min(ROWS, 1000); made++) await recordOne(db, { userId, made })
  return filled
}

/** What arrives in the ordinary way is partly not counted in yet. */
async function recordOne(db: Db, options: { userId: number; made: number }): Promise<void> {
  await recordTransaction(db, {
    transactionId: `TX9${String(options.made).padStart(19, '0')}`,
    userId: options.userId,
    type: 'payment',
    amount: 1n,
    currency: 'USD',
    description: 'row of the bench',
    actor: 'bench',
    reason: 'made by the bench',
  })
}

async function measureLists(db: Db, filled: Filled): Promise<Deepest[]> {
  const heads = ['p50 ms', 'p99 ms', 'cpu p99'].map((head) => head.padStart(8))
  console.log('filter'.padEnd(46), ...heads, 'naive p50'.padStart(10))
  const worst: Deepest[] = []
  for (const filter of filtersOf(filled)) worst.push(await measure(db, filter))
  return worst
}

function filtersOf({ userId, stepMs }: Filled): TransactionFilter[] {
  const middle = FIRST_DAY + (ROWS * stepMs) / 2
  const quarter = (ROWS * stepMs) / 4
  const from = new Date(middle - quarter)
  const until = new Date(middle + quarter)
  const times = [{}, { from }, { until }, { from, until }]
  const types = [{}, { type: 'payment' }] as const
  const statuses = [{}, { status: 'completed' }, { status: 'refunded' }] as const
  return types.flatMap((type) =>
    statuses.flatMap((status) => times.map((time) => ({ userId, ...type, ...status, ...time }))),
  )
}

/** At the first page, in the middle and near the end; the peer only where it must go deep. */
async function measure(db: Db, filter: TransactionFilter): Promise<Deepest> {
  const deepestPage = { ours: 0, naive: 0 }
  const { total } = await listTransactions(db, filter, { limit: 1, offset: 0 })
  for (const depth of [0, 0.5, 1]) {
    const deepest = Math.min(Math.floor(total * depth), 1_000_000)
    const page = () => ({ limit: 50, offset: Math.floor(deepest * (0.95 + Math.random() * 0.05)) })
    const ours = await time(ROUNDS, () => listTransactions(db, filter, page()))
    const peerRounds = depth < 1 ? 0 : PEER_ROUNDS
    const naive = await time(peerRounds, () => listNaively(db, filter, page()))
    console.log(
      nameOf(filter, deepest).padEnd(46),
      at(ours.wall, 0.5).padStart(8),
      at(ours.wall, 0.99).padStart(8),
      at(ours.cpu, 0.99).padStart(8),
      at(naive.wall, 0.5).padStart(10),
    )
    deepestPage.ours = Number(at(ours.wall, 0.5))
    deepestPage.naive = Number(at(naive.wall, 0.5))
  }
  return deepestPage
}

function nameOf({ type, status, from, until }: TransactionFilter, offset: number): string {
  const words = [type, status, from && 'from', until && 'until'].filter(
    (word) => word !== undefined,
  )
  return `${words.join(' ') || 'all'}, offset ${offset}`
}

/** What one writes without tallies. */
async function listNaively(
  db: Db,
  filter: TransactionFilter,
  page: { limit: number; offset: number },
): Promise<void> {
  const taken = sql`user_id = ${filter.userId}
    and (${filter.type ?? null}::text is null or type = ${filter.type ?? null})
    and (${filter.status ?? null}::text is null or status = ${filter.status ?? null})
    and (${filter.from ?? null}::timestamptz is null or created_at >= ${filter.from ?? null})
    and (${filter.until ?? null}::timestamptz is null or created_at < ${filter.until ?? null})`
  await sql`select count(*) from transactions where ${taken}`.execute(db)
  await sql`
    select transaction_id from transactions where ${taken}
    order by created_at desc, id desc limit ${page.limit} offset ${page.offset}`.execute(db)
}

await main().catch((error: unknown) => {
  console.error(messageOf(error))
  process.exitCode = 2
})
