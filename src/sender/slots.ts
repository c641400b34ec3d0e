import type { Attempt } from '../domain/orders.ts'
import { listAttempts } from '../store/attempts.ts'
import type { Db } from '../store/database.ts'
import { listOpenNonces, listWaitingNonces, type LaneKey, type LaneNonce } from '../store/lanes.ts'

/** An open nonce with everything that was signed for it, oldest first and never empty. */
export type Slot = {
  nonce: bigint
  orderId: bigint | undefined
  attempts: Attempt[]
  newest: Attempt
}

/** The open nonces of a lane, from the lowest on. */
export async function listSlots(db: Db, key: LaneKey, limit: number): Promise<Slot[]> {
  return slotsOf(db, key, await listOpenNonces(db, key, limit))
}

/**
 * Those that may be on their way at a time: the lowest that are not mined. Mined ones stay open
 * until they are final, and take nobody's turn.
 */
export async function listWaiting(db: Db, key: LaneKey, inFlight: number): Promise<Slot[]> {
  return slotsOf(db, key, await listWaitingNonces(db, key, inFlight))
}

/** The attempt of the slot that is in a block, as far as we know. */
export function minedOf({ attempts }: Slot): Attempt | undefined {
  return attempts.find((attempt) => attempt.state === 'mined')
}

async function slotsOf(db: Db, key: LaneKey, nonces: LaneNonce[]): Promise<Slot[]> {
  const [first, last] = [nonces[0], nonces.at(-1)]
  if (first === undefined || last === undefined) return []
  const attempts = await listAttempts(db, { ...key, from: first.nonce, to: last.nonce })
  const byNonce = Map.groupBy(attempts, (attempt) => attempt.nonce)
  return nonces.flatMap((nonce) => slotOf(nonce, byNonce.get(nonce.nonce) ?? []))
}

function slotOf({ nonce, orderId }: LaneNonce, attempts: Attempt[]): Slot[] {
  const newest = attempts.at(-1)
  return newest === undefined ? [] : [{ nonce, orderId, attempts, newest }]
}
