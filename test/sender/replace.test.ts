import { expect } from 'chai'

import { RpcError } from '../../src/chain/rpc/rpc-error.ts'
import type { Hex, Order } from '../../src/domain/orders.ts'
import { listAttemptsOf } from '../../src/store/orders/attempts.ts'
import { findOrder } from '../../src/store/orders/orders.ts'
import { listOpenAlerts } from '../../src/store/orders/sender-alerts.ts'
import { addressFrom, CHAIN_ID, ETHER, GWEI, toHex } from '../engines/sim/world.ts'
import { createBench, reverting, type Bench } from '../fixtures/books/sender-bench.ts'
import { TEST_POLICY } from '../fixtures/books/sender.ts'

describe('an order whose transaction does not simply arrive', () => {
  let bench: Bench
  let payer: Hex

  beforeEach(async () => {
    bench = await createBench()
    payer = bench.signers.addresses[0]!
  })
  after(() => bench.stop())

  /** Somebody else has the key as well. */
  const useOutside = async (nonce: bigint, call: { to?: Hex; value?: bigint } = {}) => {
    const fees = { maxFeePerGas: 400n * GWEI, maxPriorityFeePerGas: 300n * GWEI }
    const raw = await bench.signers.sign(payer, {
      chainId: CHAIN_ID,
      nonce,
      to: addressFrom('outside'),
      value: 1n,
      data: '0x',
      gas: 21_000n,
      fees,
      ...call,
    })
    await bench.world.rpc('eth_sendRawTransaction', [raw])
    await bench.world.mine(1)
  }
  const noncesOf = async (order: Order) =>
    (await listAttemptsOf(bench.db, order)).map(({ nonce }) => nonce)
  const reorg = (depth: number) => bench.world.rpc('anvil_reorg', [depth, []])

  it('is bumped by at least 15 % on both fees while it is stuck, and paid once', async () => {
    const payee = addressFrom('bumped')
    const { order } = await bench.pay({ payee, amount: 5n })
    for (let pass = 0; pass < 4; pass++) await bench.pass()
    const [first, second] = await listAttemptsOf(bench.db, order)
    expect(second).to.include({ nonce: first?.nonce, kind: 'payment' })
    for (const fee of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const) {
      expect(second!.fees[fee] * 100n >= first!.fees[fee] * 115n).to.equal(true)
    }
    expect(await bench.inPool()).to.equal(1)
    await bench.finish()
    expect(await bench.world.balanceOf(payee)).to.equal(5n)
    const states = (await listAttemptsOf(bench.db, order)).map(({ state }) => state)
    expect(states.toSorted()).to.deep.equal(['final', 'superseded'])
  })

  it('is not bumped beyond the budget', async () => {
    const { order } = await bench.pay({})
    const [first] = await listAttemptsOf(bench.db, order)
    const poor = bench.sender({ policy: { maxFeePerGas: first!.fees.maxFeePerGas } })
    for (let pass = 0; pass < 6; pass++) await bench.pass(poor)
    expect(await listAttemptsOf(bench.db, order)).to.have.length(1)
  })

  it('is signed a few times and no more', async () => {
    const { order } = await bench.pay({})
    const patient = bench.sender({ policy: { attemptsPerNonce: 2 } })
    for (let pass = 0; pass < 12; pass++) await bench.pass(patient)
    expect(await listAttemptsOf(bench.db, order)).to.have.length(2)
  })

  it('is not replaced while it stands in line behind one that is stuck', async () => {
    const stuck = await bench.pay({ payer })
    const behind = await bench.pay({ payer })
    for (let pass = 0; pass < 4; pass++) await bench.pass()
    expect(await listAttemptsOf(bench.db, stuck.order)).to.have.length.at.least(2)
    expect(await listAttemptsOf(bench.db, behind.order)).to.have.length(1)
  })

  it('is cancelled by an empty transaction at its nonce, if that is what is mined', async () => {
    const payee = addressFrom('cancelled')
    const { order } = await bench.pay({ payee })
    await bench.pass()
    expect(await bench.sender().cancel(order.id)).to.equal(true)
    await bench.pass()
    await bench.finish()
    expect(await findOrder(bench.db, order.id)).to.include({
      state: 'failed',
      errorCode: 'cancelled',
    })
    expect(await bench.world.balanceOf(payee)).to.equal(0n)
    expect(await bench.world.nonceOf(payer)).to.equal(1n)
  })

  it('is completed all the same when the payment was mined before the cancel', async () => {
    const { order } = await bench.pay({})
    await bench.pass()
    await bench.world.mine(1)
    expect(await bench.sender().cancel(order.id)).to.equal(true)
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
    expect(await bench.sender().cancel(order.id)).to.equal(false)
  })

  it('is completed by the payment when the cancel that was signed never arrived', async () => {
    const { order } = await bench.pay({})
    await bench.pass()
    bench.intercept = async (call, forward) => {
      if (call.method !== 'eth_sendRawTransaction') return forward(call)
      throw new RpcError('the line broke', { code: 'rpc_unreachable' })
    }
    expect(await bench.sender().cancel(order.id)).to.equal(true)
    await bench.pass()
    expect(await listAttemptsOf(bench.db, order)).to.have.length(2)
    await bench.world.mine(1)
    await bench.pass()
    expect(await bench.stateOf(order)).to.equal('mined')
    bench.intercept = undefined
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
  })

  it('is cancelled when the signer lost its money for good', async () => {
    const { order } = await bench.pay({ payer, amount: ETHER })
    await bench.world.rpc('anvil_setBalance', [payer, toHex(ETHER / 2n)])
    for (let pass = 0; pass < 15; pass++) await bench.pass()
    await bench.finish()
    expect(await findOrder(bench.db, order.id)).to.include({
      state: 'failed',
      errorCode: 'insufficient_funds',
    })
  })

  it('is not cancelled by one word of no funds after a long wait for its turn', async () => {
    const { order } = await bench.pay({})
    bench.clock.advance(10 * TEST_POLICY.noFundsMs)
    bench.intercept = async (call, forward) => {
      if (call.method !== 'eth_sendRawTransaction') return forward(call)
      throw new RpcError('insufficient funds', { code: 'rpc_refused' })
    }
    for (let pass = 0; pass < 2; pass++) await bench.pass()
    bench.intercept = undefined
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
  })

  it('goes back to broadcast after a reorg, with the same raw transaction', async () => {
    const { order } = await bench.pay({})
    await bench.pass()
    await bench.world.mine(2)
    await bench.pass()
    expect(await bench.stateOf(order)).to.equal('mined')
    await reorg(2)
    await bench.pass()
    expect(await bench.stateOf(order)).to.equal('accepted')
    expect(await bench.inPool()).to.equal(1)
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
    expect(await listAttemptsOf(bench.db, order)).to.have.length(1)
  })

  it('has the block that it is in after a reorg that put it into another one', async () => {
    const { order, hash } = await bench.pay({})
    await bench.passAndMine()
    await bench.pass()
    const [before] = await listAttemptsOf(bench.db, order)
    await reorg(1)
    await bench.world.rpc('eth_sendRawTransaction', [before!.raw])
    await bench.world.mine(1)
    await bench.pass()
    const [after] = await listAttemptsOf(bench.db, order)
    const receipt = (await bench.world.rpc('eth_getTransactionReceipt', [hash])) as {
      blockHash: Hex
    }
    expect(after?.block?.hash).to.equal(receipt.blockHash).and.not.equal(before!.block?.hash)
  })

  it('moves to another nonce when somebody else’s transaction is final at its own', async () => {
    const payee = addressFrom('moved')
    const { order } = await bench.pay({ payer, payee, amount: 5n })
    await useOutside(0n)
    await bench.pass()
    await bench.pass()
    expect((await listAttemptsOf(bench.db, order)).every(({ nonce }) => nonce === 0n)).to.equal(
      true,
    )
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
    const attempts = await listAttemptsOf(bench.db, order)
    expect(attempts.at(-1)).to.include({ nonce: 1n, state: 'final' })
    const lost = attempts.filter(({ nonce }) => nonce === 0n).map(({ state }) => state)
    expect(new Set(lost)).to.deep.equal(new Set(['superseded']))
    expect(await bench.world.balanceOf(payee)).to.equal(5n)
  })

  it('moves past all nonces that were used outside, at once', async () => {
    const { order } = await bench.pay({ payer })
    await useOutside(0n)
    await useOutside(1n)
    await bench.finish()
    expect(await noncesOf(order)).to.deep.equal([0n, 2n])
  })

  it('does not move for a transaction in a block that the chain does not have', async () => {
    const { order } = await bench.pay({ payer })
    await useOutside(0n)
    await bench.world.mine(3)
    bench.intercept = async (call, forward) => {
      const answer = await forward(call)
      const isFull = call.method === 'eth_getBlockByNumber' && call.params?.[1] === true
      return isFull ? { ...(answer as object), hash: `0x${'5e'.repeat(32)}` } : answer
    }
    for (let pass = 0; pass < 3; pass++) await bench.pass()
    expect(await noncesOf(order)).to.deep.equal([0n])
    bench.intercept = undefined
    await bench.finish()
    expect(await noncesOf(order)).to.deep.equal([0n, 1n])
  })

  it('fails instead of moving when the payee refuses by then', async () => {
    const payee = addressFrom('refuses by then')
    const { order } = await bench.pay({ payer, payee })
    await useOutside(0n)
    await reverting(bench.world, payee)
    await bench.finish()
    expect(await findOrder(bench.db, order.id)).to.include({ errorCode: 'simulation_failed' })
  })

  it('is not paid at another nonce once it is to be cancelled', async () => {
    const payee = addressFrom('cancelled outside')
    const { order } = await bench.pay({ payer, payee })
    await useOutside(0n)
    await bench.sender().cancel(order.id)
    await bench.finish()
    const { state, errorCode } = (await findOrder(bench.db, order.id))!
    expect([state, errorCode]).to.deep.equal(['failed', 'cancelled'])
    expect(await noncesOf(order)).to.deep.equal([0n])
    expect(await bench.world.balanceOf(payee)).to.equal(0n)
  })

  it('is cancelled when its nonce was taken from outside, with the money', async () => {
    const { order } = await bench.pay({ payer, route: 'contract', amount: ETHER })
    await useOutside(0n)
    await bench.world.rpc('anvil_setBalance', [payer, toHex(ETHER / 2n)])
    await bench.finish()
    expect(await findOrder(bench.db, order.id)).to.include({
      state: 'failed',
      errorCode: 'insufficient_funds',
    })
    expect((await listAttemptsOf(bench.db, order)).at(-1)).to.include({
      nonce: 1n,
      kind: 'cancel',
      state: 'final',
    })
  })

  it('moves although the one before it cannot be looked at', async () => {
    const stuck = await bench.pay({ payer, payee: addressFrom('cannot be looked at') })
    const { order } = await bench.pay({ payer })
    for (const nonce of [0n, 1n]) await useOutside(nonce)
    bench.intercept = async (call, forward) => {
      const isAsked = call.method === 'eth_estimateGas'
      if (isAsked && JSON.stringify(call.params).includes(stuck.order.payee)) {
        throw new Error('the line broke')
      }
      return forward(call)
    }
    for (let pass = 0; pass < 6; pass++) await bench.passAndMine()
    expect(await bench.stateOf(stuck.order)).to.equal('accepted')
    expect((await listAttemptsOf(bench.db, order)).at(-1)?.nonce).to.equal(2n)
    bench.intercept = undefined
    await bench.finish()
    expect(await bench.stateOf(stuck.order)).to.equal('completed')
  })

  it('is not paid again when the other transaction looks like its payment', async () => {
    const payee = addressFrom('twin')
    const { order } = await bench.pay({ payer, payee, amount: 5n })
    await useOutside(0n, { to: payee, value: 5n })
    await bench.finish()
    expect(await findOrder(bench.db, order.id)).to.include({
      state: 'failed',
      errorCode: 'nonce_taken_by_like_payment',
    })
    expect(await bench.world.balanceOf(payee)).to.equal(5n)
    const [alert] = await listOpenAlerts(bench.db, CHAIN_ID)
    expect(alert).to.include({ kind: 'nonce_taken_by_like_payment', orderId: order.id })
  })

  it('takes a nonce above those used outside, and fills the gap that a reorg leaves', async () => {
    await bench.pay({ payer })
    await bench.finish()
    await useOutside(1n)
    const { order } = await bench.pay({ payer })
    expect((await listAttemptsOf(bench.db, order))[0]?.nonce).to.equal(2n)
    await reorg(1)
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
    expect(await bench.world.nonceOf(payer)).to.equal(3n)
  })

  it('stays completed after a reorg beyond final, with an alert until it is back', async () => {
    const payee = addressFrom('deep')
    const { order, hash } = await bench.pay({ payee, amount: 5n })
    await bench.finish()
    await bench.pass()
    await reorg(8)
    await bench.pass()
    expect(await bench.stateOf(order)).to.equal('completed')
    const alert = { kind: 'reorg_after_final', chainId: CHAIN_ID, orderId: order.id, hash } as const
    expect(await listOpenAlerts(bench.db, CHAIN_ID)).to.deep.equal([alert])
    expect(await bench.inPool()).to.equal(1)
    for (let pass = 0; pass < 5; pass++) await bench.passAndMine()
    expect(await listOpenAlerts(bench.db, CHAIN_ID)).to.deep.equal([])
    expect(await bench.world.balanceOf(payee)).to.equal(5n)
  })
})
