import { sql, type RawBuilder } from 'kysely'

import {
  AGE_LIMITS_MS,
  AT_RISK,
  type AgeBucket,
  type BreakKind,
  type Finding,
} from '../../domain/breaks.ts'
import { chainName } from '../database/chains.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, given, readAll, readOne } from '../database/rows.ts'

export type OpenBreak = Finding & {
  key: bigint
  chainId: number
  /** Its name. */
  chain: string
  source: string
  state: 'open' | 'closed'
  closedAs: 'resolved' | 'operator' | undefined
  firstSeenAt: Date
  lastSeenAt: Date
  closedAt: Date | undefined
}

export type BreakMove = {
  action: 'opened' | 'reopened' | 'resolved' | 'closed' | 'verified'
  actor: string
  note: string | null
  at: Date
}

/** Of which run the caller speaks, and when. */
export type Seeing = { chainId: number; source: string; run: bigint; actor: string; now: Date }

/**
 * Stores what a run found. What is known is seen again. A break that a run had closed opens again;
 * one that an operator closed stays so until the facts are others than those that were looked at.
 */
export async function recordFindings(
  db: Db,
  findings: readonly Finding[],
  seeing: Seeing,
): Promise<void> {
  if (findings.length === 0) return
  const rows = new Map(findings.map((finding) => [finding.id, rowOf(finding)]))
  await sql`
    with found as (
      select * from ${given([...rows.values()])`
        break_id text, kind text, transaction_id text, hash text, recorded jsonb, on_chain jsonb,
        evidence jsonb
      `} as row
    ), known as (
      select breaks.break_id, breaks.state as was, breaks.state = 'closed' and (
          breaks.closed_as = 'resolved' or breaks.recorded <> found.recorded
          or breaks.on_chain <> found.on_chain
        ) as reopens
      from breaks join found using (break_id)
    ), turned as (${turnedOf(seeing)}
    ), stored as (
      insert into breaks (break_id, chain_id, source, kind, transaction_id, hash, recorded,
        on_chain, evidence, first_seen_at, last_seen_at, last_run)
      select break_id, ${seeing.chainId}, ${seeing.source}, kind, transaction_id, hash, recorded,
        on_chain, evidence, coalesce(turned.since, ${seeing.now}), ${seeing.now}, ${seeing.run}
      from found left join turned using (break_id) order by break_id
      on conflict (break_id) do update set
        recorded = excluded.recorded, on_chain = excluded.on_chain, evidence = excluded.evidence,
        last_seen_at = excluded.last_seen_at, last_run = excluded.last_run,
        state = case when ${reopens()} then 'open' else breaks.state end,
        closed_as = case when ${reopens()} then null else breaks.closed_as end,
        closed_at = case when ${reopens()} then null else breaks.closed_at end
      returning id, break_id
    )
    insert into break_moves (break_key, action, actor, note, moved_at)
    select stored.id, case when known.break_id is null then 'opened' else 'reopened' end,
      ${seeing.actor}, case when known.break_id is null then 'it was ' || turned.kinds end,
      ${seeing.now}
    from stored left join known using (break_id) left join turned using (break_id)
    where known.break_id is null or known.reopens`.execute(db)
}

/**
 * Since when each finding was a disagreement of another kind, which this run did not find again: a
 * transaction that is replaced one day and missing the next one has one age.
 */
function turnedOf({ chainId, source, run }: Seeing): RawBuilder<unknown> {
  return sql`
    select found.break_id, min(earlier.first_seen_at) as since,
      string_agg(earlier.kind, ', ' order by earlier.id) as kinds
    from found join breaks as earlier on earlier.transaction_id = found.transaction_id
      and earlier.state = 'open' and earlier.chain_id = ${chainId} and earlier.source = ${source}
      and earlier.last_run <> ${run} and ${ofTheRecord(sql`earlier.kind`)}
    where ${ofTheRecord(sql`found.kind`)}
      and not exists (select from found as again where again.break_id = earlier.break_id)
    group by found.break_id`
}

