import { expect } from 'chai'
import { sql } from 'kysely'
import { encodeFunctionData, erc20Abi } from 'viem'

import { referenceDollarAbi, settlementAbi } from '../../src/bindings/abis.ts'
import { checksummed } from '../../src/chain/hex.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { partReferences } from '../../src/domain/reference.ts'
import { judgeOverpaid, MAX_SMALL_PAYMENTS } from '../../src/rails/checkout.ts'
import { createPayBack } from '../../src/sender/pay-back.ts'
import { recordMoves } from '../../src/sender/record.ts'
import type { Sender } from '../../src/sender/sender.ts'
import { insertRefund } from '../../src/store/rails/refunds.ts'
import { ETHER, placeDollar } from '../engines/sim/world.ts'
import { countRows } from '../fixtures/api/rails-api.ts'
import {
  createCheckoutBench,
  newAddress,
  type CheckoutBench,
} from '../fixtures/books/checkout-bench.ts'
import { startGateways, type GatewayBench } from '../fixtures/books/gateways.ts'
import { createTestClock, type TestClock } from '../fixtures/clock.ts'
import { databaseCodeOf } from '../fixtures/errors.ts'

type Body = Record<string, unknown>
type Made = { id: string; at: Hex; chargeId: string }

const { signal } = new AbortController()

