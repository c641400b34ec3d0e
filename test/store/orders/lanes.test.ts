import { expect } from 'chai'

import type { Hex } from '../../../src/domain/orders.ts'
import type { Database, Db } from '../../../src/store/database/database.ts'
import { storePayments, type NewPayment } from '../../../src/store/orders/acceptances.ts'
import {
  listTakenAttempts,
  listWaitingAttempts,
  recordBlock,
} from '../../../src/store/orders/attempts.ts'
import { closeNonces, createLane, lockLanes } from '../../../src/store/orders/lanes.ts'
import { ownDatabase } from '../../fixtures/store/database.ts'
import { rowsRead } from '../../fixtures/store/rows-read.ts'

const lane = { chainId: 1, signer: `0x${'aa'.repeat(20)}` } as const
const DONE = 100
const OPEN = 5

describe('a lane that has paid much', () => {
  let database: Database

  // The shared one may have statistics of earlier tests.
  before(async () => {
    database = await ownDatabase()
  })
  after(() => database.close())

  it('is read as quickly as one that has not, on a database without statistics', async () => {
    const { db } = database
    await payMuch(db)
    const taken = { ...lane, latest: BigInt(DONE + OPEN) }
    for (const list of [
      (db: Db) => listTakenAttempts(db, [taken], 100),
      (db: Db) => listWaitingAttempts(db, [lane], 100),
    ]) {
      const read = await rowsRead(db, 'attempts', async (open) => {
        expect(await list(open)).to.have.length(OPEN)
      })
      expect(read).to.be.within(OPEN, 4 * OPEN)
    }
  })

  it('tells of what the chain took since, however many wait to be final', async () => {
    const { db } = database
    const latest = BigInt(DONE + OPEN)
    const open = await listTakenAttempts(db, [{ ...lane, latest }], OPEN)
    const mined = open.slice(0, 2)
    const block = { number: 7n, succeeded: true, gasUsed: 21_000n, gasPrice: 9n, rollupFee: 0n }
    for (const { id, hash } of mined) {
      await recordBlock(db, { id, from: 'signed', to: 'mined', block: { ...block, hash } })
    }
    const taken = await listTakenAttempts(db, [{ ...lane, latest }], 2)
    expect(taken.map(({ nonce }) => nonce)).to.deep.equal(open.slice(0, 4).map((one) => one.nonce))
  })
})

async function payMuch(db: Db): Promise<void> {
  await createLane(db, { ...lane, nextNonce: 0n })
  const count = DONE + OPEN
  const [from] = await lockLanes(db, { chainId: lane.chainId, signers: [lane.signer] })
  const next = { nextNonce: BigInt(count), nextCounter: BigInt(count) }
  const payments = Array.from({ length: count }, (_, at) => paymentAt(BigInt(at)))
  await storePayments(db, { payments, steps: [{ lane: from!, next }] })
  const done = payments.slice(0, DONE).map(({ nonce, hash }) => {
    return { ...lane, nonce, state: 'used' as const, by: hash, blockNumber: 1n }
  })
  await closeNonces(db, done)
}

function paymentAt(nonce: bigint): NewPayment {
  const hash: Hex = `0x${nonce.toString(16).padStart(64, '0')}`
  return {
    order: {
      ...lane,
      subject: `TX${nonce}`,
      spender: 'user:1',
      reference: hash,
      counter: nonce,
      route: 'direct',
      contract: undefined,
      token: undefined,
      payee: `0x${'bb'.repeat(20)}`,
      amount: 1n,
      gas: 21_000n,
      calldata: undefined,
      acceptedAt: new Date(),
    },
    bundled: [],
    nonce,
    fees: { maxFeePerGas: 10n, maxPriorityFeePerGas: 1n },
    rollupFee: 0n,
    hash,
    raw: '0x02',
  }
}
