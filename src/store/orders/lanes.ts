import { sql, type RawBuilder } from 'kysely'

import { BaseError } from '../../base/errors.ts'
import type { Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { gathering } from '../database/gather.ts'
import { columnsOf, given, readAll, readOne } from '../database/rows.ts'

export type LaneKey = { chainId: number; signer: Hex }

/** What the next order of the lane gets. */
export type Lane = LaneKey & { nextNonce: bigint; nextCounter: bigint }

const LANE = columnsOf<Lane>()('chain_id::float8, signer, next_nonce, next_counter')

/** The right of one worker to write to a lane, until another one takes it. */
export type Lease = LaneKey & { fence: bigint }

export type LaneNonce = {
  nonce: bigint
  orderId: bigint | undefined
  state: 'open' | 'used' | 'foreign'
}

/** Begins a lane at the nonce that the chain expects. A lane that is there stays as it is. */
export async function createLane(db: Db, lane: LaneKey & { nextNonce: bigint }): Promise<void> {
  await sql`
    with lane as (
      insert into nonce_lanes (chain_id, signer, next_nonce)
      values (${lane.chainId}, ${lane.signer}, ${lane.nextNonce})
      on conflict do nothing returning chain_id, signer
    )
    insert into lane_leases (chain_id, signer) select chain_id, signer from lane`.execute(db)
}

/** One statement reads the lanes that are looked for at one time: each payment looks for one. */
export async function findLane(db: Db, { chainId, signer }: LaneKey): Promise<Lane | undefined> {
  const find = FINDING.get(db) ?? gathering((names) => findLanes(db, names))
  FINDING.set(db, find)
  return find(nameOf({ chainId, signer }))
}

const FINDING = new WeakMap<Db, (name: string) => Promise<Lane | undefined>>()

async function findLanes(db: Db, names: readonly string[]): Promise<Map<string, Lane>> {
  const lanes = await readAll<Lane>(db)`
    select ${LANE} from nonce_lanes
    where (chain_id, signer) in (
      select split_part(name, ' ', 1)::bigint, split_part(name, ' ', 2)
      from unnest(${names}::text[]) as name
    )`
  return new Map(lanes.map((lane) => [nameOf(lane), lane]))
}

function nameOf({ chainId, signer }: LaneKey): string {
  return `${chainId} ${signer}`
}

/**
 * Locks the rows until the end of the transaction, so that nobody else hands out their nonces. The
 * rows are locked in the order of their signers, so that concurrent calls never deadlock. A signer
 * without a lane is not in the result.
 */
export async function lockLanes(
  db: Db,
  lanes: { chainId: number; signers: readonly Hex[]; skipsLocked?: boolean },
): Promise<Lane[]> {
  const { chainId, signers, skipsLocked = false } = lanes
  return readAll<Lane>(db)`
    select ${LANE} from nonce_lanes
    where chain_id = ${chainId} and signer = any(${signers}::text[])
    order by signer for no key update ${skipsLocked ? sql`skip locked` : sql``}`
}

/**
 * As `lockLanes`, but of several those that somebody else keeps are left out in the end, so that
 * nobody is kept from a lane of their own by another one. None is held while others are waited for.
 */
export async function lockFreeLanes(
  db: Db,
  key: { chainId: number; signers: readonly Hex[] },
): Promise<Lane[]> {
  // Where there is one alone, nobody else is kept by it.
  if (key.signers.length === 1) return lockLanes(db, key)
  await sql`savepoint before_lanes`.execute(db)
  for (let look = 1; ; look++) {
    const free = await lockLanes(db, { ...key, skipsLocked: true })
    const isEnough = free.length === key.signers.length || (look > LOOKS && free.length > 0)
    if (isEnough || look > 2 * LOOKS) return free
    await sql`rollback to savepoint before_lanes`.execute(db)
    await sql`select pg_sleep(0.02)`.execute(db)
  }
}

const LOOKS = 10

export type LaneStep = { lane: Lane; next: Omit<Lane, keyof LaneKey> }

/** Hands out nonces from where the lane stood; the guard is what the caller read. */
export async function advanceLane(db: Db, step: LaneStep): Promise<void> {
  const { rows } = await advancing([step]).execute(db)
  requireAdvanced(
    [step],
    rows.map(({ signer }) => signer),
  )
}

/** The statement for several lanes, which returns those that stood where the caller saw them. */
export function advancing(steps: readonly LaneStep[]): RawBuilder<{ signer: Hex }> {
  const wanted = steps.map(({ lane, next }) => ({
    of_chain: lane.chainId,
    of_signer: lane.signer,
    nonce: String(lane.nextNonce),
    counter: String(lane.nextCounter),
    to_nonce: String(next.nextNonce),
    to_counter: String(next.nextCounter),
  }))
  return sql`
    update nonce_lanes set next_nonce = to_nonce, next_counter = to_counter
    from ${given(wanted)`
      of_chain bigint, of_signer text, nonce bigint, counter bigint, to_nonce bigint,
      to_counter bigint
    `} as row
    where chain_id = of_chain and signer = of_signer
      and next_nonce = nonce and next_counter = counter
    returning signer`
}

/** Where it throws, the transaction must not commit. */
export function requireAdvanced(steps: readonly LaneStep[], advanced: readonly Hex[]): void {
  for (const { lane } of steps) if (!advanced.includes(lane.signer)) throw leaseLost(lane)
}

/**
 * Of the signers, the one with the fewest open nonces. A signer without a lane is the idlest of
 * all.
 */
export async function idlestSigner(
  db: Db,
  { chainId, signers }: { chainId: number; signers: readonly Hex[] },
): Promise<Hex | undefined> {
  const values = sql.join(signers.map((signer, index) => sql`(${signer}, ${index}::integer)`))
  const { rows } = await sql<{ signer: Hex }>`
    select pool.signer from (values ${values}) as pool (signer, place)
    order by (
      select count(*) from lane_nonces
      where lane_nonces.chain_id = ${chainId} and lane_nonces.signer = pool.signer
        and lane_nonces.state = 'open'
    ), pool.place limit 1`.execute(db)
  return rows[0]?.signer
}

/** Takes lanes with open nonces that nobody worked on since the time, the longest first. */
export async function leaseLanes(
  db: Db,
  lease: { chainId: number; before: Date; until: Date; limit: number },
): Promise<Lease[]> {
  const leases = await readAll<Lease>(db)`
    update lane_leases set fence = fence + 1, leased_until = ${lease.until}
    where (chain_id, signer) in (
      select chain_id, signer from lane_leases as lane
      where chain_id = ${lease.chainId} and leased_until < ${lease.before} and exists (
        select 1 from lane_nonces
        where lane_nonces.chain_id = lane.chain_id and lane_nonces.signer = lane.signer
          and lane_nonces.state = 'open'
      )
      order by leased_until, signer limit ${lease.limit} for update skip locked
    )
    returning chain_id::float8 as "chainId", signer, fence`
  return leases.toSorted((one, other) => (one.signer < other.signer ? -1 : 1))
}

/** Whether any lane has some, also one that a worker has leased. */
export async function hasOpenNonces(db: Db, chainId: number): Promise<boolean> {
  const { rows } = await sql<{ isOpen: boolean }>`
    select exists (
      select from lane_nonces where chain_id = ${chainId} and state = 'open'
    ) as "isOpen"`.execute(db)
  return rows[0]?.isOpen === true
}

/**
 * Holds the leases to the end of the transaction, and refuses a worker who has lost one of them to
 * another. Orders are accepted on the lanes all the same.
 */
export async function holdLeases(db: Db, leases: readonly Lease[]): Promise<void> {
  const { rows } = await sql<{ signer: Hex; fence: bigint }>`
    select signer, fence from lane_leases
    where (chain_id, signer, fence) in (select * from ${givenLeases(leases)})
    order by signer for no key update`.execute(db)
  const held = new Map(rows.map(({ signer, fence }) => [signer, fence]))
  for (const lease of leases) if (held.get(lease.signer) !== lease.fence) throw leaseLost(lease)
}

/** Where another worker has taken a lane, its lease is another one, and stays. */
export async function releaseLanes(db: Db, leases: readonly Lease[], now: Date): Promise<void> {
  await sql`
    update lane_leases set leased_until = ${now}
    where (chain_id, signer, fence) in (select * from ${givenLeases(leases)})`.execute(db)
}

function givenLeases(leases: readonly Lease[]): RawBuilder<unknown> {
  const wanted = leases.map(({ chainId, signer, fence }) => {
    return { of_chain: chainId, of_signer: signer, of_fence: String(fence) }
  })
  return sql`${given(wanted)`of_chain bigint, of_signer text, of_fence bigint`} as held`
}

export async function openNonce(
  db: Db,
  { chainId, signer, nonce, orderId }: LaneKey & { nonce: bigint; orderId: bigint | undefined },
): Promise<void> {
  await sql`
    insert into lane_nonces (chain_id, signer, nonce, order_id)
    values (${chainId}, ${signer}, ${nonce}, ${orderId ?? null})`.execute(db)
}

export type TakenNonce = LaneKey & {
  nonce: bigint
  state: 'used' | 'foreign'
  by: Hex
  blockNumber: bigint
}

/** Records which transaction took the nonce for good. False: it was decided before. */
export async function closeNonce(db: Db, taken: TakenNonce): Promise<boolean> {
  return (await closeNonces(db, [taken])) === 1
}

/** Of how many it was not decided before. */
export async function closeNonces(db: Db, taken: readonly TakenNonce[]): Promise<number> {
  const wanted = taken.map(({ chainId, signer, nonce, state, by, blockNumber }) => ({
    of_chain: chainId,
    of_signer: signer,
    at_nonce: String(nonce),
    to_state: state,
    taker: by,
    block: String(blockNumber),
  }))
  const { rows } = await sql`
    update lane_nonces set state = to_state, taken_by = taker, taken_at_block = block
    from ${given(wanted)`
      of_chain bigint, of_signer text, at_nonce bigint, to_state text, taker text, block bigint
    `} as row
    where chain_id = of_chain and signer = of_signer and nonce = at_nonce and state = 'open'
    returning 1`.execute(db)
  return rows.length
}

export async function findNonce(
  db: Db,
  key: LaneKey & { nonce: bigint },
): Promise<LaneNonce | undefined> {
  return readOne<LaneNonce>(db)`
    select nonce, order_id as "orderId", state from lane_nonces
    where chain_id = ${key.chainId} and signer = ${key.signer} and nonce = ${key.nonce}`
}

export function noLane({ chainId, signer }: LaneKey): BaseError {
  return new BaseError(`The signer ${signer} has no nonce lane. Prepare the order again.`, {
    code: 'lane_missing',
    retryable: true,
    details: { chainId, signer },
  })
}

function leaseLost({ chainId, signer }: LaneKey): BaseError {
  return new BaseError(`Another worker took the nonce lane of ${signer}. Leave the lane to it.`, {
    code: 'lane_lost',
    retryable: true,
    details: { chainId, signer },
  })
}

/** A lane, and the first of its nonces that is ours to account for. */
export type LaneSpan = { signer: Hex; first: bigint }

export async function listLaneSpans(
  db: Db,
  page: { chainId: number; after: string; limit: number },
): Promise<LaneSpan[]> {
  const { rows } = await sql<LaneSpan>`
    select l.signer, coalesce(lowest.nonce, l.next_nonce) as first
    from nonce_lanes l
    left join lateral (
      select nonce from lane_nonces n
      where n.chain_id = l.chain_id and n.signer = l.signer order by nonce limit 1
    ) as lowest on true
    where l.chain_id = ${page.chainId} and l.signer > ${page.after}
    order by l.signer limit ${page.limit}`.execute(db)
  return rows
}

/** A nonce below the bound that none of our transactions is known to have taken. */
export type OpenGap = { nonce: bigint; takenBy: Hex | undefined }

export async function listGaps(
  db: Db,
  lane: { chainId: number; signer: Hex; from: bigint; below: bigint; limit: number },
): Promise<OpenGap[]> {
  return readAll<OpenGap>(db)`
    select series.nonce, n.taken_by as "takenBy"
    from generate_series(${lane.from}::bigint, ${lane.below}::bigint - 1) as series (nonce)
    left join lane_nonces n on n.chain_id = ${lane.chainId} and n.signer = ${lane.signer}
      and n.nonce = series.nonce
    where n.state is distinct from 'used'
    order by series.nonce limit ${lane.limit}`
}
