import { expect } from 'chai'

import {
  listNotificationBodies,
  readLedger,
  startMoneyApi,
  type MoneyApi,
} from '../../../fixtures/books/money.ts'

describe('/v1/transfers between wallets', () => {
  let money: MoneyApi

  beforeEach(async () => {
    money = await startMoneyApi()
  })
  afterEach(() => money.api.close())

  const bodyOf = (change: Record<string, unknown> = {}) => ({
    source: { type: 'wallet', id: String(money.main) },
    destination: { type: 'wallet', id: String(money.second) },
    amount: '12.34',
    ...change,
  })
  const send = (change: Record<string, unknown> = {}) => money.post('/v1/transfers', bodyOf(change))

  it('are complete at once, and shown by both wallets, the list and a notification', async () => {
    const { status, body } = await send({ amount: '12.340001' })
    expect(status).to.equal(201)
    const made = body['data'] as Record<string, unknown>
    expect(made).to.deep.include({
      source: { type: 'wallet', id: String(money.main) },
      destination: { type: 'wallet', id: String(money.second) },
      amount: '12.340001',
      currency: 'USD',
      status: 'complete',
      errorCode: null,
    })
    expect(made).not.to.have.any.keys('transactionHash', 'redemption')
    expect(await money.balanceOf(money.main)).to.equal('87.659999')
    expect(await money.balanceOf(money.second)).to.equal('12.340001')
    const { id } = made
    expect((await money.get(`/v1/transfers/${String(id)}`)).body['data']).to.deep.equal(made)
    expect((await money.get('/v1/transfers')).body['data']).to.deep.equal([made])
    expect(await listNotificationBodies(money.db)).to.deep.equal([made])
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  })

  it("take both forms of an amount under either dialect, and answer in the key's", async () => {
    const forms = [
      { amount: '1.00', currency: 'USD' },
      { amount: { amount: '1.00', currency: 'USD' } },
      { amount: { amount: '1.00' } },
      { amount: '1' },
    ]
    for (const form of forms) {
      const flat = (await send(form)).body['data']
      expect(flat).to.include({ amount: '1.00', currency: 'USD' })
      const nested = (await money.post('/v1/transfers', bodyOf(form), 'alice nested')).body['data']
      expect(nested).to.deep.include({ amount: { amount: '1.00', currency: 'USD' } })
      expect(nested).not.to.have.property('currency')
    }
  })

  it('happen once for an idempotency key, in the header or in the body', async () => {
    const url = '/v1/transfers'
    const first = await money.post(url, bodyOf({ idempotencyKey: 'one' }))
    const again = await money.post(url, bodyOf({ idempotencyKey: 'one' }))
    expect(again.body).to.deep.equal(first.body)
    expect(again.headers['idempotent-replayed']).to.equal('true')
    const headers = { 'x-api-key': 'alice', 'idempotency-key': 'one' }
    const byHeader = await money.api.send({ method: 'POST', url, body: bodyOf(), headers })
    expect(byHeader.text).to.equal(first.text)
    const other = await money.post(url, bodyOf({ idempotencyKey: 'one', amount: '1' }))
    expect(other.status).to.equal(409)
    expect(other.body).to.include({ code: 1083 })
    expect(await money.balanceOf(money.main)).to.equal('87.66')
  })

  it('never take more than there is, though 200 ask at once', async () => {
    const sent = Array.from({ length: 200 }, () => send({ amount: '1.01' }))
    const answers = await Promise.all(sent)
    expect(answers.filter(({ status }) => status === 201)).to.have.length(99)
    expect(answers.filter(({ status }) => status === 400)).to.have.length(101)
    expect(await money.balanceOf(money.main)).to.equal('0.01')
    expect(await money.balanceOf(money.second)).to.equal('99.99')
    expect(await listNotificationBodies(money.db)).to.have.length(99)
  })

  it('are listed newest first, by wallet and page by page', async () => {
    const ids: string[] = []
    for (const amount of ['1', '2', '3']) {
      ids.unshift(((await send({ amount })).body['data'] as { id: string }).id)
    }
    const list = async (query: string) =>
      ((await money.get(`/v1/transfers?${query}`)).body['data'] as { id: string }[]).map(
        ({ id }) => id,
      )
    expect(await list('')).to.deep.equal(ids)
    expect(await list('pageSize=2')).to.deep.equal(ids.slice(0, 2))
    expect(await list(`pageSize=2&pageAfter=${ids[1]}`)).to.deep.equal(ids.slice(2))
    expect(await list(`pageSize=1&pageBefore=${ids[2]}`)).to.deep.equal([ids[1]])
    expect(await list(`pageBefore=${ids[2]}`)).to.deep.equal(ids.slice(0, 2))
    expect(await list(`sourceWalletId=${money.main}`)).to.deep.equal(ids)
    expect(await list(`sourceWalletId=${money.second}`)).to.deep.equal([])
    expect(await list(`destinationWalletId=${money.second}`)).to.deep.equal(ids)
    expect(await list(`walletId=${money.second}&returnIdentities=true`)).to.deep.equal(ids)
    expect(await list('from=2000-01-01T00:00:00Z')).to.deep.equal(ids)
    expect(await list('from=1000-01-01T00:00:00%2B14:00&to=9999-12-31T23:59:59Z')).to.deep.equal(
      ids,
    )
    expect(await list('to=2000-01-01T00:00:00Z')).to.deep.equal([])
    const bad = [
      `pageAfter=${ids[0]}&pageBefore=${ids[1]}`,
      'pageAfter=00000000-0000-4000-8000-000000000000',
      'from=2020-01-02T00:00:00Z&to=2020-01-01T00:00:00Z',
      'from=yesterday',
      'from=2016-12-31T23:59:60Z',
      'from=2025-01-01T00:00:00Z%5BEurope/Paris%5D',
      'from=0000-01-01T00:00:00Z',
      'to=9999-12-31T23:59:59-01:00',
      'pageSize=0',
      'page=1',
    ]
    for (const query of bad) {
      expect((await money.get(`/v1/transfers?${query}`)).status, query).to.equal(400)
    }
  })

  it('are not shown to anybody else', async () => {
    const { id } = (await send()).body['data'] as { id: string }
    expect((await money.get(`/v1/transfers/${id}`, 'bob')).status).to.equal(404)
    expect((await money.get('/v1/transfers', 'bob')).body).to.deep.equal({ data: [] })
    const foreign = await money.get(`/v1/wallets/${money.main}`, 'bob')
    expect(foreign.status).to.equal(404)
    expect(foreign.body).to.include({ code: 1069 })
    const stolen = await money.post('/v1/transfers', bodyOf(), 'bob')
    expect(stolen.status).to.equal(404)
    expect(stolen.body).to.include({ code: 1089 })
  })
})

