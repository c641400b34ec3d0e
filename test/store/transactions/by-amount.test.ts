import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import * as fc from 'fast-check'
import { sql } from 'kysely'

import { createId } from '../../../src/domain/ids.ts'
import {
  countByAmount,
  listByAmount,
  type AmountOrder,
  type AmountPlace,
  type PricedFilter,
} from '../../../src/store/transactions/by-amount.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { recordTransactions } from '../../../src/store/transactions/transactions.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { insertManyTransactions } from '../../fixtures/store/many-transactions.ts'
import { rowsRead } from '../../fixtures/store/rows-read.ts'

const row = fc.record({
  isOther: fc.boolean(),
  currency: fc.constantFrom('USD', 'EUR'),
  // So few that many rows have the same.
  amount: fc.bigInt({ min: 1n, max: 4n }),
})

const wish = fc.record(
  { isMine: fc.boolean(), minAmount: fc.constant('0.02'), maxAmount: fc.constant('0.03') },
  { requiredKeys: [] },
)

const ORDERS: readonly AmountOrder[] = ['largest', 'smallest']

describe('listByAmount', () => {
  it('shows each row of the currency once, in the order of a plain sort', async () => {
    const rows = fc.array(row, { minLength: 5, maxLength: 20 })
    await fc.assert(fc.asyncProperty(rows, fc.array(wish, { maxLength: 5 }), compare), {
      numRuns: 10,
    })
  })

  it('stays within the bounds whatever the cursor says', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    await insertManyTransactions(db, { userId, count: 9 })
    const filter = { currency: 'USD', minAmount: '3', maxAmount: '7' }
    const pageOf = async (sort: AmountOrder, amount: string) => {
      const after = { amount, id: sort === 'largest' ? 10n ** 17n : 1n }
      const page = await listByAmount(db, filter, { sort, after, limit: 20 })
      return page.map(({ description }) => description)
    }
    const within = [3, 4, 5, 6].map((number) => `row ${number} of many`)
    expect(await pageOf('largest', '1000')).to.deep.equal(within.toReversed())
    expect(await pageOf('smallest', '0')).to.deep.equal(within)
  })

  it('reads a page off an index, however many there are and wherever it begins', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    await insertManyTransactions(db, { userId, count: 3000 })
    await sql`analyze`.execute(db)
    for (const filter of [{ currency: 'USD' }, { currency: 'USD', userId }]) {
      for (const sort of ORDERS) {
        const after = { amount: '1500', id: 1n }
        const page = { sort, after, limit: 20 }
        const read = await rowsRead(db, 'transaction_features', async (open) => {
          expect(await listByAmount(open, filter, page)).to.have.length(20)
        })
        expect(read, `${sort} of ${Object.keys(filter).join()}`).to.be.at.most(20)
      }
    }
  })
})

async function compare(
  rows: readonly { isOther: boolean; currency: string; amount: bigint }[],
  wishes: readonly { isMine?: boolean; minAmount?: string; maxAmount?: string }[],
): Promise<void> {
  const { db } = await freshDatabase()
  const [mine, other] = [await makeUser(db), await makeUser(db)]
  const made = await recordTransactions(
    db,
    rows.map(({ isOther, currency, amount }) => ({
      transactionId: createId('TX', randomBytes),
      userId: isOther ? other.id : mine.id,
      type: 'payment' as const,
      amount,
      currency,
      description: 'made by a test',
      actor: 'test',
      reason: 'made by a test',
    })),
  )
  for (const { isMine, ...bounds } of [{}, ...wishes]) {
    const filter = { currency: 'USD', ...bounds, ...(isMine === true && { userId: mine.id }) }
    const expected = made
      .filter(({ currency, userId }) => currency === 'USD' && !(isMine && userId !== mine.id))
      .filter(({ amount }) => amount >= (bounds.minAmount ? 2n : 0n))
      .filter(({ amount }) => amount <= (bounds.maxAmount ? 3n : 4n))
      .toSorted((a, b) => Number(a.amount - b.amount || a.id - b.id))
      .map(({ id }) => id)
    expect(await allOf(db, filter, 'smallest')).to.deep.equal(expected)
    expect(await allOf(db, filter, 'largest')).to.deep.equal(expected.toReversed())
    expect(await countByAmount(db, filter, 1000)).to.equal(expected.length)
  }
}

async function allOf(db: Db, filter: PricedFilter, sort: AmountOrder): Promise<bigint[]> {
  const found: bigint[] = []
  let after: AmountPlace | undefined
  do {
    const page = await listByAmount(db, filter, { sort, after, limit: 3 })
    found.push(...page.map(({ id }) => id))
    const last = page.length === 3 ? page.at(-1) : undefined
    after = last && { amount: `0.0${last.amount}`, id: last.id }
  } while (after)
  return found
}
