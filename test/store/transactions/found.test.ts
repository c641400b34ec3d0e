import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import * as fc from 'fast-check'
import { sql } from 'kysely'

import { createId } from '../../../src/domain/ids.ts'
import { CURRENCIES, decimalsOf, formatAmount } from '../../../src/domain/money.ts'
import type { Hex } from '../../../src/domain/orders.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { transact } from '../../../src/store/database/transact.ts'
import {
  findTransactions,
  isSearch,
  type ListPlace,
  type Wanted,
} from '../../../src/store/transactions/found.ts'
import {
  recordTransactions,
  type Transaction,
} from '../../../src/store/transactions/transactions.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

const FIRST_DAY = Date.UTC(2026, 1, 27)
const DAY_MS = 86_400_000
const ADDRESSES = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`] as const satisfies Hex[]

const row = fc.record({
  isOther: fc.boolean(),
  createdAt: fc.integer({ min: 0, max: 3 }).map((day) => new Date(FIRST_DAY + day * DAY_MS)),
  type: fc.constantFrom('payment' as const, 'settlement' as const),
  currency: fc.constantFrom(...CURRENCIES.slice(0, 2)),
  amount: fc.bigInt({ min: 1n, max: 5n }),
  toAddress: fc.option(fc.constantFrom(...ADDRESSES), { nil: undefined }),
  metadata: fc.record(
    { order: fc.constantFrom('1', '2'), shop: fc.constant('main') },
    { requiredKeys: [] },
  ),
})

type Row = typeof row extends fc.Arbitrary<infer Value> ? Value : never

const wish = fc.record(
  {
    from: fc.constant(new Date(FIRST_DAY + DAY_MS)),
    until: fc.constant(new Date(FIRST_DAY + 3 * DAY_MS)),
    type: fc.constant('payment' as const),
    status: fc.constantFrom('pending' as const, 'completed' as const),
    currency: fc.constant('USD' as const),
    minAmount: fc.constant('0.02'),
    maxAmount: fc.constantFrom('0.01', '0.04'),
    toAddress: fc.constant(ADDRESSES[0]),
    metadata: fc.constantFrom<Record<string, string>>({ order: '1' }, { order: '2', shop: 'main' }),
  },
  { requiredKeys: [] },
)

/** It means nothing then, and must not choose the index. */
const AMOUNT_WITHOUT_CURRENCY: [Row[], Wanted[]] = [
  [
    {
      isOther: false,
      createdAt: new Date(FIRST_DAY),
      type: 'payment',
      currency: 'USD',
      amount: 2n,
      toAddress: undefined,
      metadata: { order: '1' },
    },
  ],
  [{ maxAmount: '0.04', metadata: { order: '1' } }],
]

describe('findTransactions', () => {
  it('finds what a plain look at every row finds, by any index and with any bound', async () => {
    const run = async (rows: Row[], wishes: Wanted[]): Promise<void> => {
      const { db } = await freshDatabase()
      const users = [await makeUser(db), await makeUser(db)]
      const made = await recordTransactions(
        db,
        rows.map(({ isOther, toAddress, ...one }) => ({
          transactionId: createId('TX', randomBytes),
          userId: users[isOther ? 1 : 0]!.id,
          description: 'made by a test',
          actor: 'test',
          reason: 'made by a test',
          ...one,
          ...(toAddress && { toAddress }),
        })),
      )
      for (const wanted of wishes.flatMap((one) => [one, { ...one, userId: users[0]!.id }])) {
        if (!isSearch(wanted)) continue
        const expected = plainly(made, wanted)
        for (const most of [2, 1000]) await expectSame(db, { wanted, expected, most })
      }
    }
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 15, maxLength: 15 }),
        fc.array(wish, { minLength: 10, maxLength: 10 }),
        run,
      ),
      { numRuns: 5, endOnFailure: true, examples: [AMOUNT_WITHOUT_CURRENCY] },
    )
  }).timeout(120_000)

  it('reads no further for what only the latest half of many rows has', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const [toAddress] = ADDRESSES
    await fillLatestHalf(db, { userId, toAddress, rows: 20_000 })
    for (const wanted of [{ toAddress, currency: 'USD' }, { metadata: { half: '2' } }]) {
      const both = { ...wanted, userId, metadata: { shop: 'main', ...wanted.metadata } }
      const { read, total } = await transact(db, async (open) => {
        const found = await findTransactions(open, both, { limit: 3, offset: 0 })
        return { read: await readWithoutIndex(open), total: found.total }
      })
      expect({ read, total }).to.deep.equal({ read: 0, total: 1000 })
    }
  }).timeout(60_000)
})

/** Statistics tell that half of all rows have it, and not that these stand behind the others. */
async function fillLatestHalf(
  db: Db,
  { userId, toAddress, rows }: { userId: number; toAddress: Hex; rows: number },
): Promise<void> {
  await sql`
    insert into transactions (transaction_id, user_id, type, status, amount, currency, description,
      metadata, to_address, log_key)
    select 'TX' || lpad(n::text, 20, '0'), ${userId}, 'payment', 'pending', 1, 'USD',
      'made by a test',
      jsonb_build_object('shop', 'main', 'half', (1 + (n > ${rows} / 2)::int)::text),
      case when n > ${rows} / 2 then ${toAddress} end, 0
    from generate_series(1, ${rows}::int) n`.execute(db)
  await sql`analyze`.execute(db)
}

/** How many rows were read off the tables of a search in this SQL transaction. */
async function readWithoutIndex(db: Db): Promise<number> {
  const tables = ['transaction_features', 'transaction_words', 'transactions']
  const { rows } = await sql<{ read: number }>`
    select sum(pg_stat_get_xact_tuples_returned(name::regclass))::int as read
    from unnest(${tables}::text[]) as name`.execute(db)
  return rows[0]!.read
}

type Expected = { wanted: Wanted; expected: bigint[]; most: number }

/** Every page by cursor, then the first by offsets where the search is not cut short. */
async function expectSame(db: Db, { wanted, expected, most }: Expected): Promise<void> {
  const found: bigint[] = []
  let place: ListPlace | undefined
  let isExact: boolean | undefined
  for (let pages = 0; pages < 200; pages++) {
    const at = place === undefined ? { offset: 0 } : { after: place }
    const page = await findTransactions(db, wanted, { limit: 3, most, ...at })
    isExact ??= page.isExact
    if (page.isExact) expect(page.total).to.equal(expected.length)
    else expect(page.total).to.be.at.most(expected.length)
    const { transactions } = page
    found.push(...transactions.map(({ id }) => id))
    place = transactions.length === 3 ? transactions.at(-1) : page.stoppedAt
    if (place === undefined) break
  }
  expect(found).to.deep.equal(expected)
  if (most === 1000) expect(isExact).to.equal(true)
  if (isExact !== true) return
  const skipped = await findTransactions(db, wanted, { limit: 3, most, offset: 2 })
  expect(skipped.transactions.map(({ id }) => id)).to.deep.equal(expected.slice(2, 5))
}

function plainly(made: readonly Transaction[], wanted: Wanted): bigint[] {
  const { userId, type, status, from, until, currency, toAddress, metadata = {} } = wanted
  return made
    .filter((one) => userId === undefined || one.userId === userId)
    .filter((one) => one.type === (type ?? one.type) && one.status === (status ?? one.status))
    .filter(({ createdAt }) => (!from || createdAt >= from) && (!until || createdAt < until))
    .filter((one) => one.currency === (currency ?? one.currency))
    .filter((one) => currency === undefined || isWithin(one, wanted))
    .filter((one) => toAddress === undefined || one.toAddress === toAddress)
    .filter((one) => Object.entries(metadata).every(([key, word]) => one.metadata[key] === word))
    .toSorted((a, b) => Number(b.createdAt) - Number(a.createdAt) || Number(b.id - a.id))
    .map(({ id }) => id)
}

function isWithin(one: Transaction, { minAmount = '0', maxAmount = '99' }: Wanted): boolean {
  const amount = Number(formatAmount({ amount: one.amount, decimals: decimalsOf(one) }))
  return amount >= Number(minAmount) && amount <= Number(maxAmount)
}
