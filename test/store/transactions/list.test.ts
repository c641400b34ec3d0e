import { expect } from 'chai'
import * as fc from 'fast-check'
import { sql } from 'kysely'

import {
  LEGAL_MOVES,
  TRANSACTION_STATUSES,
  TRANSACTION_TYPES,
  type TransactionType,
} from '../../../src/domain/states.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { listTransactions, type TransactionFilter } from '../../../src/store/transactions/list.ts'
import { foldTallies, recountTallies } from '../../../src/store/transactions/tallies.ts'
import { moveTransaction, type Transaction } from '../../../src/store/transactions/transactions.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { makeTransaction } from '../../fixtures/store/transactions.ts'

const FIRST_DAY = Date.UTC(2026, 1, 27)
const DAY_MS = 86_400_000

/** Small, so that a few dozen rows make many tallies. */
const SIZE = 3

type Step =
  | { do: 'insert'; day: number; type: TransactionType }
  | { do: 'move'; which: number; choice: number }
  | { do: 'fold' | 'recount' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('insert' as const),
      // Few times, so that many have the same: then the id decides.
      day: fc.integer({ min: 0, max: 8 }).map((half) => half / 2),
      type: fc.constantFrom(...TRANSACTION_TYPES.slice(0, 2)),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('move' as const), which: fc.nat(), choice: fc.nat() }),
  },
  { weight: 2, arbitrary: fc.constant({ do: 'fold' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'recount' as const }) },
)

describe('listTransactions', () => {
  it('gives nothing and counts nothing where there is nothing', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const nothing = { transactions: [], total: 0, isExact: true, stoppedAt: undefined }
    for (const fold of [false, true]) {
      if (fold) await foldTallies(db, { userId })
      for (const filter of filtersOf(userId)) {
        expect(await listTransactions(db, filter, { limit: 5, offset: 0 })).to.deep.equal(nothing)
        expect(await listTransactions(db, filter, { limit: 5, offset: 9 })).to.deep.equal(nothing)
      }
    }
  })

  it('agrees with a plain list after any inserts, moves, folds and recounts', async () => {
    const run = async (steps: Step[]): Promise<void> => {
      const { db } = await freshDatabase()
      const { id: userId } = await makeUser(db)
      const { id: other } = await makeUser(db)
      const model: Transaction[] = []
      for (const next of steps) await take(db, { userId, model, step: next })
      await makeTransaction(db, { userId: other })
      for (const filter of filtersOf(userId)) await expectSame(db, { filter, model })
    }
    await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), run), {
      numRuns: 8,
      endOnFailure: true,
    })
  }).timeout(120_000)

  it('counts what the horizon leaves out, and cuts tallies that moves still change', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const model: Transaction[] = []
    const insert = { do: 'insert', day: 1, type: 'deposit' } as const
    for (let made = 0; made < 12; made++) await take(db, { userId, model, step: insert })
    await foldTallies(db, { userId, size: SIZE })
    await db.transaction().execute(async (open) => {
      // These are the transaction's own, and above its horizon, while it folds and cuts.
      for (let made = 0; made < 8; made++) await take(open, { userId, model, step: insert })
      await take(open, { userId, model, step: { do: 'move', which: 2, choice: 0 } })
      await foldTallies(open, { userId, size: 1 })
      for (const filter of filtersOf(userId)) await expectSame(open, { filter, model })
      await recountTallies(open, { userId, size: SIZE })
      for (const filter of filtersOf(userId)) await expectSame(open, { filter, model })
    })
    await foldTallies(db, { userId, size: SIZE })
    for (const filter of filtersOf(userId)) await expectSame(db, { filter, model })
    expect(await tallySizes(db)).to.satisfy((sizes: number[]) => sizes.every((n) => n <= 2 * SIZE))
  })

  it('continues after a place, whatever was added before it', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    for (let made = 0; made < 5; made++) await makeTransaction(db, { userId })
    const first = await listTransactions(db, { userId }, { limit: 2, offset: 0 })
    await makeTransaction(db, { userId })
    const after = first.transactions.at(-1)!
    const rest = await listTransactions(db, { userId }, { limit: 10, after })
    expect(rest.total).to.equal(6)
    expect(rest.transactions.map(({ id }) => id)).to.deep.equal([3n, 2n, 1n])
  })

  it('stays exact while many write, move and fold at once', async () => {
    const { db, kind } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const writing = new AbortController()
    const watch = async (): Promise<number> => {
      let looks = 0
      for (; !writing.signal.aborted || looks < 5; looks++)
        expect(await readsAgree(db, userId)).to.equal(true)
      return looks
    }
    const write = async (writer: number): Promise<void> => {
      for (let made = 0; made < 25; made++) {
        const status = TRANSACTION_STATUSES[(made + writer) % TRANSACTION_STATUSES.length]!
        const work = async (open: Db): Promise<void> => {
          await makeTransaction(open, { userId, status })
          if (made % 3 === 0) await foldTallies(open, { userId, size: SIZE })
        }
        await db.transaction().execute(work)
      }
    }
    const watching = kind === 'server' ? Promise.all([watch(), watch()]) : watch()
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(write)).finally(() => writing.abort())
    await watching
    await foldTallies(db, { userId, size: SIZE })
    expect(await readsAgree(db, userId)).to.equal(true)
    const sizes = await tallySizes(db)
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.equal(200)
    expect(sizes.length).to.be.greaterThan(200 / SIZE / 3)
  }).timeout(60_000)

  it('folds by itself what has gathered', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    for (let made = 0; made < 256; made++) await makeTransaction(db, { userId })
    expect(await tallySizes(db)).to.deep.equal([256])
    const { total } = await listTransactions(db, { userId }, { limit: 1, offset: 0 })
    expect(total).to.equal(256)
  })
})