describe('a crypto checkout that strangers pay to', () => {
  let place: CheckoutBench
  let bench: GatewayBench
  let sender: Sender
  let clock: TestClock

  beforeEach(async () => {
    place = await createCheckoutBench({ isOurs: true })
    const { chain, checkout } = place
    const { terms } = checkout
    sender = chain.sender({ onMoved: recordMoves, stablecoin: terms.stablecoin })
    const payBack = createPayBack({ ...terms, sender, payer: terms.payee, signal })
    clock = createTestClock()
    bench = await startGateways({ db: chain.db, clock, checkout: terms, payBack })
  })

  after(async () => place.chain.stop())

  const create = async (amount = '1', currency = 'ETH'): Promise<Made> => {
    const request = { gateway_id: 2, amount, currency, description: 'Two books' }
    const { body } = await bench.api.post('/api/payments', request)
    const { transactionId: id, reference } = await place.chargeOf(body)
    return { id, at: reference!, chargeId: String(body['charge_id']) }
  }
  const status = async ({ id }: Made) => (await bench.api.get(`/api/payments/${id}/status`)).body
  const pageOf = async ({ chargeId }: Made) => (await bench.door.checkoutPage(chargeId))!
  const refund = async ({ id }: Made, body: object) =>
    bench.api.post(`/api/payments/${id}/refund`, body)
  /** What the page asks for, as a wallet reads its last link. */
  const asked = async (made: Made): Promise<{ reference: Hex; amount: bigint }> => {
    const { body } = await pageOf(made)
    const [, reference] = /bytes32=(0x[0-9a-f]{64})/.exec(body) ?? []
    const [, amount] =
      /(?:value|&amp;uint256)=([0-9]+)(?!.*(?:value|&amp;uint256)=)/s.exec(body) ?? []
    return { reference: reference as Hex, amount: BigInt(amount ?? 0) }
  }
  const finish = async () => {
    for (let round = 0; round < 40 && !(await place.chain.isEmpty()); round += 1) {
      await place.chain.pass(sender).catch(() => undefined)
      await place.chain.world.mine(1)
    }
    await bench.pass()
  }

  it('is completed by the exact payment after the wei of a stranger', async () => {
    const made = await create()
    await place.payInEther(made.at, 1n)
    await place.read()
    const page = await pageOf(made)
    expect(page.body).not.to.include('Do not pay again')
    expect((await asked(made)).amount).to.equal(ETHER - 1n)
    await place.payInEther(made.at, ETHER)
    await place.read()
    expect(await status(made)).to.include({
      status: 'completed',
      gateway_status: 'OVERPAID',
      overpaid_decimal: '0.000000000000000001',
    })
  })

  it('stays completed when a wei of a stranger follows', async () => {
    const made = await create()
    const customer = newAddress()
    await place.payInEther(made.at, ETHER, customer)
    await place.payInEther(made.at, 1n)
    await place.read()
    expect(await status(made)).to.include({ status: 'completed', gateway_status: 'OVERPAID' })
    expect((await refund(made, { to_address: customer })).status).to.equal(201)
    await finish()
    expect(await status(made), 'the wei keeps it from nothing').to.include({
      status: 'refunded',
      refunded_decimal: '1',
    })
  })

  it('is not touched by a token that is worth nothing, which is listed', async () => {
    const made = await create('10', 'USD')
    const { chain, checkout } = place
    const minter = chain.signers.addresses[0]!
    const worthless = await placeDollar(chain.world, { minter, allowance: 10n ** 15n })
    const { settlement, payee } = checkout.terms
    const stranger = newAddress()
    const memo = made.at
    const abi = referenceDollarAbi
    const mint = { abi, functionName: 'mintWithMemo', args: [stranger, 9n, memo] } as const
    await place.pay(minter, worthless, { data: encodeFunctionData(mint) })
    const allow = { abi: erc20Abi, functionName: 'approve', args: [settlement, 9n] } as const
    await place.pay(stranger, worthless, { data: encodeFunctionData(allow) })
    const args = [made.at, worthless, payee, 9n] as const
    const settle = { abi: settlementAbi, functionName: 'settleToken', args } as const
    await place.pay(stranger, settlement, { data: encodeFunctionData(settle) })
    const before = await asked(made)
    await place.read()
    clock.advance(1_000)
    expect(await asked(made), 'the page asks for the same').to.deep.equal(before)
    const { body: page, state } = await pageOf(made)
    expect(page).to.include('Arrived in another token').and.to.include('does not count')
    expect(page).to.include(`9 units of the token ${checksummed(worthless)}`)
    expect(page).to.include('Waiting for your payment').and.to.include(checksummed(stranger))
    expect(state, 'the page is loaded again').to.match(/ 0x[0-9a-f]{64}$/)
    const { arrivals, ...shown } = await status(made)
    expect(shown).to.include({ status: 'pending', gateway_status: 'NEW', received_decimal: null })
    const [arrival] = arrivals as Body[]
    expect(arrival).to.include({ verdict: 'wrong_token', amount_units: '9', amount_decimal: null })
    expect(arrival).to.include({ currency: null })
    expect(String(arrival?.['token']).toLowerCase()).to.equal(worthless)
    await place.payInDollars(made.at, 10_000_000n)
    await place.read()
    expect(await status(made)).to.include({ status: 'completed', gateway_status: 'COMPLETED' })
  })

  it('keeps some of what many strangers send, and is then completed', async function () {
    this.timeout(240_000)
    const made = await create()
    const { settlement, payee } = place.checkout.terms
    const references = partReferences(made.at)
    for (let stranger = 0; stranger < 3; stranger += 1) {
      const some = references.slice(0, 100)
      const args = [some, some.map(() => payee), some.map(() => 1n)] as const
      const data = encodeFunctionData({ abi: settlementAbi, functionName: 'settleBatch', args })
      const from = newAddress()
      await place.chain.world.rpc('anvil_setBlockGasLimit', ['0x3b9aca00'])
      await place.pay(from, settlement, { data, value: 100n, gas: '0x1c9c380' })
    }
    await place.read()
    expect(await countRows(place.chain.db, 'checkout_payments')).to.equal(
      BigInt(MAX_SMALL_PAYMENTS),
    )
    const page = await pageOf(made)
    expect(page.body.length).to.be.below(40_000)
    expect(((await status(made))['arrivals'] as Body[]).length).to.equal(MAX_SMALL_PAYMENTS)
    const { reference, amount } = await asked(made)
    expect(amount).to.equal(ETHER - BigInt(MAX_SMALL_PAYMENTS))
    await place.payInEther(reference, amount)
    await place.read()
    const { arrivals, ...shown } = await status(made)
    expect(shown).to.include({ status: 'completed', gateway_status: 'COMPLETED' })
    expect((arrivals as Body[]).at(-1)).to.include({ reference })
  })

  it('is completed by two halves of two payers', async () => {
    const made = await create('10', 'USD')
    await place.payInDollars(made.at, 5_000_000n)
    await place.read()
    expect(await status(made)).to.include({ remaining_decimal: '5', status: 'processing' })
    const { reference, amount } = await asked(made)
    expect(amount).to.equal(5_000_000n)
    await place.payInDollars(reference, amount)
    await place.read()
    expect(await status(made)).to.include({ status: 'completed', gateway_status: 'COMPLETED' })
  })

  it('takes the rest from the customer who paid a part, under what the page shows', async () => {
    const made = await create()
    const customer = newAddress()
    await place.payInEther(made.at, ETHER / 10n, customer)
    await place.read()
    // A stranger who pays under each other reference does not bring back the one that is used.
    for (const reference of partReferences(made.at).slice(1, 4)) {
      await place.payInEther(reference, 1n)
    }
    await place.read()
    await place.payInEther(made.at, ETHER, customer)
    await place.read()
    expect((await status(made))['status'], 'settled once').to.equal('processing')
    const { reference, amount } = await asked(made)
    expect(reference).not.to.equal(made.at)
    await place.payInEther(reference, amount, customer)
    await place.read()
    expect(await status(made)).to.include({ status: 'completed', gateway_status: 'COMPLETED' })
  })

  it('sends back to each payer at most what that one has paid', async () => {
    const made = await create('10', 'USD')
    const [first, second] = [newAddress(), newAddress()]
    await place.payInDollars(made.at, 10_000_000n, first)
    await place.payInDollars(made.at, 10_000_000n, second)
    await place.read()
    expect(await status(made)).to.include({ status: 'completed', overpaid_decimal: '10' })
    expect((await refund(made, {})).status, 'nobody is guessed at').to.equal(400)
    expect((await refund(made, { payer: newAddress() })).status).to.equal(400)
    for (const body of [{ payer: second }, { to_address: second }]) {
      const more = await refund(made, { ...body, amount: '10.01' })
      expect([more.status, more.body['code']]).to.deep.equal([400, 'limit_exceeded'])
    }
    const answers = await Promise.all(
      [1, 2, 3].map(async () => refund(made, { payer: second, amount: '6' })),
    )
    expect(answers.filter((answer) => answer.status === 201)).to.have.length(1)
    expect((await refund(made, { payer: second })).body).to.include({ amount_decimal: '4' })
    expect((await refund(made, { payer: second })).status).to.equal(409)
    const past = { refundId: 'REF1', transactionId: made.id, amount: 1n, payer: second }
    const code = await databaseCodeOf(insertRefund(place.chain.db, past))
    expect(code, 'the table itself refuses it').to.equal('23001')
    await finish()
    const { refunds, ...shown } = await status(made)
    expect(shown).to.include({ status: 'completed', refunded_decimal: '10' })
    for (const one of refunds as Body[]) {
      expect(String(one['payer']).toLowerCase()).to.equal(second)
    }
    expect((await refund(made, { payer: first })).status).to.equal(201)
    await finish()
    expect(await status(made)).to.include({ status: 'refunded', refunded_decimal: '20' })
  })

  it('is completed at a start where a program of before left it to people', async () => {
    const made = await create()
    await place.payInEther(made.at, 1n)
    await place.read()
    await place.payInEther(made.at, ETHER)
    await place.read()
    const { db } = place.chain
    // As it stood then: the transaction was still processing.
    await sql`
      update transactions set status = 'processing'
      where transaction_id = ${made.id}`.execute(db)
    await judgeOverpaid({ db, terms: place.checkout.terms })
    expect(await status(made)).to.include({ status: 'completed', gateway_status: 'OVERPAID' })
  })
})
