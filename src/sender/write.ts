import type { Db } from '../store/database.ts'
import { holdLane, type Lane, type Lease } from '../store/lanes.ts'
import type { SenderContext } from './context.ts'

/** One SQL transaction on a lane, refused to a worker whose lease another one took. */
export async function writeLane(
  { db }: SenderContext,
  lease: Lease,
  work: (db: Db, lane: Lane) => Promise<void>,
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const lane = await holdLane(transaction, lease)
    await work(transaction, lane)
  })
}
