import { ImpossibleError } from '../base/errors.ts'
import type { Attempt, Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { listTakenAttempts, listWaitingAttempts } from '../store/orders/attempts.ts'
import type { LaneKey } from '../store/orders/lanes.ts'

/** An open nonce with everything that was signed for it, oldest first and never empty. */
export type Slot = {
  nonce: bigint
  orderId: bigint | undefined
  attempts: Attempt[]
  newest: Attempt
}

/** What a lane waits for. */
export type LaneQueue = {
  /** The one that all others wait for: it is mined and not final yet, or the first to be mined. */
  lowest: Slot | undefined
  /**
   * Those that may be on their way at a time: the lowest that are not mined. Mined ones stay open
   * until they are final, and take nobody's turn.
   */
  waiting: Slot[]
}

/** The open nonces of each lane that the chain may have news of, from the lowest on. */
export async function listTaken(
  db: Db,
  lanes: ReadonlyArray<LaneKey & { latest: bigint }>,
  limit: number,
): Promise<Map<Hex, Slot[]>> {
  return slotsOf(await listTakenAttempts(db, lanes, limit))
}

/** What each lane waits for; all of them are there. */
export async function listStanding(
  db: Db,
  lanes: readonly LaneKey[],
  inFlight: number,
): Promise<Map<Hex, LaneQueue>> {
  if (lanes.length === 0) return new Map()
  const slots = slotsOf(await listWaitingAttempts(db, lanes, inFlight))
  return new Map(
    lanes.map(({ signer }) => {
      const some = slots.get(signer) ?? []
      const waiting = some.filter((slot) => minedOf(slot) === undefined)
      return [signer, { lowest: some[0], waiting }]
    }),
  )
}

/** The attempt of the slot that is in a block, as far as we know. */
export function minedOf({ attempts }: Slot): Attempt | undefined {
  return attempts.find((attempt) => attempt.state === 'mined')
}

function slotsOf(attempts: readonly Attempt[]): Map<Hex, Slot[]> {
  const byLane = Map.groupBy(attempts, ({ signer }) => signer)
  return new Map([...byLane].map(([signer, ofLane]) => [signer, slotsOfLane(ofLane)]))
}

function slotsOfLane(attempts: readonly Attempt[]): Slot[] {
  return [...Map.groupBy(attempts, ({ nonce }) => nonce)].map(([nonce, some]) => {
    const newest = some.at(-1)
    if (newest === undefined) throw new ImpossibleError('a group has a member')
    return { nonce, orderId: newest.orderId, attempts: some, newest }
  })
}
