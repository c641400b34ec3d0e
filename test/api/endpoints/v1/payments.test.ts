import { expect } from 'chai'

import { moveByWire } from '../../../../src/ledger/wires.ts'
import { readBalance } from '../../../../src/store/ledger/ledger.ts'
import type { WireProgress } from '../../../../src/store/rails/wires.ts'
import { findWire } from '../../../../src/store/rails/wires.ts'
import {
  DOLLAR,
  ledgerOf,
  listNotificationBodies,
  readLedger,
  startMoneyApi,
  type MoneyApi,
} from '../../../fixtures/books/money.ts'

describe('/v1/payments', () => {
  let money: MoneyApi

  beforeEach(async () => {
    money = await startMoneyApi()
  })
  afterEach(() => money.api.close())

  const REQUEST = {
    amount: '25.50',
    currency: 'USD',
    destination: { type: 'wire', name: 'Ada Lovelace', addressLine1: '12 St James Square' },
    metadata: { beneficiaryEmail: 'ada@example.com' },
  }
  const pay = async (change: Record<string, unknown> = {}) => {
    const { status, body } = await money.post('/v1/payments', { ...REQUEST, ...change })
    expect(status).to.equal(201)
    return body['data'] as { id: string }
  }
  const read = async (id: string) => (await money.get(`/v1/payments/${id}`)).body['data']
  const move = (id: string, state: WireProgress['state'], code?: string) =>
    money.db.transaction().execute((open) =>
      moveByWire(ledgerOf(), open, {
        purpose: 'payment',
        subject: id,
        state,
        reference: state === 'accepted' ? 'FED-7' : undefined,
        code,
      }),
    )

  it('hold nothing, and have nobody burn, where no bank could ever send the wire', async () => {
    await money.api.close()
    const stablecoin = { token: `0x${'5c'.repeat(20)}`, chainId: 1, profile: 'memo' } as const
    money = await startMoneyApi({ hasBank: false, ledger: ledgerOf({ stablecoin }) })
    const before = await money.balanceOf(money.main)
    const source = { type: 'blockchain', chain: 'ETH' }
    const redeem = { amount: '15', source, destination: { type: 'wire' } }
    const answers = [
      await money.post('/v1/payments', REQUEST),
      await money.post('/v1/transfers', redeem),
    ]
    for (const { status, body } of answers)
      expect([status, body['code']]).to.deep.equal([400, 2007])
    expect(await money.balanceOf(money.main)).to.equal(before)
    expect((await money.get('/v1/transfers')).body['data']).to.deep.equal([])
  })

  it('hold the money and order a wire', async () => {
    const made = await pay()
    expect(made).to.deep.include({
      type: 'payment',
      merchantId: String(money.alice.id),
      merchantWalletId: String(money.main),
      amount: '25.50',
      currency: 'USD',
      destination: REQUEST.destination,
      status: 'pending',
      fees: '0.00',
      trackingRef: null,
      errorCode: null,
      metadata: REQUEST.metadata,
    })
    expect(await read(made.id)).to.deep.equal(made)
    expect((await money.get('/v1/payments?status=pending')).body['data']).to.deep.equal([made])
    expect((await money.get('/v1/payments?status=paid')).body['data']).to.deep.equal([])
    expect(await money.balanceOf(money.main)).to.equal('74.50')
    expect(await listNotificationBodies(money.db)).to.deep.equal([made])
    const wire = await findWire(money.db, { purpose: 'payment', subject: made.id })
    expect(wire).to.deep.include({ amountMinor: 2550n, state: 'ordered', userId: money.alice.id })
    expect(wire?.beneficiary).to.include({ name: 'Ada Lovelace' })
  })

  it('answer in the dialect of the key', async () => {
    const { body } = await money.post('/v1/payments', REQUEST, 'alice nested')
    expect(body['data']).to.deep.include({
      amount: { amount: '25.50', currency: 'USD' },
      fees: { amount: '0.00', currency: 'USD' },
    })
  })

  it('are paid from the wallet that is named, by all that a wire can carry', async () => {
    const numbers = { accountNumber: '000123456789', routingNumber: '021000021', id: 'mine' }
    const destination = { ...REQUEST.destination, ...numbers }
    const source = { type: 'wallet', id: String(money.second) }
    const poor = await money.post('/v1/payments', { ...REQUEST, source })
    expect(poor.status).to.equal(400)
    expect(poor.body).to.include({ code: 1093 })
    const made = await pay({ destination, source: { ...source, id: String(money.main) } })
    expect(made).to.deep.include({ destination })
  })

  it('are confirmed, then paid, with one notification for each', async () => {
    const { id } = await pay()
    for (const state of ['accepted', 'accepted', 'paid', 'paid', 'accepted'] as const) {
      await move(id, state)
    }
    expect(await read(id)).to.include({ status: 'paid', trackingRef: 'FED-7', errorCode: null })
    const told = await listNotificationBodies(money.db)
    expect(told.map(({ status }) => status)).to.deep.equal(['pending', 'confirmed', 'paid'])
    expect(await money.balanceOf(money.main)).to.equal('74.50')
    expect(await readBalance(money.db, { heldOf: money.main })).to.equal(0n)
    // The bank owes what came in, less what it has sent.
    expect(await readBalance(money.db, { system: 'bank' })).to.equal((-745n * DOLLAR) / 10n)
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  })

  for (const [first, state, code, wanted] of [
    [undefined, 'rejected', 'unknown_bank', 'unknown_bank'],
    ['accepted', 'returned', 'ac01', 'ac01'],
    ['accepted', 'returned', undefined, 'payment_returned'],
  ] as const) {
    it(`give the money back once when the wire is ${state} (${wanted})`, async () => {
      const { id } = await pay()
      if (first) await move(id, first)
      for (let time = 0; time < 3; time++) await move(id, state, code)
      await move(id, 'paid')
      expect(await read(id)).to.include({ status: 'failed', errorCode: wanted })
      expect(await money.balanceOf(money.main)).to.equal('100.00')
      expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
    })
  }

  it('stay paid when the wire comes back after all, but the money is there again', async () => {
    const { id } = await pay()
    await move(id, 'accepted')
    await move(id, 'paid')
    for (let time = 0; time < 3; time++) await move(id, 'returned', 'ac04')
    expect(await read(id)).to.include({ status: 'paid', errorCode: 'ac04' })
    expect(await money.balanceOf(money.main)).to.equal('100.00')
    const told = await listNotificationBodies(money.db)
    expect(told.map(({ status, errorCode }) => [status, errorCode])).to.deep.equal([
      ['pending', null],
      ['confirmed', null],
      ['paid', null],
      ['paid', 'ac04'],
    ])
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  })

  it('store nothing where the money is not there', async () => {
    const { status, body } = await money.post('/v1/payments', { ...REQUEST, amount: '100.01' })
    expect(status).to.equal(400)
    expect(body).to.include({ code: 1093 })
    expect((await money.get('/v1/payments')).body['data']).to.deep.equal([])
    expect(await listNotificationBodies(money.db)).to.deep.equal([])
  })

  it('are not found by a word that is no id, and refused by what is no word', async () => {
    const unknown = { status: 404, code: 1051 }
    for (const [id, wanted] of [
      ['nope', unknown],
      ['00000000-0000-4000-8000-000000000000', unknown],
      ["x'--", { status: 400, code: 2 }],
    ] as const) {
      const { status, body } = await money.get(`/v1/payments/${id}`)
      expect({ status, code: body['code'] }, id).to.deep.equal(wanted)
    }
    expect((await money.get('/v1/wallets/abc')).body).to.include({ code: 1069 })
  })

  it('are not shown to anybody else', async () => {
    const { id } = await pay()
    const foreign = await money.get(`/v1/payments/${id}`, 'bob')
    expect(foreign.status).to.equal(404)
    expect(foreign.body).to.include({ code: 1051 })
    expect((await money.get('/v1/payments', 'bob')).body['data']).to.deep.equal([])
  })
})