describe('recountTallies', () => {
  it('takes in what came by other ways, and mends what is wrong', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    await sql`
      insert into transactions
        (transaction_id, user_id, type, status, amount, currency, description, log_key)
      select 'TX' || lpad(n::text, 20, '0'), ${userId}, 'deposit', 'completed', 1, 'USD',
        'import', 0
      from generate_series(1, 2500) n`.execute(db)
    const total = async () =>
      (await listTransactions(db, { userId, status: 'completed' }, { limit: 1, offset: 0 })).total
    expect(await total()).to.equal(0)
    await recountTallies(db, { userId })
    expect(await total()).to.equal(2500)
    expect(await tallySizes(db)).to.deep.equal([1000, 1000, 500])
    await sql`update transaction_tallies set total = 7, counts = array_fill(7, array[25])`.execute(
      db,
    )
    await recountTallies(db, { userId })
    expect(await total()).to.equal(2500)
  })
})

async function take(
  db: Db,
  { userId, model, step }: { userId: number; model: Transaction[]; step: Step },
): Promise<void> {
  switch (step.do) {
    case 'insert': {
      const createdAt = new Date(FIRST_DAY + step.day * DAY_MS)
      const ethTransactionHash = `0x${'ab'.repeat(32)}`
      const made = { userId, type: step.type, createdAt, ethTransactionHash }
      model.push(await makeTransaction(db, made))
      return
    }
    case 'move': {
      const chosen = model[step.which % model.length]
      const next = chosen && LEGAL_MOVES[chosen.status]
      const to = next?.[step.choice % next.length]
      if (!chosen || !to) return
      const { transactionId, status: from } = chosen
      const move = { transactionId, from, to, actor: 'test', reason: 'a step' }
      Object.assign(chosen, await moveTransaction(db, move))
      return
    }
    case 'fold':
      await foldTallies(db, { userId, size: SIZE })
      return
    case 'recount':
      await recountTallies(db, { userId, size: SIZE })
  }
}

function filtersOf(userId: number): TransactionFilter[] {
  const from = new Date(FIRST_DAY + DAY_MS)
  const until = new Date(FIRST_DAY + 3 * DAY_MS)
  const times = [{}, { from }, { until }, { from, until }, { from: until, until: from }]
  return times.flatMap((time) =>
    [undefined, 'withdrawal' as const, 'transfer' as const].flatMap((type) =>
      [undefined, 'pending' as const, 'failed' as const].map((status) => ({
        userId,
        type,
        status,
        ...time,
      })),
    ),
  )
}

async function expectSame(
  db: Db,
  { filter, model }: { filter: TransactionFilter; model: readonly Transaction[] },
): Promise<void> {
  const { type, status, from, until } = filter
  if (from && until && from > until) return
  const wanted = model
    .filter((one) => one.type === (type ?? one.type) && one.status === (status ?? one.status))
    .filter(({ createdAt }) => (!from || createdAt >= from) && (!until || createdAt < until))
    .toSorted((a, b) => Number(b.createdAt) - Number(a.createdAt) || Number(b.id - a.id))
  for (const offset of new Set([0, 1, 4, Math.floor(wanted.length / 2), wanted.length, 1000])) {
    const page = await listTransactions(db, filter, { limit: 3, offset })
    expect(page).to.deep.equal({
      total: wanted.length,
      isExact: true,
      stoppedAt: undefined,
      transactions: wanted.slice(offset, offset + 3),
    })
  }
}

/** The total of each filter beside a plain count, in one snapshot. */
async function readsAgree(db: Db, userId: number): Promise<boolean> {
  const read = async (open: Db): Promise<boolean> => {
    for (const status of [undefined, ...TRANSACTION_STATUSES]) {
      const { total } = await listTransactions(open, { userId, status }, { limit: 1, offset: 0 })
      const { rows } = await sql<{ count: bigint }>`
        select count(*) as count from transactions
        where user_id = ${userId} and status = coalesce(${status ?? null}, status)`.execute(open)
      if (BigInt(total) !== rows[0]!.count) return false
    }
    return true
  }
  return db.transaction().setIsolationLevel('repeatable read').execute(read)
}

async function tallySizes(db: Db): Promise<number[]> {
  const { rows } = await sql<{ total: number }>`
    select total from transaction_tallies order by since_at, since_id`.execute(db)
  return rows.map(({ total }) => total)
}
