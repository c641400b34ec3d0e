import { expect } from 'chai'

import type { RpcCall } from '../../src/chain/rpc/provider.ts'
import { listAttemptsOf } from '../../src/store/orders/attempts.ts'
import { listOpenAlerts } from '../../src/store/orders/sender-alerts.ts'
import { CHAIN_ID, toHex } from '../engines/sim/world.ts'
import { createBench, reverting, type Bench } from '../fixtures/books/sender-bench.ts'

describe('a reorg beyond the final block', () => {
  let bench: Bench

  beforeEach(async () => {
    bench = await createBench()
  })
  after(() => bench.stop())

  /** A payment that is final, and the block that it was in. */
  const payFinally = async () => {
    const { order } = await bench.pay({})
    await bench.finish()
    await bench.passAndMine()
    await bench.pass()
    const [attempt] = await listAttemptsOf(bench.db, order)
    const { payee } = order
    return { payee, raw: attempt!.raw, hash: attempt!.hash, height: attempt!.block!.number }
  }
  const reorg = () => bench.world.rpc('anvil_reorg', [8, []])
  const alerts = async () => (await listOpenAlerts(bench.db, CHAIN_ID)).map(({ hash }) => hash)
  /** The node does not know this block for now. */
  const hide = (height: bigint) => {
    bench.intercept = async (call, forward) => (isFor(call, toHex(height)) ? null : forward(call))
  }
  /** Takes what is sent down, and sends none of it on. */
  const holdBack = (): unknown[] => {
    const sent: unknown[] = []
    bench.intercept = async (call, forward) => {
      if (call.method !== 'eth_sendRawTransaction') return forward(call)
      sent.push(call.params?.[0])
      throw new Error('the line broke')
    }
    return sent
  }

  it('is told of when its block was not agreed on at the first look', async () => {
    const { hash, height } = await payFinally()
    await reorg()
    hide(height)
    await bench.pass()
    expect(await alerts()).to.deep.equal([])
    bench.intercept = undefined
    await bench.pass()
    expect(await alerts()).to.deep.equal([hash])
  })

  it('is told of when the final block was not agreed on at the look before it', async () => {
    const { hash } = await payFinally()
    await bench.world.mine(1)
    hide(BigInt(await bench.world.head()) - 2n)
    await bench.pass()
    bench.intercept = undefined
    await reorg()
    await bench.pass()
    expect(await alerts()).to.deep.equal([hash])
  })

  it('has the transaction sent again once in an interval, and not at each pass', async () => {
    const { raw } = await payFinally()
    await reorg()
    const sent = holdBack()
    const patient = bench.sender({ policy: { rebroadcastMs: 60_000 } })
    for (let pass = 0; pass < 3; pass++) await bench.pass(patient)
    expect(sent).to.deep.equal([raw])
    bench.clock.advance(60_000)
    await bench.pass(patient)
    expect(sent).to.deep.equal([raw, raw])
  })

  it('stays an alert until the transaction is final again', async () => {
    const { hash } = await payFinally()
    await reorg()
    await bench.passAndMine()
    await bench.pass()
    expect(await alerts()).to.deep.equal([hash])
    for (let pass = 0; pass < 4; pass++) await bench.passAndMine()
    expect(await alerts()).to.deep.equal([])
  })

  it('stays an alert when the transaction comes back with another result', async () => {
    const { hash, payee } = await payFinally()
    await reorg()
    await reverting(bench.world, payee)
    for (let pass = 0; pass < 8; pass++) await bench.passAndMine()
    const receipt = await bench.world.rpc('eth_getTransactionReceipt', [hash])
    expect(receipt).to.have.property('status', '0x0')
    expect(await alerts()).to.deep.equal([hash])
  })

  it('keeps no payment waiting', async () => {
    const { raw } = await payFinally()
    await reorg()
    const { order } = await bench.pay({ payer: bench.signers.addresses[1] })
    const sent = holdBack()
    await bench.pass()
    const [attempt] = await listAttemptsOf(bench.db, order)
    expect(sent).to.deep.equal([attempt?.raw, raw])
  })
})

function isFor({ method, params }: RpcCall, height: string): boolean {
  return method === 'eth_getBlockByNumber' && params?.[0] === height
}
