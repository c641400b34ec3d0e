import { expect } from 'chai'

import { RefusedError } from '../../../src/rails/own/ask-own.ts'
import type { OwnChargeView, OwnGateway } from '../../../src/rails/own/gateway.ts'
import { startGateways, type GatewayBench } from '../../fixtures/books/gateways.ts'
import { createTestClock } from '../../fixtures/clock.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

const PAYMENT = { gateway_id: 9, amount: 20, currency: 'USD', description: 'Two books' }
const OPEN: OwnChargeView = {
  status: 'pending',
  externalId: 'V1',
  url: 'https://vouchers.example/1',
  clientSecret: 'secret',
}

describe('your own gateway', () => {
  let bench: GatewayBench
  let asked: string[]
  let answers: Partial<OwnGateway>

  beforeEach(async () => {
    const { db } = await freshDatabase()
    asked = []
    answers = { create: async () => OPEN, read: async () => OPEN }
    const gateway: OwnGateway = {
      id: 9,
      kind: 'voucher',
      amounts: { USD: [100n, 5000n] },
      payer: {
        voucher_url: { of: 'url', description: 'Voucher.', example: 'https://a.example' },
        client_secret: { of: 'clientSecret', description: 'Voucher.', example: 'secret' },
      },
      create: async (charge, signal) => {
        asked.push(`create ${charge.transactionId} ${charge.amount} ${charge.currency}`)
        return answers.create!(charge, signal)
      },
      read: async (charge, signal) => {
        asked.push(`read ${charge.externalId}`)
        return answers.read!(charge, signal)
      },
      refund: async (charge, refund, signal) => {
        asked.push(`refund ${charge.externalId} ${refund.refundId} ${refund.amount}`)
        return answers.refund!(charge, refund, signal)
      },
      readDispute: (...of) => answers.readDispute!(...of),
      verify: (...of) => answers.verify!(...of),
    }
    bench = await startGateways({ db, clock: createTestClock(), own: [gateway] })
  })

  const create = (change: object = {}) =>
    bench.api.post('/api/payments', { ...PAYMENT, ...change }, { key: 'key-1' })
  const status = async ({ body }: { body: Record<string, unknown> }) =>
    (await bench.api.get(`/api/payments/${String(body['transaction_id'])}/status`)).body

  it('is in the list, with what it takes', async () => {
    const { body } = await bench.api.get('/api/gateways')
    expect(body['gateways']).to.deep.include({
      gateway_id: 9,
      kind: 'voucher',
      currencies: ['USD'],
    })
  })

  it('has the limits of its amounts', async () => {
    expect((await create({ amount: 0.99 })).body).to.include({ code: 'limit_exceeded' })
    expect((await create({ amount: 50.01 })).body).to.include({ code: 'limit_exceeded' })
    expect((await create({ currency: 'EUR' })).status).to.equal(400)
    expect(asked).to.deep.equal([])
  })

  it('says in the answer how the payer goes on, also when it is asked again', async () => {
    const made = await create()
    expect(made.body).to.include({ voucher_url: OPEN.url, client_secret: 'secret' })
    expect((await create()).body).to.deep.equal(made.body)
    expect(asked).to.deep.equal([`create ${String(made.body['transaction_id'])} 2000 USD`])
  })

  it('completes what it says has come', async () => {
    const made = await create()
    answers.read = async () => ({ ...OPEN, status: 'completed', gatewayStatus: 'REDEEMED' })
    await bench.pass(2)
    const { body } = made
    expect(asked.at(-1)).to.equal('read V1')
    expect(await status({ body })).to.include({ status: 'completed', gateway_status: 'REDEEMED' })
  })

  const unknown: ReadonlyArray<[string, OwnGateway['create']]> = [
    ['throws', () => Promise.reject(new Error('the line is cut'))],
    ['answers nothing', async () => undefined as never],
    ['gives no id', async () => ({ status: 'pending' }) as never],
    ['says a word of its own', async () => ({ ...OPEN, status: 'done' }) as never],
    ['sends the payer to a script', async () => ({ ...OPEN, url: 'javascript:alert(1)' })],
    ['gives a secret that is too long', async () => ({ ...OPEN, clientSecret: 's'.repeat(513) })],
  ]
  for (const [name, broken] of unknown) {
    it(`is asked again under the same key by the same request, where it ${name}`, async () => {
      answers.create = broken
      const first = await create()
      expect(first.status).to.be.oneOf([502, 504])
      answers.create = async () => OPEN
      const second = await create()
      expect(second.status).to.equal(201)
      const id = String(second.body['transaction_id'])
      expect(asked).to.deep.equal(Array.from({ length: 2 }, () => `create ${id} 2000 USD`))
    })
  }

  it('fails a payment that it refuses', async () => {
    answers.create = () => Promise.reject(new RefusedError('Out of stock'))
    expect((await create()).body).to.include({ code: 'upstream_failed' })
    await bench.pass()
    expect(asked).to.have.length(1)
  })

  it('is not believed when it gives one payment the id of another', async () => {
    const made = await create()
    answers.read = async () => ({ ...OPEN, externalId: 'V2', status: 'completed' })
    await bench.pass(2)
    expect(asked.at(-1)).to.equal('read V1')
    expect(await status(made)).to.include({ status: 'pending', gateway_reference: 'V1' })
  })

  it('returns money once for each refund, and is asked until it has', async () => {
    const made = await create()
    answers.read = async () => ({ ...OPEN, status: 'completed' })
    await bench.pass(2)
    const id = String(made.body['transaction_id'])
    answers.refund = () => Promise.reject(new Error('the line is cut'))
    const refund = await bench.api.post(`/api/payments/${id}/refund`, { amount: 5 })
    const wanted = `refund V1 ${String(refund.body['refund_id'])} 500`
    await bench.pass()
    answers.refund = async () => ({ state: 'completed' })
    await bench.pass()
    expect(asked.slice(-2)).to.deep.equal([wanted, wanted])
    expect(await status(made)).to.include({ status: 'completed', refunded_decimal: '5' })
  })

  it('is woken by its webhook, which is believed in nothing else', async () => {
    const made = await create()
    const webhook = { headers: {}, body: Buffer.from('news') }
    answers.verify = async ({ body }) =>
      String(body) === 'news' ? { externalId: 'V1' } : undefined
    expect(await bench.door.receive(9, { ...webhook, body: Buffer.from('forged') })).to.equal(
      'refused',
    )
    expect(await bench.door.receive(9, webhook)).to.equal('received')
    expect(await status(made)).to.include({ status: 'pending' })
    expect(asked).to.have.length(1)
    await bench.pass()
    expect(asked.at(-1)).to.equal('read V1')
  })

  it('says how a dispute stands that its webhook has named', async () => {
    const made = await create()
    const dispute = { status: 'lost', reason: 'fraud', amountMinor: 2000n, isClosed: true }
    answers.verify = async () => ({ externalId: 'V1', disputeId: 'D1' })
    answers.readDispute = async () => ({ ...dispute, amountMinor: 0n })
    await bench.door.receive(9, { headers: {}, body: Buffer.alloc(0) })
    await bench.pass()
    answers.readDispute = async () => dispute
    await bench.pass()
    const { disputes } = (await status(made)) as { disputes: { status: string }[] }
    expect(disputes.map(({ status }) => status)).to.deep.equal(['lost'])
  })
})
