import { randomBytes } from 'node:crypto'

import { expect } from 'chai'

import { createIdempotently } from '../../../../src/api/admission/idempotently.ts'
import { blockchainBalanceEndpoint } from '../../../../src/api/endpoints/api/blockchain/balance.ts'
import { blockchainCreateEndpoint } from '../../../../src/api/endpoints/api/blockchain/transactions.ts'
import { transactionDetailEndpoint } from '../../../../src/api/endpoints/api/transactions/detail.ts'
import { recordMoves } from '../../../../src/sender/record.ts'
import type { Sender } from '../../../../src/sender/sender.ts'
import { addressFrom } from '../../../engines/sim/world.ts'
import { callerOf, makeUser } from '../../../fixtures/api/access.ts'
import { startApi, type Api } from '../../../fixtures/api/api.ts'
import { paymentsOf } from '../../../fixtures/books/payments.ts'
import { createBench, reverting, type Bench } from '../../../fixtures/books/sender-bench.ts'
import { oneChain } from '../../../fixtures/api/chains.ts'

describe('/api/blockchain', () => {
  let bench: Bench
  let sender: Sender
  let api: Api

  beforeEach(async () => {
    bench = await createBench()
    const { db } = bench
    sender = bench.sender({ onMoved: recordMoves })
    const user = await makeUser(db)
    const payments = paymentsOf(bench, sender, () => Promise.resolve(bench.signers.addresses[0]!))
    api = await startApi({
      endpoints: [
        blockchainCreateEndpoint({ chains: oneChain({ payments }), randomBytes }),
        blockchainBalanceEndpoint({ chains: oneChain({ payments }) }),
        transactionDetailEndpoint,
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

  const send = (body: Record<string, unknown>, headers = {}) =>
    api.send({
      method: 'POST',
      url: '/api/blockchain/transactions',
      headers,
      body: { to_address: addressFrom('api'), amount: '0.5', description: 'invoice 1', ...body },
    })
  const detailOf = async (transactionId: unknown) =>
    (await api.send({ url: `/api/transactions/${String(transactionId)}` })).body

  for (const use_contract of [false, true]) {
    it(`pays ${use_contract ? 'through the contract' : 'directly'} and shows it`, async () => {
      const payee = addressFrom(`api ${use_contract}`)
      const { status, body } = await send({ to_address: payee, use_contract })
      expect(status).to.equal(201)
      expect(body).to.include({ success: true, status: 'pending', amount_decimal: '0.5' })
      expect(await detailOf(body['transaction_id'])).to.deep.include({
        status: 'pending',
        type: 'settlement',
        eth_transaction_hash: body['eth_transaction_hash'],
      })
      for (let pass = 0; pass < 6; pass++) {
        await bench.pass(sender)
        await bench.world.mine(1)
      }
      const detail = await detailOf(body['transaction_id'])
      expect(detail['status']).to.equal('completed')
      expect(detail['blockchain_transaction']).to.deep.include({
        status: 'confirmed',
        eth_tx_hash: body['eth_transaction_hash'],
        pending_reason: null,
        error_code: null,
      })
      const history = detail['history'] as { status: string }[]
      expect(history.map((move) => move.status)).to.deep.equal([
        'pending',
        'processing',
        'completed',
      ])
      expect(await bench.world.balanceOf(payee)).to.equal(5n * 10n ** 17n)
    })
  }

  it('tells why a transaction is pending, and what was signed for it', async () => {
    const { body } = await send({})
    const waiting = await detailOf(body['transaction_id'])
    expect(waiting['blockchain_transaction']).to.deep.include({
      status: 'pending',
      pending_reason: 'waiting_for_turn',
      block_number: null,
    })
    await bench.pass(sender)
    const sent = await detailOf(body['transaction_id'])
    const { pending_reason, attempts } = sent['blockchain_transaction'] as Record<string, unknown>
    expect(pending_reason).to.equal('waiting_for_block')
    expect(attempts).to.have.length(1)
  })

  it('pays once for one idempotency key', async () => {
    const payee = addressFrom('api once')
    const headers = { 'idempotency-key': 'one-and-only' }
    const first = await send({ to_address: payee }, headers)
    const second = await send({ to_address: payee }, headers)
    expect(second.body['transaction_id']).to.equal(first.body['transaction_id'])
    expect(second.headers['idempotent-replayed']).to.equal('true')
    await bench.pass(sender)
    expect(await bench.inPool()).to.equal(1)
  })

  it('pays many that come at one time, and refuses those among them that cannot be', async () => {
    const payees = Array.from({ length: 9 }, (_, place) => addressFrom(`api many ${place}`))
    // The signer holds 1,000: the first two of the large ones fit, and no third.
    const amounts = ['1', '400', '1', '400', '1', '400', '1', '1', '1']
    const answers = await Promise.all(
      payees.map((to_address, place) => send({ to_address, amount: amounts[place] })),
    )
    const refused = answers.filter(({ status }) => status !== 201)
    expect(refused.map(({ body }) => body['code'])).to.deep.equal(['insufficient_funds'])
    const hashes = answers.flatMap(({ body }) => body['eth_transaction_hash'] ?? [])
    expect(new Set(hashes).size).to.equal(8)
    for (let pass = 0; pass < 8; pass++) await bench.passAndMine()
    for (const [place, { status }] of answers.entries()) {
      const paid = status === 201 ? BigInt(amounts[place]!) * 10n ** 18n : 0n
      expect(await bench.world.balanceOf(payees[place]!)).to.equal(paid)
    }
    expect(await bench.world.nonceOf(bench.signers.addresses[0]!)).to.equal(8n)
  })

  it('pays once for each idempotency key of many that come at one time', async () => {
    const keys = Array.from({ length: 12 }, (_, place) => ({ 'idempotency-key': `k${place % 4}` }))
    const first = await Promise.all(keys.map((key) => send({}, key)))
    expect(first.filter(({ status }) => status === 201)).to.have.length(4)
    expect(first.filter(({ status }) => status === 409)).to.have.length(8)
    const again = await Promise.all(keys.slice(0, 4).map((key) => send({}, key)))
    for (const { status, headers } of again) {
      expect(status).to.equal(201)
      expect(headers['idempotent-replayed']).to.equal('true')
    }
    const other = await send({ amount: '0.7' }, keys[0])
    expect(other.status).to.equal(422)
    await bench.pass(sender)
    expect(await bench.inPool()).to.equal(4)
  })

  it('refuses what cannot be paid, and stores nothing', async () => {
    await reverting(bench.world, addressFrom('api reverts'))
    const cases: [Record<string, unknown>, string][] = [
      [{ to_address: `0x${'0'.repeat(40)}` }, 'invalid_request'],
      [{ to_address: bench.signers.addresses[0] }, 'invalid_request'],
      [{ amount: '0' }, 'invalid_request'],
      [{ amount: '0.0000000000000000001' }, 'invalid_request'],
      [{ amount: '1000' }, 'insufficient_funds'],
      [{ amount: '1001' }, 'limit_exceeded'],
      [{ to_address: addressFrom('api reverts') }, 'payment_would_fail'],
    ]
    for (const [change, code] of cases) {
      const { status, body } = await send(change)
      expect(status, code).to.equal(400)
      expect(body['code']).to.equal(code)
    }
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('reads the balance of the own address', async () => {
    const { body } = await api.send({ url: '/api/blockchain/balance' })
    expect(body).to.deep.include({ success: true, balance_wei: String(10n ** 21n) })
    expect(String(body['address']).toLowerCase()).to.equal(bench.signers.addresses[0])
  })
})
