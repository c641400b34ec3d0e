import { randomBytes } from 'node:crypto'

import { expect } from 'chai'

import { createIdempotently } from '../../../../src/api/admission/idempotently.ts'
import { batchEndpoints } from '../../../../src/api/endpoints/api/blockchain/batches.ts'
import { blockchainCreateEndpoint } from '../../../../src/api/endpoints/api/blockchain/transactions.ts'
import { eventListEndpoint } from '../../../../src/api/endpoints/api/events.ts'
import { transactionDetailEndpoint } from '../../../../src/api/endpoints/api/transactions/detail.ts'
import { transactionListEndpoint } from '../../../../src/api/endpoints/api/transactions/list.ts'
import { recordMoves } from '../../../../src/sender/record.ts'
import type { Sender } from '../../../../src/sender/sender.ts'
import { addressFrom } from '../../../engines/sim/world.ts'
import { callerOf, makeUser } from '../../../fixtures/api/access.ts'
import { startApi, type Api, type ApiAnswer } from '../../../fixtures/api/api.ts'
import { paymentsOf } from '../../../fixtures/books/payments.ts'
import { createBench, reverting, type Bench } from '../../../fixtures/books/sender-bench.ts'
import { limit } from '../../../fixtures/store/limits.ts'
import { oneChain } from '../../../fixtures/api/chains.ts'

type Item = Record<string, unknown>

