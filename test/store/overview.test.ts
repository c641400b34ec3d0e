import { expect } from 'chai'
import { sql } from 'kysely'

import type { Db } from '../../src/store/database.ts'
import { keepSpans, readOverview } from '../../src/store/overview.ts'
import { makeUser } from '../support/access.ts'
import { freshDatabase } from '../support/database.ts'
import { rowsRead } from '../support/rows-read.ts'

const CHAIN_ID = 1
const NOW = new Date('2026-03-01T12:01:00Z')
const MINUTE_MS = 60_000
const SIGNER = `0x${'aa'.repeat(20)}`

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
    await pay(400, { count: 2_000 })
    await pay(3)
    expect(await rowsRead(db, 'orders', totals)).to.be.at.least(2_001)
    await keepSpans(db, { chainId: CHAIN_ID, now: NOW })
    expect(await rowsRead(db, 'orders', totals)).to.be.at.most(2)
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
    await unchecked(async (open) => {
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

  /** What else stands behind an order is nothing to the totals. */
  const unchecked = <T>(work: (open: Db) => Promise<T>): Promise<T> =>
    db.transaction().execute(async (open) => {
      await sql`set local session_replication_role = replica`.execute(open)
      return work(open)
    })

  type Fate = { isSettled?: boolean; status?: string; state?: string; count?: number }

  /** Orders of five wei that were accepted so many minutes ago. */
  const pay = (minutes: number, fate: Fate = {}): Promise<void> =>
    unchecked(async (open) => {
      const { isSettled = true, status = 'completed', state = 'completed', count = 1 } = fate
      const acceptedAt = new Date(NOW.getTime() - minutes * MINUTE_MS)
      const { rows } = await sql<{ id: bigint }>`
        insert into orders (subject, spender, chain_id, signer, reference, counter, route, payee,
          amount, gas, state, error_code, accepted_at, updated_at)
        select 'TX' || lpad(number::text, 20, '0'), 'user:1', ${CHAIN_ID}, ${SIGNER},
          '0x' || lpad(number::text, 64, '0'), number, 'direct', ${`0x${'bb'.repeat(20)}`}, 5,
          21000, ${state}, ${state === 'failed' ? 'reverted' : null}, ${acceptedAt}, ${acceptedAt}
        from (select count(*) as stored from orders) as before,
          generate_series(stored + 1, stored + ${count}) as number
        returning id`.execute(open)
      const ids = sql`select unnest(${rows.map(({ id }) => String(id))}::bigint[])`
      await sql`
        insert into transactions (transaction_id, user_id, type, status, amount, currency,
          description, eth_transaction_hash, log_key)
        select subject, ${userId}, 'settlement', ${status}, 0.000000000000000005, 'ETH',
          'one of many', reference, 0
        from orders where id in (${ids})`.execute(open)
      if (!isSettled) return
      await sql`
        insert into attempts (chain_id, signer, nonce, order_id, kind, hash, raw, gas,
          max_fee_per_gas, max_priority_fee_per_gas, state, block_number, block_hash, succeeded,
          gas_used, gas_price, signed_at)
        select ${CHAIN_ID}, ${SIGNER}, id, id, 'payment', reference, '0x02', 21000, 1, 1, 'final',
          1, reference, true, 21000, 1, now()
        from orders where id in (${ids})`.execute(open)
    })
})
