import { expect } from 'chai'
import { sql } from 'kysely'

import { BaseError } from '../../src/base/errors.ts'
import type { Hex } from '../../src/domain/orders.ts'
import type { RunsDeps } from '../../src/reconciler/perform.ts'
import { runOnce, runsDeps } from '../fixtures/books/runs.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'

describe('the sweep of a run', () => {
  let bench: Bench
  let deps: RunsDeps

  beforeEach(async () => {
    bench = await createBench()
    deps = runsDeps({ db: bench.db, urls: [bench.url] })
  })
  after(() => bench.stop())

  it('proves settlements by itself, and reads each block once', async () => {
    await bench.pay({ route: 'contract' })
    await bench.finish()
    const blind: RunsDeps = { ...deps, examiner: blindly(deps.examiner) }
    expect((await runOnce(blind)).totals).to.include({ records: 1, matched: 1 })
    await bench.pay({ route: 'contract' })
    await bench.finish()
    expect((await runOnce(blind)).totals).to.include({ records: 2, matched: 2 })
    const { rows } = await sql`select 1 from settled_logs`.execute(bench.db)
    expect(rows).to.have.length(2)
  })

  it('proves settlements though a node tells some twice, and some unasked', async () => {
    await bench.pay({ route: 'contract' })
    await bench.pay({ route: 'contract' })
    await bench.finish()
    const providers = deps.providers.map((provider) => ({
      ...provider,
      async request(call: Parameters<typeof provider.request>[0]) {
        const told = await provider.request(call)
        if (call.method !== 'eth_getLogs') return told
        const logs = told as { blockNumber: Hex }[]
        return [...logs, ...logs, { ...logs[0], blockNumber: '0x0' }].toReversed()
      },
    }))
    const run = await runOnce({ ...deps, providers, examiner: blindly(deps.examiner) })
    expect(run.totals).to.include({ records: 2, matched: 2 })
    const { rows } = await sql`select 1 from settled_logs`.execute(bench.db)
    expect(rows).to.have.length(2)
  })

  it('knows a settlement of ours where its attempt is recorded in another block', async () => {
    await bench.pay({ route: 'contract' })
    await bench.finish()
    await sql`update attempts set block_number = block_number - 1`.execute(bench.db)
    const run = await runOnce({ ...deps, examiner: blindly(deps.examiner) })
    expect(run.totals).to.include({ records: 1, matched: 1 })
  })

  it('goes on without a node that refuses to show its logs', async () => {
    await bench.pay({ route: 'contract' })
    await bench.finish()
    const three = runsDeps({ db: bench.db, urls: [bench.url, bench.url, bench.url] })
    const [deaf, ...others] = three.providers
    const refusing: typeof three.providers = [
      {
        name: deaf!.name,
        request: (call) =>
          call.method === 'eth_getLogs'
            ? Promise.reject(new BaseError('not here', { code: 'rpc_refused', retryable: false }))
            : deaf!.request(call),
      },
      ...others,
    ]
    const nodes = [{ ...three.nodes[0]!, fees: async () => new Map() }, ...three.nodes.slice(1)]
    const examiner = blindly(three.examiner)
    const run = await runOnce({ ...three, nodes, providers: refusing, examiner })
    expect(run).to.include({ state: 'completed', error: undefined })
    expect(run.totals).to.include({ records: 1, matched: 1 })
    const none = await runOnce({ ...three, providers: refusing.map(() => refusing[0]!) })
    expect(none).to.include({ state: 'completed', error: undefined })
  })

  it('proves nothing while nodes differ over the block up to which was swept', async () => {
    await bench.pay({ route: 'contract' })
    await bench.finish()
    const two = runsDeps({ db: bench.db, urls: [bench.url, bench.url] })
    const examiner = blindly(two.examiner)
    expect((await runOnce({ ...two, examiner })).totals).to.include({ matched: 1 })
    const [honest, other] = two.nodes
    const forked: typeof other = {
      ...other!,
      async blocks(wanted, signal) {
        const told = await other!.blocks(wanted, signal)
        return new Map([...told].map(([number, block]) => [number, withHash(block, GHOST)]))
      },
    }
    const run = await runOnce({ ...two, nodes: [honest!, forked], examiner })
    expect(run.totals).to.include({ matched: 0 })
    const { rows } = await sql`select 1 from settled_logs`.execute(bench.db)
    expect(rows).to.have.length(1)
  })
}).timeout(120_000)

const GHOST: Hex = `0x${'ee'.repeat(32)}`

function withHash<T>(block: T, hash: Hex): T {
  return block === null || block instanceof BaseError ? block : { ...block, hash }
}

/** It never asks a node: what it is given stays without a judgement. */
function blindly(examiner: RunsDeps['examiner']): RunsDeps['examiner'] {
  return { ...examiner, examine: () => Promise.resolve([]) }
}