describe('/v1/wallets', () => {
  let money: MoneyApi

  beforeEach(async () => {
    money = await startMoneyApi()
  })
  afterEach(() => money.api.close())

  it('lists what is in each wallet, newest first', async () => {
    const { body } = await money.get('/v1/wallets')
    expect(body['data']).to.deep.equal([
      walletWith({ id: money.second, type: 'end_user_wallet', balance: '0.00' }),
      walletWith({ id: money.main, type: 'merchant', balance: '100.00' }),
    ])
    const page = await money.get(`/v1/wallets?pageAfter=${money.second}&pageSize=1`)
    expect(page.body['data']).to.have.length(1)
  })

  const walletWith = (wallet: { id: bigint; type: string; balance: string }) => ({
    walletId: String(wallet.id),
    entityId: String(money.alice.id),
    type: wallet.type,
    description: wallet.type === 'merchant' ? 'Main wallet' : 'Savings',
    currency: 'USD',
    balance: wallet.balance,
    balances: [{ amount: wallet.balance, currency: 'USD' }],
  })

  it('opens another one, once for an idempotency key', async () => {
    const request = { description: 'Payroll', idempotencyKey: 'opened' }
    const made = await money.post('/v1/wallets', request)
    expect(made.status).to.equal(201)
    expect(made.body['data']).to.include({ description: 'Payroll', balance: '0.00' })
    expect((await money.post('/v1/wallets', request)).text).to.equal(made.text)
    expect((await money.get('/v1/wallets')).body['data']).to.have.length(3)
  })

  it('names the main wallet in the configuration, and answers a ping of anybody', async () => {
    const { body } = await money.get('/v1/configuration')
    expect(body).to.deep.equal({ data: { payments: { masterWalletId: String(money.main) } } })
    expect((await money.api.send({ url: '/ping' })).body).to.deep.equal({ message: 'pong' })
  })
})
