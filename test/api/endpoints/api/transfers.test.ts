import { randomBytes } from 'node:crypto'

import { expect } from 'chai'

import { transferEndpoints } from '../../../../src/api/endpoints/api/transfers.ts'
import { systemClock } from '../../../../src/base/clock.ts'
import { moveByWire } from '../../../../src/ledger/wires.ts'
import { institutionsOf } from '../../../../src/rails/bank.ts'
import { moveTransferByWire } from '../../../../src/rails/wire-rail.ts'
import type { Db } from '../../../../src/store/database/database.ts'
import { post, readBalance } from '../../../../src/store/ledger/ledger.ts'
import { mainWallet, setCreditLine } from '../../../../src/store/ledger/wallets.ts'
import { findWire, type WireProgress } from '../../../../src/store/rails/wires.ts'
import { countRows, startRailsApi, type RailsApi } from '../../../fixtures/api/rails-api.ts'
import { NO_PARTIES } from '../../../fixtures/books/gateways.ts'
import { deposit, DOLLAR, ledgerOf } from '../../../fixtures/books/money.ts'
import { expectFailure } from '../../../fixtures/errors.ts'
import { freshDatabase } from '../../../fixtures/store/database.ts'

const BANK = { url: 'http://127.0.0.1:1', key: 'key', accountId: 'account_1' }

const TRANSFER = {
  institution_id: 1,
  amount: 125.5,
  currency: 'USD',
  description: 'Rent',
  recipient_info: { account_number: '987654321', routing_number: '101050001' },
}

