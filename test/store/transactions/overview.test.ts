import { expect } from 'chai'
import { sql } from 'kysely'

import type { Db } from '../../../src/store/database/database.ts'
import { keepSpans, readOverview } from '../../../src/store/transactions/overview.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { ownDatabase, freshDatabase } from '../../fixtures/store/database.ts'
import { storePaidOrders, unchecked, type PaidOrders } from '../../fixtures/store/paid-orders.ts'
import { rowsRead } from '../../fixtures/store/rows-read.ts'

const CHAIN_ID = 1
const NOW = new Date('2026-03-01T12:01:00Z')
const MINUTE_MS = 60_000
const PARTIES = {
  chainId: CHAIN_ID,
  signer: `0x${'aa'.repeat(20)}`,
  payee: `0x${'bb'.repeat(20)}`,
} as const

describe('the totals of the last day', () => {
  let db: Db
  let userId: number

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    ;({ id: userId } = await makeUser(db))
  })

  it('are the same whether spans of it are kept or not', async () => {
    for (const minutes of [1, 8, 20, 400, 400, 1439, 1450]) await pay(minutes)
    await pay(30, { isSettled: false, status: 'failed', state: 'failed' })
    const before = await totals()
    expect(before).to.deep.equal({
      claimed: { count: 6, amountWei: 30n },
      settled: { count: 6, amountWei: 30n },
    })
    await keepSpans(db, { chainId: CHAIN_ID, now: NOW })
    expect(await totals()).to.deep.equal(before)
  })

  it('are not read again from orders that are long decided', async () => {
    // The shared one has statistics of earlier tests, by which it may read a table from its start.
    const own = await ownDatabase()
    ;({ db } = own)
    ;({ id: userId } = await makeUser(db))
    await pay(400, { count: 2_000 })
    await pay(3)
    const first = await rowsRead(db, 'orders', totals)
    await keepSpans(db, { chainId: CHAIN_ID, now: NOW })
    const second = await rowsRead(db, 'orders', totals)
    await own.close()
    expect(first).to.be.at.least(2_001)
    expect(second).to.be.at.most(2)
  })

  it('tell what is claimed and not settled, however old it is', async () => {
    await pay(300, { isSettled: false })
    await keepSpans(db, { chainId: CHAIN_ID, now: NOW })
    const { claimed, settled } = await totals()
    expect([claimed.count, settled.count]).to.deep.equal([1, 0])
  })

  it('wait for what is open, and for what is stored late', async () => {
    await pay(300, { isSettled: false, status: 'processing', state: 'mined' })
    await keepSpans(db, { chainId: CHAIN_ID, now: NOW })
    await pay(5)
    await unchecked(db, async (open) => {
      await sql`update orders set state = 'completed'`.execute(open)
      await sql`update transactions set status = 'completed'`.execute(open)
    })
    const { claimed } = await totals()
    expect(claimed.count).to.equal(2)
  })

  const totals = async (open = db) => {
    const { claimed, settled } = await readOverview(open, { chainId: CHAIN_ID, now: NOW })
    return { claimed, settled }
  }

  type Fate = Pick<PaidOrders, 'state' | 'isSettled'> & { status?: string; count?: number }

  /** Orders that were accepted so many minutes ago, and the transactions that tell of them. */
  const pay = async (minutes: number, fate: Fate = {}): Promise<void> => {
    const { status = 'completed', count = 1, ...rest } = fate
    const acceptedAt = new Date(NOW.getTime() - minutes * MINUTE_MS)
    const subjects = await storePaidOrders(db, { ...PARTIES, ...rest, count, acceptedAt })
    await sql`
      insert into transactions (transaction_id, user_id, type, status, amount, currency,
        description, eth_transaction_hash, log_key)
      select subject, ${userId}, 'settlement', ${status}, 0.000000000000000005, 'ETH',
        'one of many', reference, 0
      from orders where subject = any(${subjects})`.execute(db)
  }
})
