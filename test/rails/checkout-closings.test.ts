import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import { sql } from 'kysely'

import { lifeEndpoint } from '../../src/api/endpoints/api/admin/transactions.ts'
import { transactionDetailEndpoint } from '../../src/api/endpoints/api/transactions/detail.ts'
import { receiptCreateEndpoint } from '../../src/api/endpoints/api/transactions/receipt.ts'
import { createOperating } from '../../src/app/operations.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createProviders } from '../../src/chain/rpc/providers.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { checkoutPass } from '../../src/rails/checkout.ts'
import { createStoreSource } from '../../src/reconciler/sources/store.ts'
import { moveDispute, noteDispute } from '../../src/store/rails/disputes.ts'
import { insertRefund, settleRefund } from '../../src/store/rails/refunds.ts'
import { CHAIN_ID } from '../engines/sim/world.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { operatingOf } from '../fixtures/api/operating.ts'
import { startRailsApi, type RailsApi } from '../fixtures/api/rails-api.ts'
import {
  createCheckoutBench,
  newAddress,
  type CheckoutBench,
} from '../fixtures/books/checkout-bench.ts'
import { startGateways, type GatewayBench } from '../fixtures/books/gateways.ts'
import { reconcileSource } from '../fixtures/books/reconcile.ts'
import { createTestClock } from '../fixtures/clock.ts'
import { oneChain } from '../fixtures/api/chains.ts'

type Body = Record<string, unknown>

const { signal } = new AbortController()

