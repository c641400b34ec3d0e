import { expect } from 'chai'
import { sql } from 'kysely'

import { codeOf } from '../../../src/base/errors.ts'
import type { Hex, Order } from '../../../src/domain/orders.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { storePayments, type NewPayment } from '../../../src/store/orders/acceptances.ts'
import {
  findAttempt,
  forgetBlock,
  insertAttempt,
  recordBlock,
  supersedeOthers,
} from '../../../src/store/orders/attempts.ts'
import { readCursor, writeCursor } from '../../../src/store/orders/chain-cursor.ts'
import {
  advanceLane,
  closeNonce,
  createLane,
  holdLeases,
  leaseLanes,
  lockLanes,
  openNonce,
  releaseLanes,
  type Lane,
  type LaneStep,
} from '../../../src/store/orders/lanes.ts'
import {
  findOrder,
  moveOrder,
  moveOrders,
  readLaneLoads,
  requestCancel,
} from '../../../src/store/orders/orders.ts'
import { addSpends } from '../../../src/store/orders/spends.ts'
import { expectFailure } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

const signer: Hex = `0x${'aa'.repeat(20)}`
const lane = { chainId: 1, signer }
const now = new Date('2026-01-01T00:00:00Z')
const hashOf = (digit: string): Hex => `0x${digit.repeat(64)}`
const fees = { maxFeePerGas: 10n, maxPriorityFeePerGas: 1n }
const stepBy = (from: Lane, count: bigint): LaneStep => {
  const { nextNonce, nextCounter } = from
  return { lane: from, next: { nextNonce: nextNonce + count, nextCounter: nextCounter + count } }
}
/** Each digit is another payment at a nonce of its own. */
const paymentOf = (digit: string): NewPayment => ({
  order: {
    ...lane,
    subject: `TX${digit}`,
    spender: 'user:1',
    reference: hashOf(digit),
    counter: BigInt(digit),
    route: 'direct',
    contract: undefined,
    token: undefined,
    payee: `0x${'bb'.repeat(20)}`,
    amount: 10n ** 30n,
    gas: 21_000n,
    calldata: undefined,
    acceptedAt: now,
  },
  bundled: [],
  nonce: 5n + BigInt(digit),
  fees,
  rollupFee: 0n,
  hash: hashOf(digit),
  raw: '0x02',
})
const block = {
  number: 7n,
  hash: hashOf('b'),
  succeeded: true,
  gasUsed: 21_000n,
  gasPrice: 9n,
  rollupFee: 0n,
}

