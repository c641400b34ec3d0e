import { expect } from 'chai'

import { followOrders } from '../../../src/app/tracing/orders.ts'
import { createLogger } from '../../../src/base/logger.ts'
import type { Hex } from '../../../src/domain/orders.ts'
import type { Sender } from '../../../src/sender/sender.ts'
import type { SenderParts } from '../../fixtures/books/sender.ts'
import { storeTraces } from '../../../src/store/transactions/traces.ts'
import { addressFrom, CHAIN_ID, GWEI } from '../../engines/sim/world.ts'
import { createBench, reverting, type Bench } from '../../fixtures/books/sender-bench.ts'
import { TRACE, TRACEPARENT, watchTraces, type EndedSpan } from '../../fixtures/traces.ts'

describe('the traces of orders', () => {
  let bench: Bench
  let payer: Hex
  let sender: Sender
  let ended: EndedSpan[]
  let lines: Array<Record<string, unknown>>
  let settled: () => Promise<void>

  beforeEach(async () => {
    bench = await createBench()
    payer = bench.signers.addresses[0]!
    sender = follow()
  })
  after(() => bench.stop())

  /** A sender whose orders are followed. */
  const follow = (parts: Partial<SenderParts> = {}): Sender => {
    const watched = watchTraces()
    ;({ ended } = watched)
    lines = []
    const logger = createLogger({
      level: 'info',
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    })
    const { tracing } = watched
    const shutdown = {
      add: (_: string, stop: () => Promise<void> | void) => (settled = async () => stop()),
    }
    const traces = followOrders({ tracing, db: bench.db, logger, shutdown, chainId: CHAIN_ID })
    return bench.sender({ traces, logger, ...parts })
  }

  const pay = async (payment: Parameters<Bench['pay']>[0] = {}) => {
    const accepted = await bench.pay({ payer, ...payment })
    const { subject } = accepted.order
    await storeTraces(bench.db, [{ subject, traceparent: TRACEPARENT }])
    return accepted
  }

  const names = async (): Promise<string[]> => {
    await settled()
    return ended.map(({ name }) => name)
  }

  const pass = () => bench.pass(sender)

  const finish = async (): Promise<void> => {
    for (let round = 0; round < 40 && !(await bench.isEmpty()); round++) {
      await pass()
      await bench.world.mine(1)
    }
  }

  /** Somebody else has the key as well. */
  const useOutside = async (): Promise<void> => {
    const raw = await bench.signers.sign(payer, {
      chainId: CHAIN_ID,
      nonce: 0n,
      to: addressFrom('outside'),
      value: 1n,
      data: '0x',
      gas: 21_000n,
      fees: { maxFeePerGas: 400n * GWEI, maxPriorityFeePerGas: 300n * GWEI },
    })
    await bench.world.rpc('eth_sendRawTransaction', [raw])
    await bench.world.mine(1)
  }

  it('have what became of one, from its first broadcast on', async () => {
    const { order, hash } = await pay()
    const before = bench.clock.now()
    await finish()
    expect(await names()).to.deep.equal(['submit', 'mined', 'final'])
    const [submit, mined, final] = ended
    for (const span of ended) {
      expect(span).to.include({ parent: TRACEPARENT, failure: undefined })
      expect(span.attributes).to.include({
        'quittance.subject': order.subject,
        'quittance.transaction.hash': hash,
        'quittance.chain_id': CHAIN_ID,
      })
    }
    expect(submit?.attributes).to.include({ 'quittance.answer': 'accepted' })
    expect(submit?.startedAt?.getTime()).to.be.greaterThan(before.getTime())
    for (const span of [mined, final]) {
      expect(span?.startedAt).to.deep.equal(submit?.endedAt)
      expect(span?.endedAt?.getTime()).to.be.greaterThan(span?.startedAt?.getTime() ?? 0)
      expect(span?.attributes['quittance.block.hash']).to.match(/^0x/)
    }
    expect(final?.attributes).to.include({ 'quittance.state': 'completed' })
    expect(lines).to.have.length(1)
    const { subject } = order
    expect(lines[0]).to.include({ level: 'info', trace_id: TRACE, subject, hash })
  })

  it('have nothing of an order whose request was not traced', async () => {
    await bench.pay({ payer })
    await finish()
    expect(await names()).to.deep.equal([])
    expect(lines).to.deep.equal([])
  })

  it('have each replacement of what is stuck', async () => {
    await pay()
    for (let round = 0; round < 4; round++) await pass()
    expect((await names()).slice(-3)).to.deep.equal(['submit', 'replace', 'submit'])
    const hashes = ended.map(({ attributes }) => attributes['quittance.transaction.hash'])
    const [first, replaced, last] = hashes.slice(-3)
    expect(replaced).to.equal(last).and.not.to.equal(first)
  })

  it('have a reorg, and the block after it; the log names the trace', async () => {
    await pay()
    await pass()
    await bench.world.mine(2)
    await pass()
    await bench.world.rpc('anvil_reorg', [2, []])
    await pass()
    await finish()
    expect((await names()).filter((name) => name !== 'submit')).to.deep.equal([
      'mined',
      'reorg',
      'mined',
      'final',
    ])
    const line = lines.find(({ msg }) => msg === 'a reorg took the block of a transaction')
    expect(line).to.include({ trace_id: TRACE })
  })

  it('have a nonce that was used outside, and the failure that follows', async () => {
    const payee = addressFrom('refuses by then')
    await pay({ payee })
    await useOutside()
    await reverting(bench.world, payee)
    await finish()
    await settled()
    expect(ended.at(-1)).to.include({ name: 'taken', failure: 'simulation_failed' })
    const named = lines.filter(({ trace_id: id }) => id === TRACE).map(({ msg }) => msg)
    expect(named).to.deep.equal(['a nonce was used outside', 'an order has ended'])
  })

  it('go on where a nonce was used outside and the order is paid at another one', async () => {
    await pay()
    await useOutside()
    await finish()
    const found = (await names()).filter((name) => name !== 'submit')
    expect(found).to.deep.equal(['taken', 'mined', 'final'])
    expect(ended.every(({ failure }) => failure === undefined)).to.equal(true)
    expect(lines.filter(({ msg }) => msg === 'an order has ended')).to.have.length(1)
  })

  it('have nothing of what was not committed', async () => {
    sender = follow({ onMoved: () => Promise.reject(new Error('it cannot be stored')) })
    const { order } = await pay()
    await pass()
    await bench.world.mine(1)
    await pass()
    expect(await bench.stateOf(order)).to.equal('accepted')
    expect(new Set(await names())).to.deep.equal(new Set(['submit']))
  })
})