/** Kinds that a run looks for elsewhere than at the record come and go by themselves. */
function ofTheRecord(kind: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${kind} not in ('duplicate_payment', 'unknown_outgoing', 'supply_drift',
    'unexplained_balance')`
}

/** Each of the findings once that this run has not stored before: what it saw first stands. */
export async function withoutSeen(
  db: Db,
  findings: readonly Finding[],
  { run }: Pick<Seeing, 'run'>,
): Promise<Finding[]> {
  if (findings.length === 0) return []
  const ids = JSON.stringify(findings.map(({ id }) => id))
  const { rows } = await sql<{ break_id: string }>`
    select break_id from breaks
    where break_id in (select jsonb_array_elements_text(${ids}::jsonb)) and last_run = ${run}
  `.execute(db)
  const fresh = new Map(findings.map((finding) => [finding.id, finding]))
  for (const { break_id: id } of rows) fresh.delete(id)
  return [...fresh.values()]
}

/** Of this signer the run could not tell, so what is open of it stays so. */
export async function keepOfSigner(db: Db, signer: string, seeing: Seeing): Promise<void> {
  await sql`
    update breaks set last_run = ${seeing.run}
    where chain_id = ${seeing.chainId} and source = ${seeing.source} and state = 'open'
      and transaction_id is null and kind = 'unknown_outgoing'
      and on_chain ->> 'from_address' = ${signer}`.execute(db)
}

function reopens(): RawBuilder<unknown> {
  return sql`(breaks.closed_as = 'resolved' or breaks.recorded <> excluded.recorded
    or breaks.on_chain <> excluded.on_chain)`
}

/**
 * Closes the breaks of these transactions that the run looked for and did not find again. Kinds
 * that the run looks for elsewhere are left to `resolveKinds`.
 */
export async function resolveTransactions(
  db: Db,
  transactionIds: readonly string[],
  seeing: Seeing,
): Promise<void> {
  if (transactionIds.length === 0) return
  const ids = JSON.stringify(transactionIds)
  await resolveWhere(
    db,
    sql`transaction_id in (select jsonb_array_elements_text(${ids}::jsonb))
      and ${ofTheRecord(sql`kind`)}`,
    seeing,
  )
}

/** Closes all of these kinds that the run, which has looked everywhere, did not find again. */
export async function resolveKinds(
  db: Db,
  kinds: readonly BreakKind[],
  seeing: Seeing,
): Promise<void> {
  const wanted = sql.join(kinds.map((kind) => sql`${kind}`))
  await resolveWhere(db, sql`kind in (${wanted})`, seeing)
}

async function resolveWhere(db: Db, which: RawBuilder<unknown>, seeing: Seeing): Promise<void> {
  await sql`
    with closed as (
      update breaks set state = 'closed', closed_as = 'resolved', closed_at = ${seeing.now}
      where chain_id = ${seeing.chainId} and source = ${seeing.source} and state = 'open'
        and last_run <> ${seeing.run} and ${which}
      returning id
    )
    insert into break_moves (break_key, action, actor, moved_at)
    select id, 'resolved', ${seeing.actor}, ${seeing.now} from closed`.execute(db)
}

/** Closes those of no transaction, of a run that has looked everywhere and did not find them. */
export async function resolveUnattached(db: Db, seeing: Seeing): Promise<void> {
  await resolveWhere(db, sql`transaction_id is null`, seeing)
}

/** False: it is not open any more. */
export async function closeBreak(
  db: Db,
  close: {
    breakId: string
    as: 'resolved' | 'operator'
    actor: string
    note: string | undefined
    now: Date
  },
): Promise<boolean> {
  const action = close.as === 'operator' ? 'closed' : 'resolved'
  const { rows } = await sql`
    with closed as (
      update breaks set state = 'closed', closed_as = ${close.as}, closed_at = ${close.now}
      where break_id = ${close.breakId} and state = 'open'
      returning id
    )
    insert into break_moves (break_key, action, actor, note, moved_at)
    select id, ${action}, ${close.actor}, ${close.note ?? null}, ${close.now} from closed
    returning 1`.execute(db)
  return rows.length === 1
}

/** Writes down that somebody looked again and found the break as it was. */
export async function noteVerified(
  db: Db,
  verified: { key: bigint; actor: string; now: Date },
): Promise<void> {
  await sql`
    with seen as (
      update breaks set last_seen_at = ${verified.now} where id = ${verified.key} returning id
    )
    insert into break_moves (break_key, action, actor, moved_at)
    select id, 'verified', ${verified.actor}, ${verified.now} from seen`.execute(db)
}

export async function findBreak(db: Db, breakId: string): Promise<OpenBreak | undefined> {
  const row = await readOne<BreakRow>(db)`
    select ${BREAK} from breaks where break_id = ${breakId}`
  return row && breakOf(row)
}

/** Oldest first. */
export async function listBreakMoves(db: Db, key: bigint): Promise<BreakMove[]> {
  const { rows } = await sql<BreakMove>`
    select action, actor, note, moved_at as at from break_moves
    where break_key = ${key} order by id limit 1000`.execute(db)
  return rows
}

export type BreakFilter = {
  chainId?: number | undefined
  kind?: BreakKind | undefined
  state?: 'open' | 'closed' | undefined
  age?: AgeBucket | undefined
  transactionId?: string | undefined
  /** A decimal of whichever currency the break is about. */
  minAmount?: string | undefined
}

/** The newest first, before the one with that key where one is given. */
export async function listBreaks(
  db: Db,
  filter: BreakFilter,
  page: { before: bigint | undefined; limit: number; now: Date },
): Promise<OpenBreak[]> {
  const rows = await readAll<BreakRow>(db)`
    select ${BREAK} from breaks where ${isTaken(filter, page.now)}
      ${page.before === undefined ? sql`` : sql`and id < ${page.before}`}
    order by breaks.id desc limit ${page.limit}`
  return rows.map(breakOf)
}

export async function countBreaks(db: Db, filter: BreakFilter, now: Date): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from breaks where ${isTaken(filter, now)}`.execute(db)
  return rows[0]?.total ?? 0
}

