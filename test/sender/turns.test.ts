import { expect } from 'chai'
import { sql } from 'kysely'

import { createBells } from '../../src/base/bells.ts'
import { DEFAULT_POLICY } from '../../src/sender/context.ts'
import type { Db } from '../../src/store/database/database.ts'
import { listAttemptsOf } from '../../src/store/orders/attempts.ts'
import { addressFrom, GWEI, toHex } from '../engines/sim/world.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { TEST_POLICY, type SenderParts } from '../fixtures/books/sender.ts'

describe('the turns of a lane', () => {
  let bench: Bench

  beforeEach(async () => {
    bench = await createBench()
  })
  after(() => bench.stop())

  it('are no more with two workers than with one, unless something is new', async () => {
    await bench.pay({})
    const ending = new AbortController()
    const workers = [await work(bench, ending.signal), await work(bench, ending.signal)] as const
    const begun = await turnsOf(bench)
    for (const inTheirOrder of [workers, workers.toReversed()]) {
      bench.clock.advance(DEFAULT_POLICY.pollIntervalMs)
      for (const { wake } of inTheirOrder) {
        await wake()
        bench.clock.advance(1)
      }
    }
    expect((await turnsOf(bench)) - begun).to.equal(2)
    await workers[0].kick()
    expect((await turnsOf(bench)) - begun).to.equal(3)
    ending.abort()
    await Promise.all(workers.map(({ ended }) => ended))
  })

  it('are looked for often while some are open elsewhere, and rarely where none is', async () => {
    const ending = new AbortController()
    const bell = createBells().of('sender')
    const worker = await work(bench, ending.signal, { bell })
    expect(worker.rests).to.deep.equal([30_000])
    await bench.pay({})
    await sql`update lane_leases set leased_until = 'infinity'`.execute(bench.db)
    await worker.kick()
    expect(worker.rests).to.deep.equal([30_000, 2000])
    ending.abort()
    await worker.ended
  })

  it('are looked for until what a reorg took is back', async () => {
    await bench.pay({})
    await bench.finish()
    await bench.pass()
    await bench.world.rpc('anvil_reorg', [8, []])
    const ending = new AbortController()
    const worker = await work(bench, ending.signal, { bell: createBells().of('sender') })
    // Also after a pass in which it is too early to send it once more.
    await worker.kick()
    const { rebroadcastMs } = TEST_POLICY
    expect(worker.rests).to.deep.equal([rebroadcastMs, rebroadcastMs])
    ending.abort()
    await worker.ended
  })

  it('come again at the next pass when one failed, before the lease is over', async () => {
    await bench.pay({})
    const sender = bench.sender({ db: failingOnce(bench.db), policy: { leaseMs: 60_000 } })
    await bench.pass(sender)
    expect(await bench.inPool()).to.equal(0)
    await bench.pass(sender)
    expect(await bench.inPool()).to.equal(1)
  })

  it('sign nothing of a worker that stood still while another one had the lane', async () => {
    const { order } = await bench.pay({})
    for (let pass = 0; pass < 3; pass++) await bench.pass()
    const resume = await standStill(bench)
    // Dearer than what the one that stands still has read.
    await bench.world.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(20n * GWEI)])
    await bench.world.rpc('anvil_dropAllTransactions')
    await bench.world.mine(1)
    await bench.pass()
    await resume()
    const fees = (await listAttemptsOf(bench.db, order)).map((attempt) => attempt.fees.maxFeePerGas)
    expect(fees).to.have.length(2)
    expect(fees[1]! * 100n >= fees[0]! * 115n).to.equal(true)
  })

  it('move no order once more that another worker has moved meanwhile', async () => {
    const [payer] = bench.signers.addresses
    const { order } = await bench.pay({ payer })
    const { chainId, gas, signer } = order
    const fees = { maxFeePerGas: 400n * GWEI, maxPriorityFeePerGas: 300n * GWEI }
    const outside = { to: addressFrom('outside'), value: 1n, data: '0x', nonce: 0n } as const
    const raw = await bench.signers.sign(signer, { ...outside, chainId, gas, fees })
    await bench.world.rpc('eth_sendRawTransaction', [raw])
    await bench.world.mine(4)
    const resume = await standStill(bench)
    await bench.pass()
    await resume()
    const nonces = (await listAttemptsOf(bench.db, order)).map(({ nonce }) => nonce)
    expect(nonces).to.deep.equal([0n, 1n])
  })
})

/** A worker that reads a price and stands still, for longer than its lease, until it is resumed. */
async function standStill(bench: Bench): Promise<() => Promise<void>> {
  const [reached, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const still = bench.provider('still', async (call, forward) => {
    const answer = await forward(call)
    const isPrice = call.method === 'eth_getBlockByNumber' && call.params?.[0] === 'latest'
    if (isPrice) reached.resolve()
    if (isPrice) await resumed.promise
    return answer
  })
  const passing = bench.pass(bench.sender({ providers: [still] }))
  await reached.promise
  bench.clock.advance(TEST_POLICY.leaseMs)
  return async () => {
    resumed.resolve()
    await passing
  }
}

/** Cannot read what a lane waits for, once. */
function failingOnce(db: Db): Db {
  let hasFailed = false
  return db.withPlugin({
    transformQuery({ node }) {
      const text = JSON.stringify(node, (_key, value) =>
        typeof value === 'bigint' ? String(value) : value,
      )
      if (hasFailed || !text.includes('order by nonce limit 1)')) return node
      hasFailed = true
      throw new Error('the database was away')
    },
    transformResult: async ({ result }) => result,
  })
}

type Worker = {
  /** Each resolves when the pass that it begins is over. */
  wake: () => Promise<void>
  kick: () => Promise<void>
  /** For how long it meant to sleep after each pass. */
  rests: number[]
  ended: Promise<void>
}

/** A worker that sleeps until it is woken, whatever the time; it has made its first pass. */
async function work(
  bench: Bench,
  signal: AbortSignal,
  parts: Partial<SenderParts> = {},
): Promise<Worker> {
  const rests: number[] = []
  let asleep = Promise.withResolvers<void>()
  let endSleep = (): void => undefined
  const sleep = async (ms: number, end: AbortSignal): Promise<void> => {
    // It rests after a pass whatever happens, and nothing wakes it.
    if (end === signal) return
    rests.push(ms)
    const { promise, resolve } = Promise.withResolvers<void>()
    end.addEventListener('abort', () => resolve())
    endSleep = resolve
    asleep.resolve()
    await promise
  }
  const sender = bench.sender({ ...parts, clock: { ...bench.clock, sleep } })
  const ended = sender.run(signal)
  await asleep.promise
  const passing = async (begin: () => void): Promise<void> => {
    asleep = Promise.withResolvers<void>()
    begin()
    await asleep.promise
  }
  const wake = () => passing(() => endSleep())
  return { wake, kick: () => passing(sender.kick), rests, ended }
}

async function turnsOf({ db }: Bench): Promise<number> {
  const { rows } = await sql<{ turns: number }>`
    select sum(fence)::integer as turns from lane_leases`.execute(db)
  return rows[0]?.turns ?? 0
}
