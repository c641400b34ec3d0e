import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import { sql } from 'kysely'

import { overviewEndpoint } from '../../../../src/api/endpoints/api/admin/overview.ts'
import {
  everyonesListEndpoint,
  lifeEndpoint,
} from '../../../../src/api/endpoints/api/admin/transactions.ts'
import { eventListEndpoint } from '../../../../src/api/endpoints/api/events.ts'
import { transactionDetailEndpoint } from '../../../../src/api/endpoints/api/transactions/detail.ts'
import { transactionListEndpoint } from '../../../../src/api/endpoints/api/transactions/list.ts'
import { createId } from '../../../../src/domain/ids.ts'
import type { Hex } from '../../../../src/domain/orders.ts'
import { recordMoves } from '../../../../src/sender/record.ts'
import type { Sender } from '../../../../src/sender/sender.ts'
import type { User } from '../../../../src/store/access/users.ts'
import { listBreakMoves } from '../../../../src/store/reconciliation/breaks.ts'
import { keepSpans } from '../../../../src/store/transactions/overview.ts'
import { addressFrom, CHAIN_ID, GWEI } from '../../../engines/sim/world.ts'
import { callerOf, makeUser } from '../../../fixtures/api/access.ts'
import { startApi, type Api } from '../../../fixtures/api/api.ts'
import { allBreaks, runOnce, runsDeps } from '../../../fixtures/books/runs.ts'
import { createBench, type Bench } from '../../../fixtures/books/sender-bench.ts'
import { makeTransaction } from '../../../fixtures/store/transactions.ts'
import { oneChain } from '../../../fixtures/api/chains.ts'