/** How many are open, by kind. */
export async function countOpenBreaks(db: Db, chainId: number): Promise<Map<string, number>> {
  const { rows } = await sql<{ kind: string; open: number }>`
    select kind, count(*)::integer as open from breaks
    where chain_id = ${chainId} and state = 'open' group by kind`.execute(db)
  return new Map(rows.map(({ kind, open }) => [kind, open]))
}

function isTaken(filter: BreakFilter, now: Date): RawBuilder<unknown> {
  const { kind, state, transactionId } = filter
  return sql`${filter.chainId === undefined ? sql`true` : sql`chain_id = ${filter.chainId}`}
    ${kind === undefined ? sql`` : sql`and kind = ${kind}`}
    ${state === undefined ? sql`` : sql`and state = ${state}`}
    ${transactionId === undefined ? sql`` : sql`and transaction_id = ${transactionId}`}
    ${isAbout(filter.minAmount)}
    ${isOfAge(filter.age, now)}`
}

/** What a break is about stands among its facts, where it may be any text. */
function isAbout(minAmount: string | undefined): RawBuilder<unknown> {
  if (minAmount === undefined) return sql``
  const stated = AT_RISK.map(([side, name]) => sql`${sql.ref(COLUMNS[side])} ->> ${sql.lit(name)}`)
  const text = sql`coalesce(${sql.join(stated)})`
  return sql`and case when ${text} ~ '^-?[0-9]{1,30}([.][0-9]{1,30})?$'
    then abs(${text}::numeric) >= ${minAmount}::numeric else false end`
}

const COLUMNS = { recorded: 'recorded', onChain: 'on_chain', evidence: 'evidence' } as const

function isOfAge(age: AgeBucket | undefined, now: Date): RawBuilder<unknown> {
  const before = (ms: number): Date => new Date(now.getTime() - ms)
  const { under_1h: hour, under_1d: day, under_7d: week } = AGE_LIMITS_MS
  switch (age) {
    case undefined:
      return sql``
    case 'under_1h':
      return sql`and first_seen_at > ${before(hour)}`
    case 'under_1d':
      return sql`and first_seen_at > ${before(day)} and first_seen_at <= ${before(hour)}`
    case 'under_7d':
      return sql`and first_seen_at > ${before(week)} and first_seen_at <= ${before(day)}`
    case 'over_7d':
      return sql`and first_seen_at <= ${before(week)}`
    default:
      return age satisfies never
  }
}

function rowOf(finding: Finding): Record<string, unknown> {
  const { id, kind, transactionId, hash, recorded, onChain, evidence } = finding
  return {
    break_id: id,
    kind,
    transaction_id: transactionId,
    hash,
    recorded,
    on_chain: onChain,
    evidence,
  }
}

const BREAK = sql`${columnsOf<Omit<OpenBreak, 'chain'>>()(`id as key, break_id as id,
  chain_id::float8, source, kind, transaction_id, hash, recorded, on_chain, evidence, state,
  closed_as, first_seen_at, last_seen_at, closed_at`)}, ${chainName('breaks.chain_id')} as chain`

/** Null is undefined in what is read, but not in a finding. */
type BreakRow = Omit<OpenBreak, 'transactionId' | 'hash'> &
  Record<'transactionId' | 'hash', string | undefined>

function breakOf(row: BreakRow): OpenBreak {
  return { ...row, transactionId: row.transactionId ?? null, hash: row.hash ?? null }
}
