import { expect } from 'chai'

import { spend } from '../../../../src/store/orders/spending.ts'
import { startAdminApi, type AdminApi } from '../../../fixtures/api/admin-api.ts'

type Row = Record<string, unknown>

const UNIT = 10n ** 18n

describe('the limits that administrators set', () => {
  let admin: AdminApi

  beforeEach(async () => {
    admin = await startAdminApi()
  })
  afterEach(() => admin.api.close())

  const list = async (query = '') => {
    const { status, body, text } = await admin.send({ url: `/api/admin/limits${query}` })
    expect(status, text).to.equal(200)
    return body as { limits: Row[]; changes: Row[]; next_after: string | null }
  }
  const limitOf = async (way: string, currency: string, query = '') =>
    (await list(query)).limits.find((row) => row['way'] === way && row['currency'] === currency)
  const post = (body: unknown, as?: string) =>
    admin.send({ method: 'POST', url: '/api/admin/limits', body }, as)
  const set = async (body: Row) => {
    const { status, body: answer } = await post({ way: 'chain', currency: 'ETH', ...body })
    expect(status, JSON.stringify(answer)).to.equal(200)
    return answer
  }

  it('are refused to everybody else', async () => {
    expect((await admin.send({ url: '/api/admin/limits' }, 'alice')).status).to.equal(403)
    const refused = await post({ way: 'chain', currency: 'ETH', per_day: '1' }, 'alice')
    expect(refused.status).to.equal(403)
    expect((await list()).changes).to.deep.equal([])
  })

  it('are the defaults for every way out until something is set', async () => {
    const { limits, changes, next_after } = await list()
    expect([changes, next_after]).to.deep.equal([[], null])
    expect(limits.map(({ way, currency }) => `${String(way)} ${String(currency)}`)).to.deep.equal([
      'chain ETH',
      'chain USD',
      'mint USD',
      'withdrawal USD',
      'wire USD',
      'transfer USD',
      'refund USD',
      'refund EUR',
      'refund GBP',
      'refund ETH',
    ])
    const none = { user_id: null, per_payee: null, used_today: null }
    const ether = { ...none, per_transaction: '1000', per_day: '10000' }
    const money = { ...none, per_transaction: '10000000', per_day: '100000000' }
    for (const { way, currency, ...row } of limits) {
      expect(row, String(way)).to.deep.equal(currency === 'ETH' ? ether : money)
    }
  })

  it('hold for everybody, or for one user before that, each by itself', async () => {
    const { id } = admin.alice
    const query = `?user_id=${id}`
    await set({ per_day: '50', per_payee: '0.000000000000000001' })
    const own = await set({ user_id: id, per_transaction: '60.5' })
    expect(own).to.deep.equal({
      success: true,
      way: 'chain',
      currency: 'ETH',
      user_id: id,
      per_transaction: '60.5',
      per_day: '50',
      per_payee: '0.000000000000000001',
      used_today: '0',
    })
    expect(await limitOf('chain', 'ETH')).to.include({ per_transaction: '1000', per_day: '50' })
    expect(await set({ user_id: id, per_transaction: null })).to.include({
      per_transaction: '1000',
    })
    expect(await set({ per_day: null, per_payee: null })).to.include({ per_day: '10000' })
    expect(await set({ user_id: id, per_day: '0' })).to.include({ per_day: '0' })
    expect(await limitOf('chain', 'ETH', query)).to.include({ per_day: '0', per_payee: null })
    expect(await limitOf('refund', 'ETH', query)).to.include({ per_day: '10000' })
  })

  it('are shown beside what is used today, and no other day', async () => {
    const { db, alice, clock } = admin
    const kind = { spender: `user:${alice.id}`, way: 'wire', currency: 'USD' } as const
    const payment = { ...kind, payee: undefined, amount: (5n * UNIT) / 4n }
    await spend(db, { ...payment, now: clock.now() })
    const query = `?user_id=${alice.id}`
    expect(await limitOf('wire', 'USD', query)).to.include({ used_today: '1.25' })
    expect(await limitOf('mint', 'USD', query)).to.include({ used_today: '0' })
    clock.advance(24 * 3_600_000)
    expect(await limitOf('wire', 'USD', query)).to.include({ used_today: '0' })
  })

  it('have a history of who has set what, newest first and page by page', async () => {
    const { id } = admin.alice
    await set({ per_day: '50' })
    await set({ user_id: id, per_transaction: '7' })
    await set({ user_id: id, per_transaction: null, per_day: '8' })
    const { changes } = await list()
    const by = { way: 'chain', currency: 'ETH', changed_by: `user:${admin.admin.id}` }
    const nothing = { per_transaction: null, per_day: null, per_payee: null }
    for (const [place, change] of [
      { user_id: id, ...nothing, per_day: '8' },
      { user_id: id, ...nothing, per_transaction: '7' },
      { user_id: null, ...nothing, per_day: '50' },
    ].entries()) {
      expect(changes[place]).to.include({ ...by, ...change })
    }
    expect((await list(`?user_id=${id}`)).changes).to.deep.equal(changes.slice(0, 2))
    const first = await list('?limit=2')
    expect(first.changes).to.deep.equal(changes.slice(0, 2))
    const rest = await list(`?limit=2&after=${first.next_after}`)
    expect(rest.changes).to.deep.equal(changes.slice(2))
    expect(rest.next_after).to.equal(null)
  })

  for (const [name, body] of [
    ['a way that there is not', { way: 'cash', currency: 'USD', per_day: '1' }],
    ['a currency that the way does not take', { way: 'mint', currency: 'ETH', per_day: '1' }],
    ['no currency of ours', { way: 'chain', currency: 'eth', per_day: '1' }],
    ['nothing to set', { way: 'chain', currency: 'ETH' }],
    ['a limit below nothing', { way: 'chain', currency: 'ETH', per_day: '-1' }],
    ['a limit that is no text', { way: 'chain', currency: 'ETH', per_day: 1 }],
    [
      'a limit that is too exact',
      { way: 'chain', currency: 'ETH', per_day: `0.${'1'.repeat(19)}` },
    ],
    ['a limit with an exponent', { way: 'chain', currency: 'ETH', per_day: '1e3' }],
    ['an address where money goes to a bank', { way: 'wire', currency: 'USD', per_payee: '1' }],
    ['a user whom there is not', { way: 'chain', currency: 'ETH', per_day: '1', user_id: 4040 }],
    ['a field that there is not', { way: 'chain', currency: 'ETH', per_day: '1', per_week: '1' }],
  ] as const) {
    it(`refuse ${name}, and stay`, async () => {
      expect((await post(body)).status).to.equal(400)
      expect((await list()).changes).to.deep.equal([])
    })
  }
})
