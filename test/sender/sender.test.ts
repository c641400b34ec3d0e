import { expect } from 'chai'
import { sql } from 'kysely'

import { codeOf } from '../../src/base/errors.ts'
import { settlementAddress } from '../../src/bindings/addresses.ts'
import type { Provider } from '../../src/chain/rpc/provider.ts'
import type { Hex } from '../../src/domain/orders.ts'
import type { PreparedOrder } from '../../src/sender/prepare.ts'
import { listAttemptsOf } from '../../src/store/orders/attempts.ts'
import { transact } from '../../src/store/database/transact.ts'
import { findOrder } from '../../src/store/orders/orders.ts'
import { listOpenAlerts } from '../../src/store/orders/sender-alerts.ts'
import { addressFrom, CHAIN_ID, ETHER, toHex } from '../engines/sim/world.ts'
import { createBench, reverting, type Bench } from '../fixtures/books/sender-bench.ts'
import { databaseCodeOf, expectFailure } from '../fixtures/errors.ts'
import { limit } from '../fixtures/store/limits.ts'

describe('the sender', () => {
  let bench: Bench

  beforeEach(async () => {
    bench = await createBench()
  })
  after(() => bench.stop())

  describe('pays', () => {
    it('a direct order, which is completed when its block is final and not before', async () => {
      const { order, hash } = await bench.pay({ payee: addressFrom('a'), amount: 5n })
      expect(order.state).to.equal('accepted')
      await bench.pass()
      await bench.world.mine(1)
      await bench.pass()
      expect(await bench.stateOf(order)).to.equal('mined')
      await bench.world.mine(1)
      await bench.pass()
      expect(await bench.stateOf(order)).to.equal('mined')
      await bench.world.mine(1)
      await bench.pass()
      expect(await bench.stateOf(order)).to.equal('completed')
      expect(await bench.world.balanceOf(addressFrom('a'))).to.equal(5n)
      const [attempt] = await listAttemptsOf(bench.db, order)
      expect(attempt).to.include({ hash, state: 'final' })
      expect(attempt?.block).to.include({ succeeded: true, gasUsed: 21_000n })
    })

    it('an order through the settlement contract, proven by its event', async () => {
      const { order } = await bench.pay({ route: 'contract', payee: addressFrom('b'), amount: 7n })
      await bench.finish()
      expect(await bench.stateOf(order)).to.equal('completed')
      expect(await bench.world.balanceOf(addressFrom('b'))).to.equal(7n)
    })

    it('an order whose reference another one took while it was simulated', async () => {
      const [payer] = bench.signers.addresses
      const contract = { payer, route: 'contract' } as const
      bench.intercept = async (call, forward) => {
        if (call.method === 'eth_estimateGas') {
          bench.intercept = undefined
          await bench.pay(contract)
          await bench.passAndMine()
        }
        return forward(call)
      }
      const { order } = await bench.pay({ ...contract, payee: addressFrom('late'), amount: 8n })
      await bench.finish()
      expect(await bench.stateOf(order)).to.equal('completed')
      expect(await bench.world.balanceOf(addressFrom('late'))).to.equal(8n)
    })

    it('one order for one subject, however often it is asked', async () => {
      const first = await bench.pay({ subject: 'TX1', payee: addressFrom('c'), amount: 9n })
      const second = await bench.pay({ subject: 'TX1', payee: addressFrom('c'), amount: 9n })
      expect(second.order.id).to.equal(first.order.id)
      expect(second.hash).to.equal(first.hash)
      const sender = bench.sender()
      const known = bench.requestOf({ subject: 'TX1', payee: addressFrom('c'), amount: 9n })
      const prepared = await sender.prepare(bench.db, known, bench.signal)
      const asNew = transact(bench.db, (db) => sender.acceptNew(db, [prepared]))
      expect(await databaseCodeOf(asNew)).to.equal('23505')
      await bench.finish()
      expect(await bench.world.balanceOf(addressFrom('c'))).to.equal(9n)
    })

    it('from the pool by the signer with the fewest orders on their way', async () => {
      const payers = []
      for (let index = 0; index < 4; index++) payers.push((await bench.pay({})).order.signer)
      expect(new Set(payers.slice(0, 2)).size).to.equal(2)
      expect(payers.slice(2).toSorted()).to.deep.equal(payers.slice(0, 2).toSorted())
    })

    it('several that are accepted together, but not those of them that are refused', async () => {
      const [first, second] = bench.signers.addresses
      const sender = bench.sender()
      await limit(bench.db, { perPayee: 10n })
      const requests = [
        { payer: second, payee: addressFrom('together one'), amount: 6n },
        { payer: first, payee: addressFrom('together one'), amount: 5n },
        { payer: first, payee: addressFrom('together one'), amount: 4n },
        { payer: first, payee: addressFrom('together other'), amount: 9n },
      ]
      const prepared: PreparedOrder[] = []
      for (const request of requests) {
        prepared.push(await sender.prepare(bench.db, bench.requestOf(request), bench.signal))
      }
      const acceptances = await bench.db
        .transaction()
        .execute((transaction) => sender.acceptNew(transaction, prepared))
      expect(acceptances.map(({ ok }) => ok)).to.deep.equal([true, false, true, true])
      const refusal = acceptances.flatMap((one) => (one.ok ? [] : codeOf(one.error)))
      expect(refusal).to.deep.equal(['limit_per_payee'])
      for (const place of [0, 3]) {
        const again = await transact(bench.db, (db) => sender.accept(db, prepared[place]!))
        expect(acceptances[place]).to.deep.include({ ok: true, value: again })
      }
      await bench.finish()
      expect(await bench.world.balanceOf(addressFrom('together one'))).to.equal(10n)
      expect(await bench.world.balanceOf(addressFrom('together other'))).to.equal(9n)
      expect(await bench.world.nonceOf(first!)).to.equal(2n)
      expect(await bench.world.nonceOf(second!)).to.equal(1n)
    })

    it('more orders than may be in flight, a few at a time', async () => {
      const payer = bench.signers.addresses[0]
      for (let index = 0; index < 6; index++) await bench.pay({ payer })
      await bench.pass()
      expect(await bench.inPool()).to.equal(4)
      await bench.finish()
      expect(await bench.world.nonceOf(payer!)).to.equal(6n)
    })
  })

  it('gives the turn of a mined order to the next one, before it is final', async () => {
    const narrow = bench.sender({ policy: { inFlight: 1 } })
    const [payer] = bench.signers.addresses
    await bench.pay({ payer })
    await bench.pay({ payer })
    await bench.pass(narrow)
    await bench.world.mine(1)
    expect(await bench.inPool()).to.equal(0)
    await bench.pass(narrow)
    expect(await bench.inPool()).to.equal(1)
  })

  it('sends to every provider', async () => {
    const sent: string[] = []
    const providers = ['one', 'two'].map((name) =>
      bench.provider(name, async (call, forward) => {
        if (call.method === 'eth_sendRawTransaction') sent.push(name)
        return forward(call)
      }),
    )
    await bench.pay({})
    await bench.pass(bench.sender({ providers }))
    expect(sent).to.have.members(['one', 'two'])
  })

  it('refuses more orders than may wait in a lane', async () => {
    const [payer] = bench.signers.addresses
    const narrow = bench.sender({ policy: { inFlight: 1, queued: 1 } })
    const pay = () => narrow.pay(bench.requestOf({ payer }), bench.signal)
    await pay()
    await pay()
    await expectFailure(pay, 'lane_full')
  })

  describe('refuses, with nothing stored,', () => {
    it('what takes more gas than a payment may', async () => {
      const frugal = bench.sender({ policy: { maxGas: 20_000n } })
      const pay = () => frugal.pay(bench.requestOf({}), bench.signal)
      await expectFailure(pay, 'gas_too_high')
      expect(await bench.isEmpty()).to.equal(true)
    })

    const zero: Hex = `0x${'0'.repeat(40)}`
    const mixed = addressFrom('mixed').replace(/[a-f]/, (digit) => digit.toUpperCase()) as Hex

    for (const [name, payment, code] of [
      ['less than 1 wei', { amount: 0n }, 'amount_not_positive'],
      ['more than a transaction may send', { amount: 1_001n * ETHER }, 'limit_per_transaction'],
      ['the zero address', { payee: zero }, 'payee_is_zero'],
      ['a checksum that is wrong', { payee: mixed }, 'payee_invalid'],
      ['what is no address', { payee: '0x12' as Hex }, 'payee_invalid'],
      ['the contract as payee', { payee: settlementAddress }, 'payee_is_contract'],
      ['more than the signer holds', { amount: 1_000n * ETHER }, 'insufficient_funds'],
    ] as const) {
      it(name, async () => {
        await expectFailure(() => bench.pay(payment), code)
        expect(await bench.isEmpty()).to.equal(true)
      })
    }

    it('the own address as payee', async () => {
      const [payer] = bench.signers.addresses
      await expectFailure(() => bench.pay({ payer, payee: payer! }), 'payee_is_payer')
    })

    it('a payee that reverts', async () => {
      await reverting(bench.world, addressFrom('reverts'))
      await expectFailure(() => bench.pay({ payee: addressFrom('reverts') }), 'simulation_failed')
      await expectFailure(
        () => bench.pay({ route: 'contract', payee: addressFrom('reverts') }),
        'simulation_failed',
      )
      expect(await bench.isEmpty()).to.equal(true)
    })

    for (const [route, most] of [
      ['direct', 1],
      ['contract', 4],
    ] as const) {
      it(`a payee that reverts, on the ${route} route of a busy signer`, async () => {
        const [payer] = bench.signers.addresses
        const payee = addressFrom('always reverts')
        await reverting(bench.world, payee)
        let simulations = 0
        bench.intercept = async (call, forward) => {
          const isSimulation = call.method === 'eth_estimateGas'
          if (isSimulation && JSON.stringify(call.params).includes(payee.slice(2))) {
            simulations += 1
            if (simulations < 8) await bench.pay({ payer })
          }
          return forward(call)
        }
        await expectFailure(() => bench.pay({ payer, route, payee }), 'simulation_failed')
        expect(simulations).to.equal(most)
      })
    }

    it('the contract route where there is no contract, or another one', async () => {
      const without = bench.sender({ settlement: undefined })
      const request = bench.requestOf({ route: 'contract' })
      await expectFailure(() => without.pay(request, bench.signal), 'contract_not_configured')
      const address = addressFrom('other')
      const other = bench.sender({ settlement: { address, isCode: (code) => code.length > 2 } })
      await expectFailure(() => other.pay(request, bench.signal), 'contract_mismatch')
    })

    it('more than a spender may send in one day, or to one payee', async () => {
      await limit(bench.db, { perDay: 10n })
      await bench.pay({ amount: 6n })
      const again = bench.requestOf({ amount: 5n })
      await expectFailure(() => bench.pay(again), 'limit_per_day')
      bench.clock.advance(24 * 3_600_000)
      await bench.pay(again)
      const payee = addressFrom('d')
      await limit(bench.db, { perDay: null, perPayee: 10n })
      await bench.pay({ payee, amount: 10n })
      await expectFailure(() => bench.pay({ payee, amount: 1n }), 'limit_per_payee')
    })

    it('a gas limit that no node would take, from a provider that lies', async () => {
      const lying = bench.provider('lying', async (call, forward) =>
        call.method === 'eth_estimateGas' ? '0x3e7' : forward(call),
      )
      for (const route of ['direct', 'contract'] as const) {
        const alone = bench.sender({ providers: [lying] })
        const request = bench.requestOf({ route })
        await expectFailure(() => alone.pay(request, bench.signal), 'chain_unreachable')
        const both = bench.sender({ providers: [lying, bench.provider('honest')] })
        const { order } = await both.pay(request, bench.signal)
        expect(order.gas >= (route === 'direct' ? 21_000n : 50_000n)).to.equal(true)
      }
    })

    it('what the signer owes already', async () => {
      const [payer] = bench.signers.addresses
      await bench.pay({ payer, amount: 600n * ETHER })
      await expectFailure(() => bench.pay({ payer, amount: 600n * ETHER }), 'insufficient_funds')
    })

    it('a signature for something else', async () => {
      const { addresses, sign } = bench.signers
      const wrong = bench.sender({
        signers: { addresses, sign: (by, one) => sign(by, { ...one, value: one.value + 1n }) },
      })
      await expectFailure(() => wrong.pay(bench.requestOf({}), bench.signal), 'signature_wrong')
      expect(await bench.isEmpty()).to.equal(true)
    })
  })

  it('stores what it signed before anybody sees it, and repeats it until it is mined', async () => {
    const sent: unknown[] = []
    bench.intercept = async (call, forward) => {
      if (call.method !== 'eth_sendRawTransaction') return forward(call)
      sent.push(call.params?.[0])
      if (sent.length < 2) throw new Error('the line broke')
      return forward(call)
    }
    const { order } = await bench.pay({})
    expect(sent).to.deep.equal([])
    const [attempt] = await listAttemptsOf(bench.db, order)
    for (let pass = 0; pass < 2; pass++) await bench.pass()
    expect(sent).to.deep.equal([attempt?.raw, attempt?.raw])
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
  })

  it('takes neither "already known" nor "nonce too low" for a verdict', async () => {
    const { order } = await bench.pay({ payee: addressFrom('e'), amount: 3n })
    await bench.pass()
    await bench.pass()
    const known = await listAttemptsOf(bench.db, order)
    expect(known.map((one) => one.lastAnswer)).to.deep.equal(['accepted'])
    await bench.world.mine(1)
    // The receipt is withheld, so that the sender only hears that its nonce is used.
    bench.intercept = async (call, forward) =>
      call.method === 'eth_getTransactionReceipt' ? null : forward(call)
    for (let pass = 0; pass < 8; pass++) await bench.passAndMine()
    const after = await listAttemptsOf(bench.db, order)
    expect(after.map((one) => one.lastAnswer)).to.deep.equal(['nonce_low'])
    expect(await bench.stateOf(order)).to.equal('accepted')
    bench.intercept = undefined
    await bench.pass()
    expect(await bench.stateOf(order)).to.equal('completed')
  })

  it('fails an order whose payee began to refuse after it was accepted', async () => {
    const { order } = await bench.pay({ payee: addressFrom('f') })
    await reverting(bench.world, addressFrom('f'))
    await bench.finish()
    expect(await findOrder(bench.db, order.id)).to.include({
      state: 'failed',
      errorCode: 'reverted',
    })
  })

  it('does not take success for payment where the event is missing', async () => {
    const { order, hash } = await bench.pay({ route: 'contract' })
    await bench.world.rpc('anvil_setCode', [settlementAddress, '0x00'])
    await bench.finish()
    expect(await findOrder(bench.db, order.id)).to.include({
      state: 'failed',
      errorCode: 'settlement_mismatch',
    })
    const alerts = await listOpenAlerts(bench.db, CHAIN_ID)
    expect(alerts).to.deep.include({
      kind: 'settlement_mismatch',
      chainId: CHAIN_ID,
      orderId: order.id,
      hash,
    })
  })

  it('does not take the bytes of another transaction for those that were mined', async () => {
    const { order } = await bench.pay({})
    await bench.pass()
    await bench.world.mine(5)
    const [attempt] = await listAttemptsOf(bench.db, order)
    const other = bench.signers.addresses.find((address) => address !== order.signer)!
    // The same call at the same nonce, but by another signer, so that its hash is another one.
    const { chainId, nonce, fees, gas } = attempt!
    const call = { chainId, nonce, to: order.payee, value: order.amount, gas, fees }
    const raw = await bench.signers.sign(other, { ...call, data: '0x' })
    await sql`update attempts set raw = ${raw} where id = ${attempt?.id}`.execute(bench.db)
    await bench.finish()
    expect(await findOrder(bench.db, order.id)).to.include({
      state: 'failed',
      errorCode: 'settlement_mismatch',
    })
  })

  const lying = () =>
    bench.provider('lying', async (call, forward) => {
      const answer = await forward(call)
      const isReceipt = call.method === 'eth_getTransactionReceipt'
      return isReceipt ? { ...(answer as object), status: '0x0' } : answer
    })
  const moved = () =>
    bench.provider('moved', async (call, forward) =>
      call.method === 'eth_chainId' ? toHex(1) : forward(call),
    )
  const decidesNothingWith = async (...providers: Provider[]) => {
    const { order } = await bench.pay({})
    await bench.pass()
    await bench.world.mine(5)
    await bench.pass(bench.sender({ providers }))
    expect(await bench.stateOf(order)).to.equal('accepted')
    await bench.pass()
    expect(await bench.stateOf(order)).to.equal('completed')
  }

  it('believes no provider alone where there are several', async () => {
    await decidesNothingWith(bench.provider('honest'), lying())
  })

  it('believes no provider alone while the others are on another chain', async () => {
    await decidesNothingWith(moved(), lying())
  })

  it('leaves out a provider that changed to another chain', async () => {
    const { order } = await bench.pay({})
    await bench.pass(bench.sender({ providers: [moved()] }))
    expect(await bench.inPool()).to.equal(0)
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
  })
})