describe('the store of orders', () => {
  let db: Db
  let order: Order

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    await createLane(db, { ...lane, nextNonce: 5n })
    const [seen] = await lockLanes(db, { chainId: 1, signers: [signer] })
    const accepted = { payments: [paymentOf('0')], steps: [stepBy(seen!, 1n)] }
    ;[order] = (await storePayments(db, accepted)) as [Order]
  })

  const attempt = (digit: string, nonce = 5n) =>
    insertAttempt(db, {
      ...lane,
      nonce,
      orderId: order.id,
      kind: 'payment',
      hash: hashOf(digit),
      raw: '0x02',
      gas: 21_000n,
      fees,
      signedAt: now,
    })
  const idOf = async (digit: string) =>
    (await findAttempt(db, { chainId: 1, hash: hashOf(digit) }))!.id
  const refusalOf = async (work: () => Promise<unknown>): Promise<string | undefined> => {
    try {
      await work()
      return 'nothing was refused'
    } catch (error) {
      return codeOf(error)
    }
  }
  const UNIQUE = '23505'
  const RESTRICTED = '23001'
  const FOREIGN_KEY = '23503'

  it('refuses a second nonce to an order while the first may still pay it', async () => {
    const second = { ...lane, nonce: 6n, orderId: order.id }
    expect(await refusalOf(() => openNonce(db, second))).to.equal(UNIQUE)
    const taken = { ...lane, nonce: 5n, by: hashOf('1'), blockNumber: 3n }
    await closeNonce(db, { ...taken, state: 'used' })
    expect(await refusalOf(() => openNonce(db, second))).to.equal(UNIQUE)
  })

  it('allows another nonce when somebody else’s transaction took the first for good', async () => {
    const taken = {
      ...lane,
      nonce: 5n,
      by: hashOf('9'),
      blockNumber: 3n,
      state: 'foreign',
    } as const
    expect(await closeNonce(db, taken)).to.equal(true)
    await openNonce(db, { ...lane, nonce: 6n, orderId: order.id })
    expect(await closeNonce(db, taken)).to.equal(false)
  })

  it('never changes what was accepted, nor a nonce that is decided', async () => {
    const change = () => sql`update orders set amount = amount + 1`.execute(db)
    expect(await refusalOf(change)).to.equal(RESTRICTED)
    await closeNonce(db, { ...lane, nonce: 5n, by: hashOf('9'), blockNumber: 3n, state: 'used' })
    const reopen = () =>
      sql`update lane_nonces set state = 'open', taken_by = null, taken_at_block = null`.execute(db)
    expect(await refusalOf(reopen)).to.equal(RESTRICTED)
  })

  it('refuses a move that the table of states does not have', async () => {
    const { id } = order
    const skip = () => moveOrder(db, { id, from: 'accepted', to: 'completed', now })
    expect(await refusalOf(skip)).to.equal(RESTRICTED)
    await expectFailure(
      () => moveOrder(db, { id, from: 'mined', to: 'accepted', now }),
      'order_moved',
    )
    const late = { id, from: 'mined', to: 'completed', now } as const
    await expectFailure(() => moveOrders(db, [late]), 'order_moved')
    await moveOrder(db, { id, from: 'accepted', to: 'failed', errorCode: 'reverted', now })
    const revive = () => moveOrder(db, { id, from: 'failed', to: 'mined', now })
    expect(await refusalOf(revive)).to.not.equal('nothing was refused')
    expect(await requestCancel(db, { id, code: 'cancelled', now })).to.equal(false)
  })

  it('is asked once to cancel an order', async () => {
    const { id } = order
    expect(await requestCancel(db, { id, code: 'cancelled', now })).to.equal(true)
    expect(await requestCancel(db, { id, code: 'insufficient_funds', now })).to.equal(false)
    expect((await findOrder(db, id))?.cancelCode).to.equal('cancelled')
  })

  it('keeps at most one attempt of a nonce in a block, and each hash once', async () => {
    await attempt('1')
    await attempt('2')
    expect(await refusalOf(() => attempt('2'))).to.equal(UNIQUE)
    await recordBlock(db, { id: await idOf('1'), from: 'signed', to: 'mined', block })
    const second = await idOf('2')
    const both = () => recordBlock(db, { id: second, from: 'signed', to: 'mined', block })
    expect(await refusalOf(both)).to.equal(UNIQUE)
    const again = { id: await idOf('1'), from: 'signed', to: 'mined', block } as const
    await expectFailure(() => recordBlock(db, again), 'attempt_moved')
  })

  it('keeps at most one payment of an order that is final', async () => {
    const settle = async (digit: string) => {
      const id = await idOf(digit)
      await recordBlock(db, { id, from: 'signed', to: 'mined', block })
      await recordBlock(db, { id, from: 'mined', to: 'final', block })
    }
    await settle('0')
    const taken = { ...lane, nonce: 5n, by: hashOf('9'), blockNumber: 3n }
    await closeNonce(db, { ...taken, state: 'foreign' })
    await openNonce(db, { ...lane, nonce: 6n, orderId: order.id })
    await attempt('1', 6n)
    expect(await refusalOf(() => settle('1'))).to.equal(UNIQUE)
  })

  it('refuses an attempt at a nonce that is not the order’s', async () => {
    await openNonce(db, { ...lane, nonce: 6n, orderId: undefined })
    expect(await refusalOf(() => attempt('1', 6n))).to.equal(FOREIGN_KEY)
  })

  it('knows what is common where rows are looked for, and in no other column', async () => {
    await attempt('1')
    await sql`analyze attempts`.execute(db)
    const { rows } = await sql<{ name: string }>`
      select attname as name from pg_stats where tablename = 'attempts'`.execute(db)
    const known = rows.map(({ name }) => name)
    expect(known).to.include.members(['signer', 'nonce', 'hash', 'state', 'signed_at'])
    expect(known).not.to.include.oneOf(['raw', 'max_fee_per_gas'])
  })

  it('takes an attempt out of its block, and supersedes all but the one that stands', async () => {
    await attempt('1')
    await attempt('2')
    const id = await idOf('1')
    await recordBlock(db, { id, from: 'signed', to: 'mined', block })
    await forgetBlock(db, id)
    await expectFailure(() => forgetBlock(db, id), 'attempt_moved')
    await recordBlock(db, { id: await idOf('2'), from: 'signed', to: 'mined', block })
    await supersedeOthers(db, [{ ...lane, nonce: 5n, by: hashOf('2') }])
    expect(await findAttempt(db, { chainId: 1, hash: hashOf('1') })).to.include({
      state: 'superseded',
      block: undefined,
    })
    const found = await findAttempt(db, { chainId: 1, hash: hashOf('2') })
    expect(found).to.deep.include({ state: 'mined', block })
  })

  it('adds up what a signer owes, the most gas included', async () => {
    const loadOf = async () =>
      (await readLaneLoads(db, { chainId: 1, signers: [signer] })).get(signer)
    expect(await loadOf()).to.deep.equal({ open: 1, owed: 10n ** 30n + 210_000n })
    await moveOrder(db, { id: order.id, from: 'accepted', to: 'mined', now })
    expect(await loadOf()).to.equal(undefined)
  })

  it('writes for the worker that took the lane last, and for no other', async () => {
    const until = new Date(now.getTime() + 1000)
    const lease = (before: Date, until: Date) =>
      leaseLanes(db, { chainId: 1, before, until, limit: 9 })
    const first = await lease(now, until)
    expect(first).to.deep.equal([{ chainId: 1, signer, fence: 1n }])
    expect(await lease(now, until)).to.deep.equal([])
    const later = new Date(until.getTime() + 1)
    const second = await lease(later, later)
    await expectFailure(() => holdLeases(db, first), 'lane_lost')
    await expectFailure(() => holdLeases(db, [...second, ...first]), 'lane_lost')
    await releaseLanes(db, first, now)
    expect(await lease(later, until)).to.deep.equal([])
    await holdLeases(db, second)
    await releaseLanes(db, second, now)
    expect(await lease(now, until)).to.deep.equal([])
  })

  it('hands out no nonce on a view of the lane that is out of date', async () => {
    const [seen] = await lockLanes(db, { chainId: 1, signers: [signer] })
    const step = stepBy(seen!, 1n)
    await advanceLane(db, step)
    await expectFailure(() => advanceLane(db, step), 'lane_lost')
    const outOfDate = async () =>
      db
        .transaction()
        .execute((transaction) =>
          storePayments(transaction, { payments: [paymentOf('2')], steps: [step] }),
        )
    await expectFailure(outOfDate, 'lane_lost')
    expect(await findAttempt(db, { chainId: 1, hash: hashOf('2') })).to.equal(undefined)
  })

  it('counts spending up to the limit of the day, and not beyond', async () => {
    const kind = { spender: 'user:1', way: 'chain', currency: 'ETH' } as const
    const spend = { ...kind, day: '2026-01-01', payee: '', most: 10n }
    expect(await addSpends(db, [{ ...spend, amount: 11n }])).to.have.length(0)
    expect(await addSpends(db, [{ ...spend, amount: 6n }])).to.have.length(1)
    expect(await addSpends(db, [{ ...spend, amount: 5n }])).to.have.length(0)
    expect(await addSpends(db, [{ ...spend, amount: 4n }])).to.have.length(1)
    for (const other of [{ day: '2026-01-02' }, { way: 'mint' }, { currency: 'USD' }] as const) {
      expect(await addSpends(db, [{ ...spend, ...other, amount: 10n }])).to.have.length(1)
    }
    expect(await addSpends(db, [{ ...spend, most: undefined, amount: 90n }])).to.have.length(1)
  })

  it('remembers how far it read, and counts reorgs', async () => {
    const head = { number: 9n, hash: hashOf('9') }
    const cursor = { chainId: 1, head, final: undefined, now }
    await writeCursor(db, { ...cursor, isReorg: false })
    await writeCursor(db, { ...cursor, final: { number: 8n, hash: hashOf('8') }, isReorg: true })
    expect(await readCursor(db, 1)).to.deep.equal({
      head,
      final: { number: 8n, hash: hashOf('8') },
      reorgs: 1n,
    })
  })
})
