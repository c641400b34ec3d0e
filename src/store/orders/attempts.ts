import { sql, type RawBuilder } from 'kysely'

import { BaseError } from '../../base/errors.ts'
import {
  signedFor,
  type Attempt,
  type AttemptBlock,
  type AttemptState,
  type Hex,
  type Order,
  type SendAnswer,
} from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, given, readAll, readOne } from '../database/rows.ts'
import type { BlockId } from './chain-cursor.ts'
import type { LaneKey } from './lanes.ts'

/** The schema has all columns of a block filled, or none. */
const ATTEMPT =
  columnsOf<Attempt>()(`id, chain_id::float8, signer, nonce, order_id, kind, hash, raw,
  gas, max_fee_per_gas as fees.maxFeePerGas, max_priority_fee_per_gas as fees.maxPriorityFeePerGas,
  state, block_hash as block.hash, block_number as block.number, succeeded as block.succeeded,
  gas_used as block.gasUsed, gas_price as block.gasPrice, rollup_fee as block.rollupFee,
  signed_at, sent_at, last_sent_at, last_answer, no_funds_since`)

export type NewAttempt = Pick<
  Attempt,
  'chainId' | 'signer' | 'nonce' | 'orderId' | 'kind' | 'hash' | 'raw' | 'gas' | 'fees' | 'signedAt'
>

/** Safety rule 1 (docs/safety.md): what is signed is stored before anybody else sees it. */
export async function insertAttempt(db: Db, attempt: NewAttempt): Promise<void> {
  const { chainId, signer, nonce, orderId, kind, hash, raw, gas, fees, signedAt } = attempt
  await sql`
    insert into attempts (chain_id, signer, nonce, order_id, kind, hash, raw, gas,
      max_fee_per_gas, max_priority_fee_per_gas, signed_at, max_rollup_fee)
    values (${chainId}, ${signer}, ${nonce}, ${orderId ?? null}, ${kind}, ${hash}, ${raw}, ${gas},
      ${String(fees.maxFeePerGas)}, ${String(fees.maxPriorityFeePerGas)}, ${signedAt}, coalesce((
        select max(max_rollup_fee) from attempts where order_id = ${orderId ?? null}
      ), 0))`.execute(db)
}

/** Of the nonces of a lane, both ends included; oldest first. */
export async function listAttempts(
  db: Db,
  range: LaneKey & { from: bigint; to: bigint },
): Promise<Attempt[]> {
  return readAll<Attempt>(db)`
    select ${ATTEMPT} from attempts
    where chain_id = ${range.chainId} and signer = ${range.signer}
      and nonce between ${range.from} and ${range.to}
    order by nonce, id`
}

/**
 * What was signed for open nonces of lanes that the chain has counted, and for those that are in a
 * block. Each kind has its own limit: many that wait to be final must not hide what is new.
 */
export async function listTakenAttempts(
  db: Db,
  lanes: ReadonlyArray<LaneKey & { latest: bigint }>,
  limit: number,
): Promise<Attempt[]> {
  return listOpenAttempts(
    db,
    lanes,
    sql`(select nonce from ${OPEN} and nonce < lane.latest and not ${IS_MINED}
        order by nonce limit ${limit})
      union all (select nonce from ${OPEN} and ${IS_MINED} order by nonce limit ${limit})`,
  )
}

/** What was signed for the lowest open nonce of lanes, and for the lowest that are in no block. */
export async function listWaitingAttempts(
  db: Db,
  lanes: readonly LaneKey[],
  limit: number,
): Promise<Attempt[]> {
  return listOpenAttempts(
    db,
    lanes,
    sql`(select nonce from ${OPEN} order by nonce limit 1)
      union (select nonce from ${OPEN} and not ${IS_MINED} order by nonce limit ${limit})`,
  )
}

const OPEN = sql`lane_nonces as open
  where open.chain_id = lane.chain_id and open.signer = lane.signer and state = 'open'`

/** As far as we know. The offset keeps it one look by the nonce, as below. */
const IS_MINED = sql`exists (
  select 1 from attempts
  where attempts.chain_id = open.chain_id and attempts.signer = open.signer
    and attempts.nonce = open.nonce and attempts.state = 'mined' offset 0
)`

/**
 * A database without statistics takes a lane for one row, and would rather read all that it ever
 * signed, again for each nonce. So each nonce is a look of its own.
 */
async function listOpenAttempts(
  db: Db,
  lanes: ReadonlyArray<LaneKey & { latest?: bigint }>,
  nonces: RawBuilder<unknown>,
): Promise<Attempt[]> {
  const wanted = lanes.map(({ chainId, signer, latest }) => {
    return { chain_id: chainId, signer, latest: latest === undefined ? null : String(latest) }
  })
  return readAll<Attempt>(db)`
    select ${ATTEMPT.of('attempt')}
    from ${given(wanted)`chain_id bigint, signer text, latest bigint`} as lane
    cross join lateral (${nonces}) as wanted
    cross join lateral (
      select * from attempts
      where chain_id = lane.chain_id and signer = lane.signer and nonce = wanted.nonce offset 0
    ) as attempt
    order by attempt.signer, attempt.nonce, attempt.id`
}

/** Every transaction that was signed for an order or for its bundle, oldest first. */
export async function listAttemptsOf(
  db: Db,
  order: Pick<Order, 'id' | 'bundle'>,
): Promise<Attempt[]> {
  return readAll<Attempt>(db)`
    select ${ATTEMPT} from attempts where order_id = ${signedFor(order)} order by id`
}

