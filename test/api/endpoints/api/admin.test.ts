import { expect } from 'chai'
import { sql } from 'kysely'

import { insertSample } from '../../../../src/store/transactions/overview.ts'
import { makeUser } from '../../../fixtures/api/access.ts'
import { startAdminApi, type AdminApi } from '../../../fixtures/api/admin-api.ts'
import { makeBatch } from '../../../fixtures/store/made-batch.ts'
import { makeTransaction } from '../../../fixtures/store/transactions.ts'

type Row = Record<string, unknown>

const rowsOf = (answer: { body: Row }, name = 'transactions') => answer.body[name] as Row[]

describe('what administrators see', () => {
  let admin: AdminApi

  beforeEach(async () => {
    admin = await startAdminApi()
  })

  afterEach(() => admin.api.close())

  const get = (url: string) => admin.send({ url })

  it('is refused to everybody else', async () => {
    for (const url of ['overview', 'samples', 'transactions', 'batches', 'users', 'keys']) {
      const answer = await admin.send({ url: `/api/admin/${url}` }, 'alice')
      expect(answer.status).to.equal(403)
    }
  })

  it('lists the transactions of all users, newest first, with their owners', async () => {
    const { db, alice } = admin
    const bob = await makeUser(db, { username: 'bob' })
    const first = await makeTransaction(db, { userId: alice.id })
    const second = await makeTransaction(db, { userId: bob.id, type: 'deposit', status: 'failed' })
    const all = await get('/api/admin/transactions')
    expect(rowsOf(all).map((row) => [row['transaction_id'], row['username']])).to.deep.equal([
      [second.transactionId, 'bob'],
      [first.transactionId, 'alice'],
    ])
    expect(all.body).to.include({ total: 2, next_cursor: null })
    for (const filter of ['type=deposit', 'status=failed', `user_id=${bob.id}`]) {
      const found = await get(`/api/admin/transactions?${filter}`)
      expect(rowsOf(found).map((row) => row['transaction_id'])).to.deep.equal([
        second.transactionId,
      ])
      expect(found.body['total']).to.equal(1)
    }
  })

  it('finds transactions of all users, or of one, by what they keep', async () => {
    const { db, alice } = admin
    const bob = await makeUser(db, { username: 'bob' })
    const common = { metadata: { order_id: '42' }, amount: 500n }
    const first = await makeTransaction(db, { userId: alice.id, externalId: 'one', ...common })
    const second = await makeTransaction(db, { userId: bob.id, externalId: 'one', ...common })
    const cases: Record<string, unknown[]> = {
      'metadata[order_id]=42': [second, first],
      'currency=USD': [second, first],
      'external_id=one': [second, first],
      [`external_id=one&user_id=${bob.id}`]: [second],
      [`metadata[order_id]=42&user_id=${alice.id}`]: [first],
      'currency=USD&min_amount=5&max_amount=5': [second, first],
      [`currency=USD&min_amount=5.01&user_id=${alice.id}`]: [],
      'metadata[order_id]=43': [],
    }
    for (const [query, expected] of Object.entries(cases)) {
      const { body } = await get(`/api/admin/transactions?${query}`)
      const ids = (expected as { transactionId: string }[]).map((one) => one.transactionId)
      expect(
        rowsOf({ body }).map((row) => row['transaction_id']),
        query,
      ).to.deep.equal(ids)
      expect(body).to.include({ total: ids.length, total_is_exact: true })
    }
    expect((await get('/api/admin/transactions?min_amount=5')).status).to.equal(400)
  })

  it('shows the batches of all users, with their payments', async () => {
    const { db, alice } = admin
    const { batchId, payments } = await makeBatch(db, alice.id)
    const list = await get('/api/admin/batches')
    expect(list.body['next_after']).to.equal(null)
    expect(rowsOf(list, 'batches')[0]).to.deep.include({ batch_id: batchId, username: 'alice' })
    expect(rowsOf(await get('/api/admin/batches?user_id=999'), 'batches')).to.deep.equal([])
    const one = await get(`/api/admin/batches/${batchId}`)
    expect(one.body).to.include({ username: 'alice', count: 2, amount_decimal: '2' })
    expect(rowsOf(one, 'items').map((item) => item['transaction_id'])).to.deep.equal(
      payments.map(({ transactionId }) => transactionId),
    )
    expect((await admin.send({ url: `/api/admin/batches/${batchId}` }, 'alice')).status).to.equal(
      403,
    )
    expect((await get('/api/admin/batches/BAT404')).status).to.equal(404)
  })

  it('leaves out none and shows none twice, though more are made between the pages', async () => {
    const { db, alice } = admin
    const made: string[] = []
    for (let count = 0; count < 7; count++) {
      made.unshift((await makeTransaction(db, { userId: alice.id })).transactionId)
    }
    const seen: unknown[] = []
    const totals: unknown[] = []
    let cursor = ''
    do {
      const page = await get(`/api/admin/transactions?limit=3${cursor}`)
      seen.push(...rowsOf(page).map((row) => row['transaction_id']))
      totals.push(page.body['total'])
      const { next_cursor: next } = page.body
      cursor = typeof next === 'string' ? `&cursor=${next}` : ''
      await makeTransaction(db, { userId: alice.id })
    } while (cursor !== '')
    expect(seen).to.deep.equal(made)
    // Counted once, on the first page.
    expect(totals).to.deep.equal([made.length, undefined, undefined])
  })

  it('lists the oldest first, page by page, and refuses that where it searches', async () => {
    const { db, alice } = admin
    const made: string[] = []
    for (let count = 0; count < 5; count++) {
      made.push((await makeTransaction(db, { userId: alice.id })).transactionId)
    }
    const seen: unknown[] = []
    let cursor = ''
    do {
      const page = await get(`/api/admin/transactions?sort=oldest&type=payment&limit=2${cursor}`)
      seen.push(...rowsOf(page).map((row) => row['transaction_id']))
      const { next_cursor: next } = page.body
      cursor = typeof next === 'string' ? `&cursor=${next}` : ''
    } while (cursor !== '')
    expect(seen).to.deep.equal(made)
    for (const query of ['sort=oldest&currency=USD', 'sort=amount', 'sort=largest']) {
      expect((await get(`/api/admin/transactions?${query}`)).status).to.equal(400)
    }
    expect((await get('/api/admin/transactions?sort=newest&currency=USD')).status).to.equal(200)
  })

  it('lists the largest amounts of a currency first, page by page, or the smallest', async () => {
    const { db, alice } = admin
    const made: string[] = []
    for (const amount of [500n, 20n, 500n, 1n, 300n]) {
      made.push((await makeTransaction(db, { userId: alice.id, amount })).transactionId)
    }
    const inOrder = [2, 0, 4, 1, 3].map((place) => made[place])
    const all = async (sort: string): Promise<unknown[]> => {
      const seen: unknown[] = []
      let cursor = ''
      do {
        const page = await get(`/api/admin/transactions?${sort}&currency=USD&limit=2${cursor}`)
        seen.push(...rowsOf(page).map((row) => row['transaction_id']))
        const { next_cursor: next } = page.body
        cursor = typeof next === 'string' ? `&cursor=${next}` : ''
      } while (cursor !== '')
      return seen
    }
    expect(await all('sort=largest')).to.deep.equal(inOrder)
    expect(await all(`sort=smallest&user_id=${alice.id}`)).to.deep.equal(inOrder.toReversed())
    const some = await get('/api/admin/transactions?sort=largest&currency=USD&max_amount=3')
    expect(some.body).to.include({ total: 3, total_is_exact: true, next_cursor: null })
    const refused = ['status=failed', 'start_date=2026-03-01', 'cursor=MTc0MTk0NDQxMzU4OSw0Mg']
    for (const query of refused) {
      const page = await get(`/api/admin/transactions?sort=largest&currency=USD&${query}`)
      expect(page.status, query).to.equal(400)
    }
  })

  it('refuses a cursor and days that cannot be', async () => {
    for (const query of ['cursor=abc', 'start_date=2026-02-30', 'user_id=x', 'user_id=0']) {
      expect((await get(`/api/admin/transactions?${query}`)).status).to.equal(400)
    }
    const turned = 'start_date=2026-03-02&end_date=2026-03-01'
    expect((await get(`/api/admin/transactions?${turned}`)).status).to.equal(400)
  })

  it('tells the life of a transaction of any user, with who moved it', async () => {
    const { db, alice } = admin
    const made = await makeTransaction(db, { userId: alice.id, status: 'completed' })
    const life = await get(`/api/admin/transactions/${made.transactionId}`)
    expect(life.body).to.include({ status: 'completed', username: 'alice', order: null })
    const moves = rowsOf(life, 'history').map(({ status, actor }) => [status, actor])
    expect(moves).to.deep.equal([
      ['pending', 'test'],
      ['processing', 'test'],
      ['completed', 'test'],
    ])
    expect((await get('/api/admin/transactions/TX404')).status).to.equal(404)
  })

  it('sums up an empty platform', async () => {
    const { body } = await get('/api/admin/overview')
    const nothing = { count: 0, amount_wei: '0', amount_decimal: '0' }
    expect(body).to.deep.include({ claimed: nothing, settled: nothing, alerts: [], head: null })
    expect(body['in_flight']).to.deep.include({ count: 0, oldest_seconds: 0 })
  })

  it('keeps one sample a minute, and thins out what a plot cannot show', async () => {
    const { db, clock } = admin
    const dollars = { openBreaks: 2, supply: 1_500_000n, liability: 1_500_000n }
    const facts = { claimedWei: 1n, settledWei: 1n, inFlight: 0, oldestSeconds: 0, ...dollars }
    await sql`
      insert into overview_samples
        (chain_id, at, claimed, settled, in_flight, oldest_seconds, providers_well)
      select 31337, now() - minute * interval '1 minute', 1, 1, 0, 0, 1
      from generate_series(1, 1000) as minute`.execute(db)
    for (const providersWell of [1, 2]) {
      await insertSample(db, { chainId: 31_337, at: clock.now(), ...facts, providersWell })
    }
    const recent = rowsOf(await get('/api/admin/samples?hours=1'), 'samples')
    expect(recent).to.have.length.within(59, 61)
    expect(recent.at(-1)).to.include({ providers_well: 1, open_breaks: 2, supply: '1.50' })
    expect(recent[0]).to.include({ open_breaks: null, supply: null, liability: null })
    const all = rowsOf(await get('/api/admin/samples?hours=24'), 'samples')
    expect(all).to.have.length.within(200, 300)
    expect(all.at(-1)?.['at']).to.equal(recent.at(-1)?.['at'])
  })
})
