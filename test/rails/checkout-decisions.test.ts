import { expect } from 'chai'

import type { documentGroup } from '../../src/api/docs/openapi.ts'
import {
  paymentDecideEndpoint,
  undecidedListEndpoint,
} from '../../src/api/endpoints/api/admin/payments.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { findEveryonesTransaction } from '../../src/store/access/everyone.ts'
import { listMoves } from '../../src/store/transactions/transactions.ts'
import { ETHER } from '../engines/sim/world.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { startRailsApi, type RailsApi } from '../fixtures/api/rails-api.ts'
import { createCheckoutBench, type CheckoutBench } from '../fixtures/books/checkout-bench.ts'
import { startGateways, type GatewayBench } from '../fixtures/books/gateways.ts'
import { createTestClock } from '../fixtures/clock.ts'

type Body = Record<string, unknown>

const MINUTE_MS = 60_000
const SEEN = { received_decimal: '9', note: 'The exchange kept its fee.' }

describe('a payment on chain that is not as it was asked for', () => {
  let place: CheckoutBench
  let bench: GatewayBench
  let admin: RailsApi

  beforeEach(async () => {
    place = await createCheckoutBench()
    bench = await gatewaysAt(new Date())
    const { db } = place.chain
    const users = { alice: await makeUser(db, { scopes: ['admin'] }), bob: bench.api.bob }
    admin = await startRailsApi(db, [undecidedListEndpoint, paymentDecideEndpoint], users)
  })

  after(async () => place.chain.stop())

  const gatewaysAt = async (start: Date) =>
    startGateways({
      db: place.chain.db,
      clock: createTestClock(start),
      checkout: place.checkout.terms,
    })

  const create = async (at = bench): Promise<{ id: string; reference: Hex }> => {
    const request = { gateway_id: 2, amount: '10', currency: 'USD', description: 'Two books' }
    const { body } = await at.api.post('/api/payments', request)
    const { transactionId, reference } = await place.chargeOf(body)
    return { id: transactionId, reference: reference! }
  }

  const paid = async (dollars: string): Promise<{ id: string; reference: Hex }> => {
    const made = await create()
    await place.payInDollars(made.reference, BigInt(dollars) * 1_000_000n)
    await place.read()
    return made
  }

  const status = async (id: string) => (await bench.api.get(`/api/payments/${id}/status`)).body

  const decide = async (id: string, body: object) =>
    admin.post(`/api/admin/payments/${id}/decide`, body)

  const waiting = async (): Promise<Body[]> =>
    (await admin.get('/api/admin/payments')).body['payments'] as Body[]

  it('is listed with all that has come for it, until it is decided', async () => {
    const { id } = await paid('9')
    const [shown, ...others] = await waiting()
    expect(others).to.deep.equal([])
    const facts = { transaction_id: id, gateway_status: 'UNDERPAID', received_decimal: '9' }
    expect(shown).to.include({ ...facts, amount_decimal: '10', status: 'processing' })
    const [arrival] = (shown?.['arrivals'] ?? []) as Body[]
    expect(arrival).to.include({ amount_units: '9000000', currency: 'USD', verdict: 'counted' })
    expect((await decide(id, { decision: 'accept', ...SEEN })).status).to.equal(200)
    expect(await waiting()).to.deep.equal([])
  })

  it('is found by its id, however many older ones wait', async () => {
    const [older, { id }] = [await paid('9'), await paid('9')]
    const asked = async (query: string): Promise<unknown[]> => {
      const { body } = await admin.get(`/api/admin/payments?limit=1${query}`)
      return (body['payments'] as Body[]).map((payment) => payment['transaction_id'])
    }
    expect(await asked('')).to.deep.equal([older.id])
    expect(await asked(`&transaction_id=${id}`)).to.deep.equal([id])
    expect(await asked('&transaction_id=TX0')).to.deep.equal([])
    await decide(id, { decision: 'accept', ...SEEN })
    expect(await asked(`&transaction_id=${id}`)).to.deep.equal([])
    const { text } = await admin.get('/openapi/group-b.json')
    const { paths } = JSON.parse(text) as ReturnType<typeof documentGroup>
    const operation = paths['/api/admin/payments']?.['get'] as { parameters: Body[] } | undefined
    expect(operation?.parameters.map(({ name }) => name)).to.include('transaction_id')
  })

  it('is completed as it is, and its history tells who, when and why', async () => {
    const { id } = await paid('9')
    const { body } = await decide(id, { decision: 'accept', ...SEEN })
    const accepted = { status: 'completed', gateway_status: 'RESOLVED', received_decimal: '9' }
    expect(body).to.include(accepted)
    expect(await status(id)).to.include(accepted)
    const { db } = place.chain
    const [move] = (await listMoves(db, (await findEveryonesTransaction(db, id))!)).toReversed()
    expect(move).to.include({ from: 'processing', to: 'completed' })
    expect(move?.actor).to.equal(`user:${admin.alice.id}`)
    expect(move?.reason).to.equal(`accepted by hand, UNDERPAID, 9 of 10 USD: ${SEEN.note}`)
  })

  it('needs nobody where too much has come', async () => {
    const { id } = await paid('11')
    expect(await status(id)).to.include({ status: 'completed', gateway_status: 'OVERPAID' })
    const seen = { ...SEEN, received_decimal: '11' }
    expect((await decide(id, { decision: 'accept', ...seen })).status).to.equal(409)
    expect(await waiting()).to.deep.equal([])
  })

  it('is accepted where the whole has come a little late', async () => {
    const late = await create(await gatewaysAt(new Date(Date.now() - 65 * MINUTE_MS)))
    await place.read()
    await place.payInDollars(late.reference, 10_000_000n)
    await place.read()
    expect((await waiting())[0]).to.include({ transaction_id: late.id, gateway_status: 'DELAYED' })
    const seen = { ...SEEN, received_decimal: '10' }
    expect((await decide(late.id, { decision: 'accept', ...seen })).body).to.include({
      status: 'completed',
    })
  })

  it('has failed where it is refused', async () => {
    const { id } = await paid('9')
    const { body } = await decide(id, { decision: 'refuse', ...SEEN })
    const refused = { status: 'failed', gateway_status: 'CANCELED', error_code: 'payment_refused' }
    expect(body).to.include(refused)
    expect(await status(id)).to.include(refused)
  })

  it('is not decided on what has changed since it was seen', async () => {
    const { id, reference } = await paid('9')
    await place.payInDollars(reference, 500_000n)
    await place.read()
    expect((await decide(id, { decision: 'accept', ...SEEN })).status).to.equal(409)
    expect(await status(id)).to.include({ status: 'processing', received_decimal: '9.5' })
  })

  it('is decided once, whoever else decides at the same time', async () => {
    const { id } = await paid('9')
    const answers = await Promise.all([
      decide(id, { decision: 'accept', ...SEEN }),
      decide(id, { decision: 'refuse', ...SEEN }),
      decide(id, { decision: 'accept', ...SEEN }),
    ])
    const statuses = answers.map((answer) => answer.status).toSorted((a, b) => a - b)
    expect(statuses).to.deep.equal([200, 409, 409])
  })

  it('is nothing to decide where another coin has come', async () => {
    const { id, reference } = await create()
    await place.payInEther(reference, ETHER)
    await place.read()
    const seen = { ...SEEN, received_decimal: '0' }
    expect((await decide(id, { decision: 'refuse', ...seen })).status).to.equal(409)
    expect(await waiting()).to.deep.equal([])
    expect(await status(id)).to.include({ status: 'pending', received_decimal: null })
  })

  it('has the hash of what was accepted', async () => {
    const { id } = await paid('9')
    const { db } = place.chain
    expect((await findEveryonesTransaction(db, id))?.ethTransactionHash).to.equal(null)
    await decide(id, { decision: 'accept', ...SEEN })
    const [arrival] = (await status(id))['arrivals'] as Body[]
    const { ethTransactionHash } = (await findEveryonesTransaction(db, id))!
    expect(ethTransactionHash).to.equal(arrival?.['eth_transaction_hash'])
  })

  it('leaves alone what is not paid, is paid, or is none', async () => {
    const unpaid = await create()
    const whole = await paid('10')
    for (const { id } of [unpaid, whole]) {
      expect((await decide(id, { decision: 'refuse', ...SEEN })).status).to.equal(409)
    }
    expect((await decide('TX0', { decision: 'refuse', ...SEEN })).status).to.equal(404)
    expect((await decide(whole.id, { decision: 'keep', ...SEEN })).status).to.equal(400)
    expect((await decide(whole.id, { decision: 'refuse' })).status).to.equal(400)
  })

  it('stays refused or accepted when the rest comes, and the blocks are read on', async () => {
    const [refused, accepted] = [await paid('9'), await paid('9')]
    await decide(refused.id, { decision: 'refuse', ...SEEN })
    await decide(accepted.id, { decision: 'accept', ...SEEN })
    await place.payInDollars(refused.reference, 1_000_000n)
    await place.payInDollars(accepted.reference, 1_000_000n)
    await place.read()
    expect(await status(refused.id)).to.include({
      status: 'failed',
      gateway_status: 'DELAYED',
      error_code: 'payment_refused',
      received_decimal: '10',
    })
    expect(await status(accepted.id)).to.include({
      status: 'completed',
      gateway_status: 'RESOLVED',
      received_decimal: '10',
    })
    const next = await paid('10')
    expect(await status(next.id)).to.include({ status: 'completed' })
  })
})