describe('a crypto checkout that was paid, in the records', () => {
  let place: CheckoutBench
  let bench: GatewayBench
  let records: RailsApi

  beforeEach(async () => {
    place = await createCheckoutBench()
    const { db, url } = place.chain
    const { terms } = place.checkout
    bench = await startGateways({ db, clock: createTestClock(), checkout: terms })
    const providers = createProviders({
      urls: [url],
      chainId: CHAIN_ID,
      clock: systemClock,
      random: Math.random,
    })
    const operating = createOperating({
      chain: { providers, chainId: CHAIN_ID } as never,
      config: { confirmations: 1 } as never,
      shutdown: { signal },
      signers: operatingOf().signers,
    })
    const users = { alice: bench.api.alice, bob: await makeUser(db, { scopes: ['admin'] }) }
    const endpoints = [
      transactionDetailEndpoint,
      receiptCreateEndpoint({ chains: oneChain(operating), randomBytes }),
      lifeEndpoint,
    ]
    records = await startRailsApi(db, endpoints, users)
  })

  after(async () => place.chain.stop())

  const create = async (amount: string, currency = 'USD'): Promise<{ id: string; at: Hex }> => {
    const metadata = { order_id: '2025-014' }
    const request = { gateway_id: 2, amount, currency, description: 'Two books', metadata }
    const { transactionId, reference } = await place.chargeOf(
      (await bench.api.post('/api/payments', request)).body,
    )
    return { id: transactionId, at: reference! }
  }
  const detail = async (id: string) => (await records.get(`/api/transactions/${id}`)).body
  const status = async (id: string) => (await bench.api.get(`/api/payments/${id}/status`)).body
  const reconciled = async () => {
    const { chain, checkout } = place
    const wanted = { chainId: CHAIN_ID, since: undefined, until: undefined }
    const source = createStoreSource(chain.db, { ...wanted, expected: 1n, isSwept: false })
    const { settlement, stablecoin: dollar } = checkout.terms
    const nodes = { urls: [chain.url], settlement, dollar: dollar! }
    return reconcileSource(source, nodes, { confirmations: 1 })
  }

  it('has the hash of what has paid it, and the chain in full', async () => {
    const { id, at } = await create('12.34')
    const payer = newAddress()
    await place.payInDollars(at, 12_340_000n, payer)
    expect(await detail(id)).to.include({ eth_transaction_hash: null })
    await place.read()
    const { eth_transaction_hash: hash, blockchain_transaction } = await detail(id)
    const chain = blockchain_transaction as Body
    const receipt = (await place.chain.world.rpc('eth_getTransactionReceipt', [hash])) as Body
    expect(chain).to.include({
      eth_tx_hash: hash,
      amount_decimal: '12.34',
      status: 'confirmed',
      reference: at,
      pending_reason: null,
      error_code: null,
      gas_used: Number(receipt['gasUsed']),
      gas_price: Number(receipt['effectiveGasPrice']),
      block_number: Number(receipt['blockNumber']),
    })
    expect(String(chain['from_address']).toLowerCase()).to.equal(payer)
    expect(String(chain['to_address']).toLowerCase()).to.equal(place.checkout.terms.payee)
    expect(chain['created_at']).to.be.a('string')
    const { rows } = await sql<{ data: Body }>`
      select data from events where subject = ${id} and type = 'transaction.completed'`.execute(
      place.chain.db,
    )
    expect(rows.map(({ data }) => data['eth_transaction_hash'])).to.deep.equal([hash])
    const bob = records.bob
    const life = (await records.get(`/api/admin/transactions/${id}`, bob)).body
    expect(life['blockchain_transaction']).to.deep.equal(chain)
    expect((life['arrivals'] as Body[])[0]).to.include({ eth_transaction_hash: hash })
  })

  it('counts its confirmations as far as the chain is read', async () => {
    const { id, at } = await create('1', 'ETH')
    await place.payInEther(at, 10n ** 18n)
    await place.read()
    await place.chain.pass(place.chain.sender({}))
    const { block_number: block, confirmations } = (await detail(id))[
      'blockchain_transaction'
    ] as Body
    const head = Number(await place.chain.world.rpc('eth_blockNumber', []))
    expect(confirmations).to.equal(head - Number(block) + 1)
    expect(confirmations).to.be.above(1)
  })

  it('has a receipt, and its quittance proves payee, token, amount and reference', async () => {
    const { id, at } = await create('12.34')
    const url = `/api/transactions/${id}/receipt`
    expect((await records.post(url, {})).status).to.equal(409)
    await place.payInDollars(at, 12_340_000n, place.signingPayer())
    await place.read()
    const made = await records.post(url, {})
    expect(made.status, JSON.stringify(made.body)).to.equal(200)
    const { rows } = await sql<{ quittance: string }>`
      select quittance from receipts where token = ${String(made.body['token'])}`.execute(
      place.chain.db,
    )
    const { payment, transaction } = JSON.parse(rows[0]!.quittance) as Record<string, Body>
    const { payee, stablecoin } = place.checkout.terms
    expect(payment).to.include({ kind: 'settlement', payee, token: stablecoin, reference: at })
    expect(payment).to.include({ amount: '12340000' })
    expect(transaction?.['hash']).to.equal((await detail(id))['eth_transaction_hash'])
  })

  it('takes the hash of the arrival that made it whole, and its status lists all', async () => {
    const { id, at } = await create('10')
    const payers = [newAddress(), newAddress(), newAddress()]
    await place.payInDollars(at, 4_000_000n, payers[0])
    await place.payInDollars(at, 6_000_000n, payers[1])
    await place.payInDollars(at, 1_000_000n, payers[2])
    await place.read()
    const { arrivals, ...shown } = await status(id)
    expect(shown).to.include({ status: 'completed', received_decimal: '11' })
    const list = arrivals as Body[]
    expect(list.map(({ amount_decimal }) => amount_decimal)).to.deep.equal(['4', '6', '1'])
    expect(list.map(({ payer }) => String(payer).toLowerCase())).to.deep.equal(payers)
    expect((await detail(id))['eth_transaction_hash']).to.equal(list[1]?.['eth_transaction_hash'])
    for (const { log_index, block_number, reference } of list) {
      expect([typeof log_index, typeof block_number]).to.deep.equal(['number', 'number'])
      expect(reference).to.equal(at)
    }
  })

  it('is reconciled by what has come, be it a part or more than was due', async () => {
    const [whole, parts, ether] = [await create('10'), await create('10'), await create('1', 'ETH')]
    await place.payInDollars(whole.at, 10_000_000n)
    await place.payInDollars(parts.at, 4_000_000n)
    await place.payInDollars(parts.at, 7_000_000n)
    await place.payInEther(ether.at, 2n * 10n ** 18n)
    await place.read()
    const { kinds, totals } = await reconciled()
    expect(kinds).to.deep.equal([])
    expect(totals).to.include({ records: 3, matched: 3 })
    // The record of another amount is a lie that the run has to find.
    const { db } = place.chain
    await sql`alter table checkout_payments disable trigger all`.execute(db)
    await sql`update checkout_payments set amount = amount + 1
      where transaction_id = ${parts.id}`.execute(db)
    expect((await reconciled()).kinds).to.deep.equal([`${parts.id} wrong_amount`])
  })

  it('waits for its gas while no node tells it, and keeps nothing else waiting', async () => {
    const { id, at } = await create('10')
    const { readReceipt } = place.checkout
    place.checkout.readReceipt = async () => undefined
    await place.payInDollars(at, 10_000_000n)
    await place.read()
    const facts = (await detail(id))['blockchain_transaction'] as Body
    expect(facts).to.include({ gas_used: null, gas_price: null, status: 'confirmed' })
    place.checkout.readReceipt = async () => {
      throw new Error('no such receipt')
    }
    await checkoutPass(place.checkout, signal)
    place.checkout.readReceipt = readReceipt
    await checkoutPass(place.checkout, signal)
    const { gas_used: gas } = (await detail(id))['blockchain_transaction'] as Body
    expect(gas).to.be.a('number')
  })

  it('says where it was paid to where only the receipt still tells', async () => {
    const { id, at } = await create('10')
    const { db } = place.chain
    const { readReceipt } = place.checkout
    place.checkout.readReceipt = async () => undefined
    await place.payInDollars(at, 10_000_000n)
    await place.read()
    await sql`alter table checkout_payments disable trigger checkout_payments_kept`.execute(db)
    await sql`update checkout_payments set contract = null, payee = null`.execute(db)
    await sql`alter table checkout_payments enable trigger checkout_payments_kept`.execute(db)
    expect((await detail(id))['blockchain_transaction']).to.equal(null)
    place.checkout.readReceipt = readReceipt
    await checkoutPass(place.checkout, signal)
    const { to_address: to } = (await detail(id))['blockchain_transaction'] as Body
    expect(String(to).toLowerCase()).to.equal(place.checkout.terms.payee)
  })

  it('shows its owner the metadata again', async () => {
    const { id } = await create('10')
    expect((await detail(id))['metadata']).to.deep.equal({ order_id: '2025-014' })
    expect(await detail(id)).to.deep.include({ refunds: [], disputes: [], refunded_decimal: '0' })
  })

  it('shows a lost dispute and a partial refund in the detail as in the status', async () => {
    const { id, at } = await create('10')
    await place.payInDollars(at, 10_000_000n)
    await place.read()
    const { db } = place.chain
    await noteDispute(db, { disputeId: 'dp_1', transactionId: id })
    const lost = { disputeId: 'dp_1', status: 'lost', reason: 'fraudulent', amountMinor: 1000n }
    await moveDispute(db, { ...lost, now: new Date() })
    await insertRefund(db, { refundId: 'REF1', transactionId: id, amount: 400n })
    const settled = { refundId: 'REF1', externalId: undefined, errorCode: undefined }
    await settleRefund(db, { ...settled, state: 'completed' })
    const { refunds, disputes, refunded_decimal } = await detail(id)
    expect(refunded_decimal).to.equal('4')
    expect((refunds as Body[])[0]).to.include({ status: 'completed', amount_decimal: '4' })
    expect((disputes as Body[])[0]).to.include({ status: 'lost', reason: 'fraudulent' })
    expect(await status(id)).to.deep.include({ refunds, disputes, refunded_decimal })
  })
})