describe('transfers to an institution', () => {
  let db: Db
  let api: RailsApi
  let kicks: number
  let wallet: bigint

  beforeEach(async () => {
    kicks = 0
    db = (await freshDatabase()).db
    const institutions = institutionsOf({ ...NO_PARTIES, usual: { bank: BANK } })
    const kick = () => void (kicks += 1)
    const endpoints = transferEndpoints({
      institutions,
      randomBytes,
      clock: systemClock,
      kickWires: kick,
    })
    api = await startRailsApi(db, endpoints)
    wallet = (await mainWallet(db, api.alice.id)).id
    await deposit(db, wallet, 1_000n * DOLLAR)
  })

  const move = async (subject: unknown, state: WireProgress['state'], code?: string) =>
    db.transaction().execute(async (db) => {
      const moved = { subject: String(subject), state, reference: undefined, code }
      await moveTransferByWire(db, { purpose: 'transfer', ...moved })
      await moveByWire(ledgerOf(), db, { purpose: 'transfer', ...moved })
    })

  const statusOf = async (id: unknown) =>
    (await api.get(`/api/transfers/${String(id)}/status`)).body['status']

  it('answers at once that it is pending, and orders one wire', async () => {
    const { status, body } = await api.post('/api/transfers', TRANSFER, { key: 'one' })
    expect(status).to.equal(201)
    expect(body).to.include({ success: true, status: 'pending', currency: 'USD' })
    expect(body['transfer_id']).to.match(/^TRF\d{20}$/)
    expect(body['amount_decimal']).to.equal('125.5')
    const subject = String(body['transaction_id'])
    const wire = await findWire(db, { purpose: 'transfer', subject })
    expect(wire).to.include({ method: 'ach', amountMinor: 12_550n, state: 'ordered' })
    expect(wire?.beneficiary.routingNumber).to.equal('101050001')
    const again = await api.post('/api/transfers', TRANSFER, { key: 'one' })
    expect(again.body).to.deep.equal(body)
    expect(kicks).to.equal(1)
  })

  it('follows its wire through every state', async () => {
    const { body } = await api.post('/api/transfers', TRANSFER)
    const id = body['transaction_id']
    for (const [state, status] of [
      ['accepted', 'processing'],
      ['paid', 'completed'],
      ['returned', 'refunded'],
    ] as const) {
      await move(id, state)
      expect(await statusOf(id)).to.equal(status)
    }
  })

  it('fails where the bank refuses it, and where it comes back before it has arrived', async () => {
    for (const way of [['rejected'], ['accepted', 'rejected'], ['accepted', 'returned']] as const) {
      const { body } = await api.post('/api/transfers', TRANSFER)
      for (const state of way) await move(body['transaction_id'], state, 'no_account')
      expect(await statusOf(body['transaction_id']), way.join()).to.equal('failed')
    }
  })

  const balances = async () => {
    const [own, held] = [{ wallet }, { heldOf: wallet }]
    return [await readBalance(db, own), await readBalance(db, held)].map(
      (balance) => Number(balance) / Number(DOLLAR),
    )
  }

  it('holds its money until the bank has sent it', async () => {
    const { body } = await api.post('/api/transfers', TRANSFER)
    expect(await balances()).to.deep.equal([874.5, 125.5])
    await move(body['transaction_id'], 'accepted')
    expect(await balances()).to.deep.equal([874.5, 125.5])
    for (let times = 0; times < 2; times++) await move(body['transaction_id'], 'paid')
    expect(await balances()).to.deep.equal([874.5, 0])
    for (let times = 0; times < 2; times++) await move(body['transaction_id'], 'returned')
    expect(await balances()).to.deep.equal([1000, 0])
  })

  it('gives back what the bank refuses, once', async () => {
    const { body } = await api.post('/api/transfers', TRANSFER)
    for (let times = 0; times < 2; times++) await move(body['transaction_id'], 'rejected')
    expect(await balances()).to.deep.equal([1000, 0])
  })

  it('sends nothing that is not there, and stores nothing', async () => {
    const answer = await api.post('/api/transfers', { ...TRANSFER, amount: '1000.01' })
    expect(answer).to.deep.include({ status: 400 })
    expect(answer.body).to.include({ code: 'insufficient_funds' })
    expect(await rowsIn('transactions')).to.equal(0n)
    expect(await rowsIn('wires')).to.equal(0n)
    expect(await balances()).to.deep.equal([1000, 0])
  })

  it('sends no more than there is by twenty requests at once', async () => {
    const wanted = Array.from({ length: 20 }, async () =>
      api.post('/api/transfers', { ...TRANSFER, amount: 100 }),
    )
    const codes = (await Promise.all(wanted)).map(({ body }) => body['code'] ?? 'made')
    expect(codes.filter((code) => code === 'made')).to.have.length(10)
    expect(codes.filter((code) => code === 'insufficient_funds')).to.have.length(10)
    expect(await balances()).to.deep.equal([0, 1000])
  })

  it('takes of the credit line, which nothing else may', async () => {
    expect(await setCreditLine(db, { walletId: wallet, creditLine: 500n * DOLLAR })).to.equal(true)
    const { status } = await api.post('/api/transfers', { ...TRANSFER, amount: 1400 })
    expect(status).to.equal(201)
    expect(await balances()).to.deep.equal([-400, 1400])
    const beyond = await api.post('/api/transfers', { ...TRANSFER, amount: '100.01' })
    expect(beyond.body).to.include({ code: 'insufficient_funds' })
    const hold = { subject: 'a mint', from: { wallet }, to: { heldOf: wallet } } as const
    const minting = () => post(db, { ...hold, kind: 'hold', amount: 1n, currency: 'USD' })
    await expectFailure(minting, 'insufficient_funds')
    // It ends no lower than what was drawn.
    expect(await setCreditLine(db, { walletId: wallet, creditLine: 399n * DOLLAR })).to.equal(false)
    expect(await setCreditLine(db, { walletId: wallet, creditLine: 400n * DOLLAR })).to.equal(true)
    expect(await setCreditLine(db, { walletId: 1n, creditLine: 0n })).to.equal(undefined)
  })

  it('goes to the account on file where no recipient is named', async () => {
    const { recipient_info: _, ...rest } = TRANSFER
    const { status, body } = await api.post('/api/transfers', { ...rest, institution_id: 2 })
    expect(status).to.equal(201)
    const subject = String(body['transaction_id'])
    const wire = await findWire(db, { purpose: 'transfer', subject })
    expect(wire).to.include({ method: 'wire' })
    expect(wire?.beneficiary).to.include({ name: 'institution 2', accountNumber: undefined })
  })

  const recipient = (more: object) => ({
    recipient_info: { ...TRANSFER.recipient_info, ...more },
  })
  const bad: ReadonlyArray<[string, object, string, string]> = [
    ['an unknown institution', { institution_id: 9 }, 'institution_id', 'unknown_institution'],
    ['a currency it does not take', { currency: 'EUR' }, 'currency', 'currency_not_taken'],
    ['no currency at all', { currency: 'usd' }, 'currency', 'enum'],
    ['nothing', { amount: 0 }, 'amount', 'amount_not_positive'],
    ['half a cent', { amount: '1.005' }, 'amount', 'amount_too_precise'],
    ['too much', { amount: '1000000.01' }, 'amount', 'amount_out_of_range'],
    [
      'a routing number with a slip',
      recipient({ routing_number: '101050002' }),
      'recipient_info.routing_number',
      'routing_number_checksum',
    ],
    [
      'a routing number that is too short',
      recipient({ routing_number: '10105000' }),
      'recipient_info.routing_number',
      'pattern',
    ],
    [
      'an account number with a quote in it',
      recipient({ account_number: "1'2" }),
      'recipient_info.account_number',
      'pattern',
    ],
    ['an unknown field', recipient({ iban: 'x' }), 'recipient_info.iban', 'unknown_field'],
    ['an empty description', { description: '' }, 'description', 'minLength'],
  ]
  for (const [name, change, field, code] of bad) {
    it(`refuses ${name}, and stores nothing`, async () => {
      const { status, body } = await api.post('/api/transfers', { ...TRANSFER, ...change })
      expect(status).to.equal(400)
      const [detail] = body['details'] as Array<Record<string, unknown>>
      expect(detail).to.include({ field, code })
      expect(await rowsIn('transactions')).to.equal(0n)
      expect(await rowsIn('wires')).to.equal(0n)
    })
  }

  const rowsIn = async (table: 'transactions' | 'wires') => countRows(db, table)

  it('shows a transfer to its owner alone, and no other transaction as one', async () => {
    const { body } = await api.post('/api/transfers', TRANSFER)
    const url = `/api/transfers/${String(body['transaction_id'])}/status`
    expect((await api.get(url, api.bob)).status).to.equal(404)
    expect((await api.get('/api/transfers/TX00000000000000000000/status')).status).to.equal(404)
  })

  it('lists the institutions, and none where there is no bank', async () => {
    const { body } = await api.get('/api/institutions')
    expect(body['institutions']).to.deep.equal([
      { institution_id: 1, kind: 'ach', currencies: ['USD'] },
      { institution_id: 2, kind: 'wire', currencies: ['USD'] },
    ])
    expect(institutionsOf(NO_PARTIES)).to.deep.equal([])
  })
})
