import type { Db } from '../store/database/database.ts'
import { holdLease, type Lease } from '../store/orders/lanes.ts'
import { transact } from '../store/database/transact.ts'
import type { SenderContext } from './context.ts'

/**
 * One SQL transaction for the open nonces of a lane, refused to a worker whose lease another one
 * took.
 */
export async function writeLane(
  { db }: SenderContext,
  lease: Lease,
  work: (db: Db) => Promise<void>,
): Promise<void> {
  await transact(db, async (transaction) => {
    await holdLease(transaction, lease)
    await work(transaction)
  })
}