describe('a payment that a reorg beyond the final block took away', () => {
  let bench: Bench
  let sender: Sender
  let user: User
  let api: Api

  beforeEach(async () => {
    bench = await createBench()
    sender = bench.sender({ onMoved: recordMoves })
    user = await makeUser(bench.db)
    const overview = { clock: bench.clock, environment: 'sandbox' } as const
    const chains = oneChain({ providers: () => [] })
    api = await startApi({
      endpoints: [
        transactionListEndpoint({ chains }),
        transactionDetailEndpoint,
        everyonesListEndpoint({ chains }),
        lifeEndpoint,
        eventListEndpoint,
        overviewEndpoint({ ...overview, chains }),
      ],
      hooks: {
        db: bench.db,
        authenticate: async () => callerOf(user, { scopes: ['admin', 'transactions:read'] }),
      },
    })
  })
  afterEach(() => api.close())
  after(() => bench.stop())

  const read = async (url: string) => (await api.send({ url })).body
  const detailOf = (id: string) => read(`/api/transactions/${id}`) as unknown as Promise<Detail>
  const listed = async (path: string) => {
    const { transactions } = (await read(path)) as unknown as { transactions: Detail[] }
    return transactions.map(({ transaction_id: id, disputed_by: by }) => [
      id,
      by.map(({ reason }) => reason),
    ])
  }
  const settled = async () => {
    const { settled: sums } = (await read('/api/admin/overview')) as unknown as {
      settled: { count: number }
    }
    return sums.count
  }
  const events = async () => {
    const { events: all } = (await read('/api/events')) as unknown as { events: EventShown[] }
    return all.map(({ type, transaction_id: id, status, reason }) => [type, id, status, reason])
  }
  const pass = () => bench.pass(sender)

  /** A payment of the user, ordered by a transaction, that is final. */
  const payFinally = async (): Promise<string> => {
    const transactionId = createId('TX', randomBytes)
    await makeTransaction(bench.db, {
      userId: user.id,
      transactionId,
      type: 'settlement',
      currency: 'ETH',
      amount: 1_000n,
    })
    await sender.pay(bench.requestOf({ subject: transactionId }), bench.signal)
    for (let round = 0; round < 20 && !(await bench.isEmpty()); round++) {
      await pass()
      await bench.world.mine(1)
    }
    await pass()
    return transactionId
  }
  /** The blocks of the last payments are gone, and nobody lets the transactions into new ones. */
  const takeAway = async () => {
    await bench.world.rpc('anvil_reorg', [8, []])
    bench.intercept = async (call, forward) => {
      if (call.method === 'eth_sendRawTransaction') throw new Error('the line broke')
      return forward(call)
    }
    await pass()
    await bench.world.mine(6)
    await pass()
  }

  /** A transaction that nobody recorded stands where that of the payment stood. */
  const takeNonce = async ({ blockchain_transaction: { from_address: from } }: Detail) => {
    const signer = from.toLowerCase() as Hex
    const nonce = await bench.world.nonceOf(signer)
    const fees = { maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI }
    const call = { to: addressFrom('aside'), value: 1n, data: '0x' } as const
    const raw = await bench.signers.sign(signer, {
      ...call,
      chainId: CHAIN_ID,
      nonce,
      gas: 21_000n,
      fees,
    })
    await bench.world.rpc('eth_sendRawTransaction', [raw])
    await bench.world.mine(6)
  }

  it('stayed "completed, final, n confirmations", with nothing beside it', async () => {
    const id = await payFinally()
    const other = await makeTransaction(bench.db, { userId: user.id })
    const before = await detailOf(id)
    expect(before).to.deep.include({ status: 'completed', disputed_by: [] })
    expect(before.blockchain_transaction.confirmations).to.be.greaterThan(2)
    expect(await settled()).to.equal(1)
    bench.clock.advance(20 * 60_000)
    await keepSpans(bench.db, { chainId: CHAIN_ID, now: bench.clock.now() })
    expect(await settled()).to.equal(1)

    await takeAway()
    const alerted = await detailOf(id)
    expect(alerted.status).to.equal('completed')
    expect(alerted.disputed_by.map(({ kind, reason }) => [kind, reason])).to.deep.equal([
      ['alert', 'reorg_after_final'],
    ])
    expect(alerted.blockchain_transaction.confirmations).to.equal(0)
    expect(await settled()).to.equal(0)

    await runOnce(runsDeps({ db: bench.db, urls: [bench.url], clock: bench.clock }))
    const [found] = await allBreaks(bench.db, 'open')
    expect(found).to.include({ transactionId: id })
    const disputed = await detailOf(id)
    expect(disputed.disputed_by).to.deep.include({
      kind: 'break',
      id: found!.id,
      reason: found!.kind,
      opened_at: found!.firstSeenAt.toISOString(),
    })
    const reasons = disputed.disputed_by.map(({ reason }) => reason)
    const lists = ['/api/transactions', '/api/admin/transactions']
    for (const path of lists) {
      expect(await listed(path)).to.have.deep.members([
        [id, reasons],
        [other.transactionId, []],
      ])
    }
    expect(await read(`/api/admin/transactions/${id}`)).to.deep.include({
      disputed_by: disputed.disputed_by,
    })
    const told = await events()
    expect(told).to.deep.include(['transaction.alert_opened', id, 'completed', 'reorg_after_final'])
    expect(told).to.deep.include(['transaction.break_opened', id, 'completed', found!.kind])
  })

  it('counts again once it is final again, and whoever follows hears of it', async () => {
    const id = await payFinally()
    await takeAway()
    expect((await detailOf(id)).disputed_by).to.have.length(1)
    bench.intercept = undefined
    for (let round = 0; round < 8; round++) {
      bench.clock.advance(15_000)
      await pass()
      await bench.world.mine(1)
    }
    await pass()
    const again = await detailOf(id)
    expect(again.disputed_by).to.deep.equal([])
    expect(again.blockchain_transaction.confirmations).to.be.greaterThan(2)
    expect(await settled()).to.equal(1)
    const told = await events()
    expect(told).to.deep.include(['transaction.alert_closed', id, 'completed', 'reorg_after_final'])
  })

  it('keeps the age of its break when that becomes one of another kind', async () => {
    const id = await payFinally()
    await takeAway()
    const deps = runsDeps({ db: bench.db, urls: [bench.url], clock: bench.clock })
    await runOnce(deps)
    const [first] = await allBreaks(bench.db, 'open')
    await sql`update breaks set first_seen_at = first_seen_at - interval '3 days'`.execute(bench.db)
    const since = (await allBreaks(bench.db, 'open'))[0]!.firstSeenAt
    // Somebody else's transaction takes the nonce, as one that nobody recorded.
    await takeNonce(await detailOf(id))
    await runOnce(deps)
    const open = await allBreaks(bench.db, 'open')
    const second = open.find(({ transactionId }) => transactionId === id)
    expect([first?.kind, second?.kind]).to.deep.equal(['missing', 'replaced_unknown'])
    expect(second?.firstSeenAt).to.deep.equal(since)
    const [opened] = await listBreakMoves(bench.db, second!.key)
    expect(opened).to.include({ action: 'opened', note: 'it was missing' })
  })
})

type EventShown = { type: string; transaction_id: string; status: string; reason: string }
type Detail = {
  transaction_id: string
  status: string
  disputed_by: { kind: string; id: string; reason: string; opened_at: string }[]
  blockchain_transaction: { confirmations: number; from_address: string }
}