/** Of each of these orders that was just accepted; those of one bundle have the same. */
export async function readSignedHashes(
  db: Db,
  subjects: readonly string[],
): Promise<Map<string, Hex>> {
  const { rows } = await sql<{ subject: string; hash: Hex }>`
    select o.subject, a.hash from orders o join attempts a on a.order_id = o.signed_for
    where o.subject = any(${subjects}::text[])`.execute(db)
  return new Map(rows.map(({ subject, hash }) => [subject, hash]))
}

export async function findAttempt(
  db: Db,
  { chainId, hash }: { chainId: number; hash: Hex },
): Promise<Attempt | undefined> {
  return readOne<Attempt>(db)`
    select ${ATTEMPT} from attempts where chain_id = ${chainId} and hash = ${hash}`
}

/** The blocks from a height on that something final of ours is in, lowest first. */
export async function listFinalBlocks(
  db: Db,
  { chainId, from }: { chainId: number; from: bigint },
): Promise<BlockId[]> {
  return readAll<BlockId>(db)`
    select distinct block_number as number, block_hash as hash from attempts
    where chain_id = ${chainId} and state = 'final' and block_number >= ${from}
    order by number`
}

export async function listFinalAttempts(
  db: Db,
  { chainId, block }: { chainId: number; block: BlockId },
): Promise<Attempt[]> {
  return readAll<Attempt>(db)`
    select ${ATTEMPT} from attempts
    where chain_id = ${chainId} and state = 'final'
      and block_number = ${block.number} and block_hash = ${block.hash}
    order by id`
}

export type BlockRecord = {
  id: bigint
  from: AttemptState
  to: 'mined' | 'final'
  block: AttemptBlock
}

/** Records the block of an attempt. Rejects if it is no longer in the state that the caller saw. */
export async function recordBlock(db: Db, record: BlockRecord): Promise<void> {
  await recordBlocks(db, [record])
}

/** All or none. */
export async function recordBlocks(db: Db, records: readonly BlockRecord[]): Promise<void> {
  const wanted = records.map(({ id, from, to, block }) => ({
    attempt_id: String(id),
    from_state: from,
    to_state: to,
    number: String(block.number),
    in_hash: block.hash,
    ok: block.succeeded,
    gas: String(block.gasUsed),
    price: String(block.gasPrice),
    beside: String(block.rollupFee),
  }))
  const { rows } = await sql<{ id: bigint }>`
    update attempts set state = to_state, block_number = number, block_hash = in_hash,
      succeeded = ok, gas_used = row.gas, gas_price = price, rollup_fee = beside
    from ${given(wanted)`
      attempt_id bigint, from_state text, to_state text, number bigint, in_hash text, ok boolean,
      gas bigint, price numeric, beside numeric
    `} as row
    where id = attempt_id and state = from_state
    returning id`.execute(db)
  const recorded = new Set(rows.map(({ id }) => id))
  for (const record of records) if (!recorded.has(record.id)) throw attemptMoved(record)
}

/** A reorg took its block away; the same raw transaction is on its way again. */
export async function forgetBlock(db: Db, id: bigint): Promise<void> {
  const { rows } = await sql`
    update attempts set state = 'signed', block_number = null, block_hash = null,
      succeeded = null, gas_used = null, gas_price = null, rollup_fee = null, sent_at = null,
      last_sent_at = null, no_funds_since = null
    where id = ${id} and state = 'mined'
    returning 1`.execute(db)
  if (rows.length !== 1) throw attemptMoved({ id, from: 'mined', to: 'signed' })
}

/** All at each nonce but the one that took it can never be mined any more. */
export async function supersedeOthers(
  db: Db,
  taken: ReadonlyArray<LaneKey & { nonce: bigint; by: Hex }>,
): Promise<void> {
  const wanted = taken.map(({ chainId, signer, nonce, by }) => ({
    of_chain: chainId,
    of_signer: signer,
    at_nonce: String(nonce),
    taker: by,
  }))
  await sql`
    update attempts set state = 'superseded', block_number = null, block_hash = null,
      succeeded = null, gas_used = null, gas_price = null, rollup_fee = null
    from ${given(wanted)`
      of_chain bigint, of_signer text, at_nonce bigint, taker text
    `} as row
    where chain_id = of_chain and signer = of_signer and nonce = at_nonce
      and hash <> taker and state in ('signed', 'mined')`.execute(db)
}

/** No guard: what a provider said is news about the provider, in whatever state the attempt is. */
export async function noteSent(
  db: Db,
  sent: ReadonlyArray<{ id: bigint; answer: SendAnswer; now: Date }>,
): Promise<void> {
  const wanted = sent.map(({ id, answer, now }) => ({ attempt_id: String(id), answer, at: now }))
  await sql`
    update attempts set sent_at = coalesce(sent_at, at), last_sent_at = at, last_answer = answer,
      no_funds_since = case when answer = 'no_funds' then coalesce(no_funds_since, at) end
    from ${given(wanted)`
      attempt_id bigint, answer text, at timestamptz
    `} as row
    where id = attempt_id`.execute(db)
}

function attemptMoved(move: { id: bigint; from: AttemptState; to: AttemptState }): BaseError {
  return new BaseError(
    `The attempt ${move.id} is no longer ${move.from}, so it does not become ${move.to}. Look again.`,
    { code: 'attempt_moved', retryable: true, details: { ...move, id: String(move.id) } },
  )
}
