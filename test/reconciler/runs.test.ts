import { expect } from 'chai'
import { sql } from 'kysely'

import { toRunWire } from '../../src/api/endpoints/api/runs.ts'
import { settlementAddress } from '../../src/bindings/addresses.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { createExaminer } from '../../src/reconciler/judge/examine.ts'
import { checkBreak } from '../../src/reconciler/judge/verify-break.ts'
import { type RunsDeps } from '../../src/reconciler/perform.ts'
import { createRuns, requestRun } from '../../src/reconciler/runs.ts'
import { ownCurrencies } from '../../src/reconciler/sources/currencies.ts'
import { closeBreak, listBreakMoves } from '../../src/store/reconciliation/breaks.ts'
import { latestRun, type Run } from '../../src/store/reconciliation/runs.ts'
import { addressFrom, CHAIN_ID, ETHER, GWEI } from '../engines/sim/world.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { allBreaks, runOnce, runsDeps } from '../fixtures/books/runs.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { calls, reference } from '../fixtures/books/verify.ts'
import { createJumpingClock } from '../fixtures/clock.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'
import { until } from '../fixtures/until.ts'

const NOBODY = 'http://127.0.0.1:9'
const GHOST: Hex = `0x${'ee'.repeat(32)}`

describe('runs over our own records', () => {
  let bench: Bench
  let deps: RunsDeps
  const { signal } = new AbortController()

  beforeEach(async () => {
    bench = await createBench()
    deps = runsDeps({ db: bench.db, urls: [bench.url] })
  })
  after(() => bench.stop())

  const kinds = async () => (await allBreaks(bench.db, 'open')).map(({ kind }) => kind)

  /** Sends from the first signer without telling the tables. */
  const sendAside = async (call: { to: Hex; value: bigint; data?: Hex }): Promise<Hex> => {
    const [signer] = bench.signers.addresses
    const nonce = await bench.world.nonceOf(signer!)
    const fees = { maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI }
    const { to, value, data = '0x' } = call
    const request = { chainId: CHAIN_ID, nonce, to, value, data, gas: 200_000n, fees }
    const raw = await bench.signers.sign(signer!, request)
    const hash = (await bench.world.rpc('eth_sendRawTransaction', [raw])) as Hex
    await bench.world.mine(4)
    return hash
  }

  it('match every order that the chain paid, by whichever route', async () => {
    for (let index = 0; index < 3; index++) {
      await bench.pay({ route: 'direct' })
      await bench.pay({ route: 'contract' })
    }
    await bench.finish()
    const run = await runOnce(deps)
    expect(run).to.include({ state: 'completed', expected: 6n, error: undefined })
    expect(run.totals).to.include({ records: 6, matched: 6, pending: 0, breaks: 0 })
    expect(await kinds()).to.deep.equal([])
    const { rows } = await sql`select 1 from settled_logs`.execute(bench.db)
    expect(rows).to.have.length(3)
  })

  it('leave an order on its way to time', async () => {
    await bench.pay({})
    await bench.passAndMine()
    const run = await runOnce(deps)
    expect(run.totals).to.include({ records: 1, pending: 1, breaks: 0 })
  })

  describe('find', () => {
    it('what imported records claim and the chain does not show', async () => {
      const { hash } = await bench.pay({ amount: ETHER, payee: addressFrom('import') })
      await bench.finish()
      await sql`truncate orders, lane_nonces, nonce_lanes, attempts cascade`.execute(bench.db)
      const { id: userId } = await makeUser(bench.db)
      const eth = { userId, currency: 'ETH', type: 'settlement', status: 'completed' } as const
      const make = (amount: bigint, ethTransactionHash: Hex) =>
        makeTransaction(bench.db, { ...eth, amount, ethTransactionHash })
      await make(ETHER, hash)
      const lost = await make(ETHER, GHOST)
      const wrong = await make(ETHER + 1n, hash)
      const twice = await make(ETHER, hash)
      const run = await runOnce(deps)
      const found = await allBreaks(bench.db)
      expect(found.map(({ transactionId, kind }) => [transactionId, kind])).to.have.deep.members([
        [lost.transactionId, 'missing'],
        [wrong.transactionId, 'wrong_amount'],
        [twice.transactionId, 'duplicate_payment'],
      ])
      expect(run.totals).to.include({ records: 4, matched: 1, breaks: 3 })
    })

    it('no match in a hash alone for imported euros, pounds and dollars', async () => {
      const { hash } = await bench.pay({ amount: ETHER, payee: addressFrom('import') })
      await bench.finish()
      await sql`truncate orders, lane_nonces, nonce_lanes, attempts cascade`.execute(bench.db)
      const { id: userId } = await makeUser(bench.db)
      const imported = { userId, type: 'settlement', status: 'completed' } as const
      for (const currency of ['EUR', 'GBP', 'USD'] as const) {
        const money = { amount: 99_999_999n, currency, ethTransactionHash: hash }
        await makeTransaction(bench.db, { ...imported, ...money })
      }
      const { totals } = await runOnce(deps)
      const uncompared = { matched: 0, breaks: 0, pending: 0, notCompared: 3 }
      expect(totals).to.include({ records: 3, ...uncompared })
      expect(totals['byReason']).to.deep.equal({ currency_unknown: 3 })
      const dollar = { address: addressFrom('dollar'), decimals: 6 }
      const currencies = ownCurrencies([{ currency: 'USD', ...dollar }], {
        coin: 'ETH',
        nodes: deps.nodes,
      })
      const contracts = { settlement: undefined, tokens: currencies.tokens }
      const examiner = createExaminer({ ...deps, contracts, currencies })
      const run = await runOnce({ ...deps, examiner })
      expect(run.totals).to.include(uncompared)
      expect(run.totals['byReason']).to.deep.equal({ currency_unknown: 2, price_only: 1 })
      expect(toRunWire(run)).to.include({ matched: 0, not_compared: 3 })
      expect(await kinds()).to.deep.equal([])
    })

    it('a fee and a block that are not those of the chain', async () => {
      const fee = await bench.pay({})
      const block = await bench.pay({})
      await bench.finish()
      const { db } = bench
      await sql`
        update attempts set gas_used = gas_used + 1 where order_id = ${fee.order.id}`.execute(db)
      await sql`
        update attempts set block_hash = ${GHOST} where order_id = ${block.order.id}`.execute(db)
      await runOnce(deps)
      const found = await allBreaks(bench.db)
      expect(found.map(({ transactionId, kind }) => [transactionId, kind])).to.have.deep.members([
        [fee.order.subject, 'fee_mismatch'],
        [block.order.subject, 'reorged'],
      ])
    })

    it('a fee, an amount and a token of a settlement that are not those of the chain', async () => {
      const [fee, amount, token] = [
        await bench.pay({ route: 'contract' }),
        await bench.pay({ route: 'contract' }),
        await bench.pay({ route: 'contract' }),
      ].map(({ order }) => order)
      await bench.finish()
      const { db } = bench
      expect((await runOnce(deps)).totals).to.include({ matched: 3, breaks: 0 })
      await sql`update attempts set gas_used = gas_used + 1 where order_id = ${fee!.id}`.execute(db)
      await db.transaction().execute(async (transaction) => {
        // An order is kept as it is by its table; a database that was repaired by hand is not.
        await sql`set local session_replication_role = replica`.execute(transaction)
        await sql`update orders set amount = amount + 1 where id = ${amount!.id}`.execute(
          transaction,
        )
        await sql`
          update orders set route = 'token', token = ${addressFrom('dollar')}
          where id = ${token!.id}`.execute(transaction)
      })
      const run = await runOnce(deps)
      const found = await allBreaks(db)
      expect(run.totals).to.include({ records: 3, matched: 0 })
      expect(found.map(({ transactionId, kind }) => `${transactionId} ${kind}`)).to.have.members([
        `${fee!.subject} fee_mismatch`,
        `${amount!.subject} wrong_amount`,
        `${token!.subject} wrong_contract`,
      ])
    })

    it('a settlement that another signer has paid than the recorded one', async () => {
      const [, other] = bench.signers.addresses
      const { order } = await bench.pay({ route: 'contract' })
      await bench.finish()
      await bench.db.transaction().execute(async (transaction) => {
        await sql`set local session_replication_role = replica`.execute(transaction)
        await sql`update orders set signer = ${other}`.execute(transaction)
      })
      await runOnce(deps)
      const found = await allBreaks(bench.db)
      expect(found.map(({ transactionId, kind }) => [transactionId, kind])).to.have.deep.members([
        [order.subject, 'wrong_reference'],
      ])
    })

    it('a signed transaction that is not the one of its hash, though the chain paid', async () => {
      const direct = await bench.pay({})
      const settled = await bench.pay({ route: 'contract' })
      await bench.pay({ route: 'contract' })
      await bench.finish()
      await sql`
        update attempts set raw = raw || '00'
        where order_id in (${direct.order.id}, ${settled.order.id})`.execute(bench.db)
      await runOnce(deps)
      const found = await allBreaks(bench.db)
      expect(found.map(({ transactionId, kind }) => [transactionId, kind])).to.have.deep.members([
        [direct.order.subject, 'wrong_hash'],
        [settled.order.subject, 'wrong_hash'],
      ])
    })

    it('a payment of our signer that nobody recorded', async () => {
      const [payer] = bench.signers.addresses
      await bench.pay({ payer })
      await bench.finish()
      const hash = await sendAside({ to: addressFrom('stranger'), value: 5n })
      await runOnce(deps)
      const [found, ...others] = await allBreaks(bench.db, 'open')
      expect(others).to.deep.equal([])
      expect(found).to.include({ kind: 'unknown_outgoing', hash, transactionId: null })
      expect(found?.onChain).to.include({ from_address: payer, amount_units: '5' })
    })

    it('a settlement of our signer under a reference that no order has', async () => {
      const [payer] = bench.signers.addresses
      await bench.pay({ payer, route: 'contract' })
      await bench.finish()
      const data = calls.settle(reference(404), addressFrom('stranger'))
      const hash = await sendAside({ to: settlementAddress, value: 5n, data })
      await runOnce(deps)
      const found = await allBreaks(bench.db, 'open')
      expect(found.map(({ kind, hash }) => [kind, hash])).to.deep.equal([
        ['unknown_outgoing', hash],
      ])
    })
  })

  describe('keep a break', () => {
    const lose = async (): Promise<Run> => {
      await sql`update attempts set gas_used = gas_used + 1`.execute(bench.db)
      return runOnce(deps)
    }
    const mend = async (): Promise<Run> => {
      await sql`update attempts set gas_used = gas_used - 1`.execute(bench.db)
      return runOnce(deps)
    }
    const only = async () => (await allBreaks(bench.db))[0]!
    const actions = async () => {
      const moves = await listBreakMoves(bench.db, (await only()).key)
      return moves.map(({ action }) => action)
    }

    beforeEach(async () => {
      await bench.pay({})
      await bench.finish()
    })

    it('under one id, from the first time it was seen to the last', async () => {
      await lose()
      const first = await only()
      await runOnce(deps)
      const second = await only()
      expect(second.id).to.equal(first.id)
      expect(second.firstSeenAt).to.deep.equal(first.firstSeenAt)
      expect(second.lastSeenAt.getTime()).to.be.greaterThan(first.lastSeenAt.getTime())
      expect(await actions()).to.deep.equal(['opened'])
    })

    it('until its cause is gone, and open it again when it comes back', async () => {
      await lose()
      await mend()
      expect(await only()).to.include({ state: 'closed', closedAs: 'resolved' })
      await lose()
      expect(await only()).to.include({ state: 'open', closedAs: undefined })
      expect(await actions()).to.deep.equal(['opened', 'resolved', 'reopened'])
    })

    it('closed when an operator closed it, until the facts are others', async () => {
      await lose()
      const breakId = (await only()).id
      const close = { breakId, as: 'operator', actor: 'user:1', note: 'known' } as const
      expect(await closeBreak(bench.db, { ...close, now: new Date() })).to.equal(true)
      expect(await closeBreak(bench.db, { ...close, now: new Date() })).to.equal(false)
      await runOnce(deps)
      expect(await only()).to.include({ state: 'closed', closedAs: 'operator' })
      await lose()
      expect(await only()).to.include({ state: 'open' })
      expect(await actions()).to.deep.equal(['opened', 'closed', 'reopened'])
    })

    it('while the nodes cannot tell', async () => {
      await lose()
      await sql`update attempts set gas_used = gas_used - 1`.execute(bench.db)
      await runOnce(
        runsDeps({ db: bench.db, urls: [bench.url, NOBODY], clock: createJumpingClock() }),
      )
      expect(await only()).to.include({ state: 'open' })
    })

    it('and look at it again when somebody asks', async () => {
      await lose()
      const check = async () =>
        checkBreak({ db: bench.db, examiner: deps.examiner, signal }, await only())
      expect(await check()).to.equal('stands')
      await sql`update attempts set gas_used = gas_used - 1`.execute(bench.db)
      expect(await check()).to.equal('resolved')
    })
  })

  it('fail with a reason where no node answers, and leave the next one its turn', async () => {
    await bench.pay({})
    const run = await runOnce(
      runsDeps({ db: bench.db, urls: [NOBODY], clock: createJumpingClock() }),
    )
    expect(run.state).to.equal('failed')
    expect(run.error).to.be.a('string')
    expect((await runOnce(deps)).state).to.equal('completed')
  })

  it('go on where they were stopped, and repeat at most one chunk', async () => {
    for (let index = 0; index < 7; index++) await bench.pay({})
    await bench.finish()
    await sql`update attempts set gas_used = gas_used + 1`.execute(bench.db)
    let examined = 0
    const stopper = new AbortController()
    const examiner: RunsDeps['examiner'] = {
      ...deps.examiner,
      async examine(records, signal) {
        examined += records.length
        if (examined === 6) stopper.abort()
        return deps.examiner.examine(records, signal)
      },
    }
    const { runId } = await requestRun(deps, { chainId: CHAIN_ID, requestedBy: 'test' })
    expect(await createRuns({ ...deps, examiner }).pass(stopper.signal)).to.equal(false)
    const stopped = await latestRun(bench.db, { chainId: CHAIN_ID, source: 'store' })
    expect(stopped).to.include({ runId, state: 'running', phase: 'records' })
    expect(stopped?.totals).to.include({ records: 4 })
    expect(await createRuns({ ...deps, examiner }).pass(signal)).to.equal(true)
    const run = await latestRun(bench.db, { chainId: CHAIN_ID, source: 'store' })
    expect(run).to.include({ runId, state: 'completed' })
    expect(run?.totals).to.include({ records: 7, breaks: 7 })
    expect(examined).to.be.at.most(7 + 2)
    expect(await kinds()).to.deep.equal(Array.from({ length: 7 }, () => 'fee_mismatch'))
  })

  it('are kept by a worker in a long step, by saying again and again that it lives', async () => {
    await bench.pay({})
    await requestRun(deps, { chainId: CHAIN_ID, requestedBy: 'test' })
    const gate = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const examine: RunsDeps['examiner']['examine'] = async (records, signal) => {
      reached.resolve()
      await gate.promise
      return deps.examiner.examine(records, signal)
    }
    const examiner = { ...deps.examiner, examine }
    const done = createRuns({ ...deps, examiner, leaseMs: 1_000 }).pass(signal)
    await reached.promise
    const leased = async () =>
      (await sql<{ until: Date }>`select leased_until as until from runs`.execute(bench.db)).rows[0]
    const first = await leased()
    await until(async () => (await leased())!.until > first!.until)
    gate.resolve()
    expect(await done).to.equal(true)
    const run = await latestRun(bench.db, { chainId: CHAIN_ID, source: 'store' })
    expect(run).to.include({ state: 'completed' })
  })

  it('write nothing once another worker has taken them', async () => {
    for (let index = 0; index < 4; index++) await bench.pay({})
    await bench.finish()
    await requestRun(deps, { chainId: CHAIN_ID, requestedBy: 'test' })
    const examiner: RunsDeps['examiner'] = {
      ...deps.examiner,
      async examine(records, signal) {
        await sql`update runs set fence = fence + 1`.execute(bench.db)
        return deps.examiner.examine(records, signal)
      },
    }
    await createRuns({ ...deps, examiner }).pass(signal)
    const run = await latestRun(bench.db, { chainId: CHAIN_ID, source: 'store' })
    expect(run).to.include({ state: 'running', cursor: undefined })
  })
}).timeout(120_000)