describe('batches of payments', () => {
  let bench: Bench
  let sender: Sender
  let api: Api
  let batches = 0

  beforeEach(async () => {
    batches++
    bench = await createBench()
    const { db } = bench
    sender = bench.sender({ onMoved: recordMoves })
    await limit(db, { perTransaction: 100n * 10n ** 18n })
    const user = await makeUser(db)
    const payments = paymentsOf(bench, sender, () => Promise.resolve(bench.signers.addresses[0]!))
    api = await startApi({
      endpoints: [
        ...batchEndpoints({ chains: oneChain({ payments }), randomBytes }),
        blockchainCreateEndpoint({ chains: oneChain({ payments }), randomBytes }),
        transactionDetailEndpoint,
        transactionListEndpoint({ chains: oneChain({}) }),
        eventListEndpoint,
      ],
      hooks: {
        db,
        authenticate: () => Promise.resolve(callerOf(user)),
        idempotently: createIdempotently({ db }),
      },
    })
  })
  afterEach(() => api.close())
  after(() => bench.stop())

  const payeeOf = (place: number) => addressFrom(`batch ${batches} ${place}`)

  const itemsOf = (count: number, parts: (place: number) => Item = () => ({})): Item[] =>
    Array.from({ length: count }, (_, place) => {
      return { to_address: payeeOf(place), amount: '0.01', ...parts(place) }
    })

  const send = (body: Item, headers = {}): Promise<ApiAnswer> =>
    api.send({ method: 'POST', url: '/api/blockchain/batches', headers, body })

  const read = async (url: string) => (await api.send({ url })).body

  const finish = async () => {
    for (let round = 0; round < 20 && !(await bench.isEmpty()); round++) {
      await bench.pass(sender)
      await bench.world.mine(1)
    }
  }

  const problemsOf = ({ body }: ApiAnswer) =>
    (body['details'] as { field: string; code: string }[]).map(({ field, code }) => [field, code])

  it('pays each item as a transaction of its own, and tells when all are final', async () => {
    const items = itemsOf(5, (place) => ({
      external_id: `invoice-${place}`,
      metadata: { order: String(place) },
      description: `Invoice ${place}`,
    }))
    const { status, body } = await send({ items })
    expect(status).to.equal(201)
    expect(body).to.deep.include({ status: 'pending', count: 5, amount_decimal: '0.05' })
    const ids = body['transactions'] as string[]
    expect(new Set(ids).size).to.equal(5)
    await finish()

    const url = `/api/blockchain/batches/${String(body['batch_id'])}`
    const batch = await read(url)
    expect(batch['status']).to.equal('completed')
    expect(batch['completed_at']).to.be.a('string')
    expect((batch['sums'] as Item)['completed']).to.deep.include({
      count: 5,
      amount_decimal: '0.05',
    })
    const shown = batch['items'] as Item[]
    expect(shown.map((item) => item['transaction_id'])).to.deep.equal(ids)
    expect(new Set(shown.map((item) => item['reference'])).size).to.equal(5)
    expect(new Set(shown.map((item) => item['eth_transaction_hash'])).size).to.equal(1)
    for (let place = 0; place < 5; place++) {
      expect(await bench.world.balanceOf(payeeOf(place))).to.equal(10n ** 16n)
    }

    const detail = await read(`/api/transactions/${ids[3]}`)
    expect(detail).to.deep.include({
      status: 'completed',
      description: 'Invoice 3',
      external_id: 'invoice-3',
      batch_id: body['batch_id'],
      metadata: { order: '3' },
    })
    const { reference, attempts } = detail['blockchain_transaction'] as Item
    expect(reference).to.equal(shown[3]!['reference'])
    expect(attempts).to.have.length(1)
    const events = (await read('/api/events'))['events'] as Item[]
    expect(events.at(-1)).to.deep.include({
      type: 'batch.completed',
      batch_id: body['batch_id'],
      transaction_id: null,
      reason: '5 of 5 paid',
    })
  })

  it('is found by external_id and by batch, and shows its items page by page', async () => {
    const { body } = await send({ items: itemsOf(7, (place) => ({ external_id: `x${place}` })) })
    const found = await read('/api/transactions?external_id=x4')
    expect(found['total']).to.equal(1)
    expect((found['transactions'] as Item[])[0]).to.include({ external_id: 'x4' })
    const all = await read(`/api/transactions?batch_id=${String(body['batch_id'])}&limit=3`)
    expect(all['total']).to.equal(7)
    const url = `/api/blockchain/batches/${String(body['batch_id'])}`
    const first = await read(`${url}?limit=4`)
    expect(first['next_from']).to.equal(4)
    const second = await read(`${url}?from=4&limit=4`)
    expect((second['items'] as Item[]).map(({ index }) => index)).to.deep.equal([4, 5, 6])
    expect(second['next_from']).to.equal(null)
    const list = await read('/api/blockchain/batches')
    expect((list['batches'] as Item[]).map(({ batch_id: id }) => id)).to.deep.equal([
      body['batch_id'],
    ])
  })

  it('fails one item alone where each is paid by itself', async () => {
    await reverting(bench.world, payeeOf(1))
    const { body } = await send({ on_failure: 'each', items: itemsOf(3) })
    await finish()
    const batch = await read(`/api/blockchain/batches/${String(body['batch_id'])}`)
    expect(batch['status']).to.equal('partly_completed')
    const items = batch['items'] as Item[]
    const reasons = items.map((item) => item['error_reason'])
    expect(reasons).to.deep.equal([null, 'The payee refuses it.', null])
    expect(items.map(({ status, error_code: code }) => [status, code])).to.deep.equal([
      ['completed', null],
      ['failed', 'payee_refused'],
      ['completed', null],
    ])
    const events = (await read('/api/events'))['events'] as Item[]
    expect(events.at(-1)).to.include({ type: 'batch.partly_completed', reason: '2 of 3 paid' })
  })

  it('refuses all where one would fail, and stores nothing', async () => {
    await reverting(bench.world, payeeOf(1))
    const { status, body } = await send({ items: itemsOf(3) })
    expect([status, body['code']]).to.deep.equal([400, 'payment_would_fail'])
    expect((await read('/api/blockchain/batches'))['batches']).to.deep.equal([])
    expect((await read('/api/transactions'))['total']).to.equal(0)
  })

  it('names every item that is wrong, at once', async () => {
    const zero = `0x${'0'.repeat(40)}`
    const answer = await send({ items: [...itemsOf(2), { to_address: zero, amount: '1' }] })
    expect(answer.status).to.equal(400)
    expect(problemsOf(answer)).to.deep.equal([['items.2.to_address', 'payee_is_zero']])
    const inDollars = await send({
      currency: 'USD',
      items: itemsOf(2, () => ({ amount: '0.001' })),
    })
    expect(problemsOf(inDollars)).to.deep.equal([
      ['items.0.amount', 'amount_too_precise'],
      ['items.1.amount', 'amount_too_precise'],
    ])
    const dust = await send({ items: itemsOf(2, (place) => ({ amount: place === 1 ? '0' : '1' })) })
    expect(problemsOf(dust)).to.deep.equal([['items.1.amount', 'amount_not_positive']])
    const none = await send({ items: [] })
    expect(problemsOf(none)[0]?.[0]).to.equal('items')
  })

  it('refuses 1,001 items, and stores none of them', async () => {
    const many = await send({ items: itemsOf(1_001) })
    expect(many.status).to.equal(400)
    expect(problemsOf(many)[0]?.[0]).to.equal('items')
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('pays an amount of dust to the last wei, and refuses what is less', async () => {
    const { status } = await send({ items: itemsOf(2, () => ({ amount: '0.000000000000000001' })) })
    expect(status).to.equal(201)
    await finish()
    for (const place of [0, 1]) {
      expect(await bench.world.balanceOf(payeeOf(place))).to.equal(1n)
    }
    const less = await send({ items: itemsOf(1, () => ({ amount: '0.0000000000000000001' })) })
    expect(less.status).to.equal(400)
    expect(problemsOf(less)).to.deep.equal([['items.0.amount', 'amount_not_decimal']])
  })

  it('pays an external_id once, also where it comes again with another body', async () => {
    const item = { ...itemsOf(1)[0], external_id: 'invoice-9' }
    expect((await send({ items: [item] })).status).to.equal(201)
    for (const change of [{ amount: '0.02' }, { to_address: payeeOf(7) }, { description: 'b' }]) {
      const again = await send({ items: [{ ...item, ...change }] })
      expect(again.status).to.equal(409)
      expect(problemsOf(again)).to.deep.equal([['items.0.external_id', 'external_id_used']])
    }
    await finish()
    expect(await bench.world.balanceOf(payeeOf(0))).to.equal(10n ** 16n)
    expect(await bench.world.balanceOf(payeeOf(7))).to.equal(0n)
  })

  it('is paid once where a reorg takes its block in the middle', async () => {
    const { body } = await send({ on_failure: 'each', items: itemsOf(3) })
    await bench.pass(sender)
    await bench.world.mine(1)
    await bench.pass(sender)
    await bench.world.rpc('anvil_reorg', [1, []])
    await finish()
    const batch = await read(`/api/blockchain/batches/${String(body['batch_id'])}`)
    expect(batch['status']).to.equal('completed')
    for (const place of [0, 1, 2]) {
      expect(await bench.world.balanceOf(payeeOf(place))).to.equal(10n ** 16n)
    }
  })

  it('pays an external_id at most once, whoever asks first', async () => {
    const twice = await send({ items: itemsOf(2, () => ({ external_id: 'same' })) })
    expect(twice.status).to.equal(400)
    expect(problemsOf(twice)).to.deep.equal([['items.1.external_id', 'repeated']])
    const { body } = await send({
      items: itemsOf(2, (place) => ({ external_id: `once-${place}` })),
    })
    const again = await send({ items: itemsOf(3, (place) => ({ external_id: `once-${place}` })) })
    expect([again.status, again.body['code']]).to.deep.equal([409, 'conflict'])
    expect(problemsOf(again)).to.deep.equal([
      ['items.0.external_id', 'external_id_used'],
      ['items.1.external_id', 'external_id_used'],
    ])
    expect(again.text).to.contain((body['transactions'] as string[])[0])
    const single = await api.send({
      method: 'POST',
      url: '/api/blockchain/transactions',
      body: { to_address: payeeOf(9), amount: '1', description: 'once', external_id: 'once-1' },
    })
    expect(single.status).to.equal(409)
    expect((await read('/api/transactions'))['total']).to.equal(2)
  })

  it('pays an external_id once where two ask at one time', async () => {
    const asking = Array.from({ length: 4 }, () =>
      send({ items: itemsOf(2, (place) => ({ external_id: `race-${place}` })) }),
    )
    const statuses = (await Promise.all(asking)).map(({ status }) => status)
    expect(statuses.toSorted((a, b) => a - b)).to.deep.equal([201, 409, 409, 409])
    expect((await read('/api/transactions'))['total']).to.equal(2)
  })

  it('tells what a batch would cost, and pays nothing', async () => {
    const contract = payeeOf(1)
    // STOP
    await bench.world.rpc('anvil_setCode', [contract, '0x00'])
    const body = { on_failure: 'each', items: itemsOf(3) }
    const answer = await api.send({
      method: 'POST',
      url: '/api/blockchain/batches/estimate',
      body,
    })
    expect(answer.status).to.equal(200)
    expect(answer.body).to.deep.include({ count: 3, chain_transactions: 1, contracts: [1] })
    expect((await read('/api/transactions'))['total']).to.equal(0)
    const before = await bench.world.balanceOf(bench.signers.addresses[0]!)
    await send(body)
    await finish()
    const spent = before - (await bench.world.balanceOf(bench.signers.addresses[0]!))
    const fee = spent - 3n * 10n ** 16n
    expect(fee > 0n && fee <= BigInt(String(answer.body['fee_wei']))).to.equal(true)
  })

  it('pays once for one idempotency key', async () => {
    const headers = { 'idempotency-key': 'one-batch' }
    const first = await send({ items: itemsOf(2) }, headers)
    const second = await send({ items: itemsOf(2) }, headers)
    expect(second.body['batch_id']).to.equal(first.body['batch_id'])
    expect((await read('/api/transactions'))['total']).to.equal(2)
  })

  it('is refused as a whole where the funds do not reach', async () => {
    const answer = await send({ items: itemsOf(30, () => ({ amount: '99' })) })
    expect([answer.status, answer.body['code']]).to.deep.equal([400, 'insufficient_funds'])
    expect((await read('/api/transactions'))['total']).to.equal(0)
  })

  it('takes a thousand payments in one request', async () => {
    const { status, body } = await send({
      on_failure: 'each',
      items: itemsOf(1_000, (place) => ({
        amount: '0.0001',
        description: 'x'.repeat(200),
        external_id: `t${place}`,
      })),
    })
    expect(status).to.equal(201)
    await finish()
    const batch = await read(`/api/blockchain/batches/${String(body['batch_id'])}`)
    expect(batch['status']).to.equal('completed')
  })
})
