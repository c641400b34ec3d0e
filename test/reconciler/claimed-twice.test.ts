import { expect } from 'chai'
import { sql } from 'kysely'

import type { Hex } from '../../src/domain/orders.ts'
import { type RunsDeps } from '../../src/reconciler/perform.ts'
import { createRuns, requestRun } from '../../src/reconciler/runs.ts'
import { addressFrom, CHAIN_ID, ETHER } from '../engines/sim/world.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { allBreaks, runOnce, runsDeps } from '../fixtures/books/runs.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

describe('a payment that two of our records claim', () => {
  let bench: Bench
  let deps: RunsDeps
  const { signal } = new AbortController()

  beforeEach(async () => {
    bench = await createBench()
    deps = runsDeps({ db: bench.db, urls: [bench.url] })
  })
  after(() => bench.stop())

  it('is reported with the second record and our order', async () => {
    const paid = [await bench.pay({ route: 'direct' }), await bench.pay({ route: 'contract' })]
    await bench.finish()
    const { id: userId } = await makeUser(bench.db)
    const { amount } = paid[0]!.order
    const eth = { userId, amount, currency: 'ETH', status: 'completed' } as const
    const again: string[][] = []
    for (const { hash, order } of paid) {
      // Who was paid may be a user as well, and has a record of its own.
      await makeTransaction(bench.db, { ...eth, type: 'payment', ethTransactionHash: hash })
      const second = { ...eth, type: 'settlement', ethTransactionHash: hash } as const
      again.push([(await makeTransaction(bench.db, second)).transactionId, order.subject])
    }
    const run = await runOnce(deps)
    const found = await allBreaks(bench.db)
    const told = found.map(({ transactionId, evidence }) => [transactionId, evidence['claimed_by']])
    expect(told).to.deep.equal(again)
    expect(found.map(({ kind }) => kind)).to.deep.equal(['duplicate_payment', 'duplicate_payment'])
    expect(run.totals).to.include({ records: 6, matched: 4, breaks: 2 })
  })

  it('is told on both sides of a stop', async () => {
    const hashes = await Promise.all(
      [1, 2, 3].map(
        async (index) => (await bench.pay({ amount: ETHER, payee: addressFrom(`${index}`) })).hash,
      ),
    )
    await bench.finish()
    await sql`truncate orders, lane_nonces, nonce_lanes, attempts cascade`.execute(bench.db)
    const { id: userId } = await makeUser(bench.db)
    const eth = { userId, currency: 'ETH', type: 'settlement', status: 'completed' } as const
    const claim = (ethTransactionHash: Hex) =>
      makeTransaction(bench.db, { ...eth, amount: ETHER, ethTransactionHash })
    for (const hash of hashes) await claim(hash)
    const [first, second] = hashes
    const [again, last] = [await claim(first!), await claim(second!)]
    const doubled = async () =>
      (await allBreaks(bench.db, 'open')).map(({ kind, transactionId }) => [kind, transactionId])
    const expected = [again, last].map(({ transactionId }) => ['duplicate_payment', transactionId])
    await runOnce(deps)
    expect(await doubled()).to.have.deep.members(expected)
    for (const stopAt of [1, 2, 3]) {
      await sql`truncate breaks, break_moves cascade`.execute(bench.db)
      const stopper = new AbortController()
      let chunks = 0
      const examiner: RunsDeps['examiner'] = {
        ...deps.examiner,
        async examine(records, signal) {
          chunks += 1
          if (chunks === stopAt) stopper.abort()
          return deps.examiner.examine(records, signal)
        },
      }
      await requestRun(deps, { chainId: CHAIN_ID, requestedBy: 'test' })
      expect(await createRuns({ ...deps, examiner }).pass(stopper.signal)).to.equal(false)
      expect(await createRuns(deps).pass(signal)).to.equal(true)
      expect(await doubled(), `stopped in chunk ${stopAt}`).to.have.deep.members(expected)
    }
  })
})
