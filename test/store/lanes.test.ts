import { expect } from 'chai'
import { sql } from 'kysely'

import type { Hex } from '../../src/domain/orders.ts'
import { storePayments, type NewPayment } from '../../src/store/acceptances.ts'
import { listTakenAttempts, listWaitingAttempts } from '../../src/store/attempts.ts'
import type { Db } from '../../src/store/database.ts'
import { closeNonces, createLane, lockLanes } from '../../src/store/lanes.ts'
import { freshDatabase } from '../support/database.ts'

const lane = { chainId: 1, signer: `0x${'aa'.repeat(20)}` } as const
const DONE = 100
const OPEN = 5

describe('a lane that has paid much', () => {
  it('is read as quickly as one that has not, on a database without statistics', async () => {
    const { db } = await freshDatabase()
    await payMuch(db)
    const taken = { ...lane, latest: BigInt(DONE + OPEN), limit: 100 }
    for (const list of [
      (db: Db) => listTakenAttempts(db, taken),
      (db: Db) => listWaitingAttempts(db, { ...lane, limit: 100 }),
    ]) {
      await db.transaction().execute(async (transaction) => {
        expect(await list(transaction)).to.have.length(OPEN)
        expect(await readSoFar(transaction)).to.be.within(OPEN, 4 * OPEN)
      })
    }
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
      acceptedAt: new Date(),
    },
    nonce,
    fees: { maxFeePerGas: 10n, maxPriorityFeePerGas: 1n },
    hash,
    raw: '0x02',
  }
}

/** How many attempts the open transaction has read, by whatever way. */
async function readSoFar(db: Db): Promise<number> {
  const { rows } = await sql<{ read: number }>`
    select (coalesce(idx_tup_fetch, 0) + seq_tup_read)::integer as read
    from pg_stat_xact_user_tables where relname = 'attempts'`.execute(db)
  return rows[0]!.read
}
