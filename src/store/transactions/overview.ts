import { sql, type RawBuilder } from 'kysely'

import { UNSETTLING_KINDS } from '../../domain/breaks.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, readAll } from '../database/rows.ts'

/** What the records claim of the chain, and what the chain has said, in wei and in number. */
export type Totals = { count: number; amountWei: bigint }

export type Overview = {
  since: Date
  claimed: Totals
  settled: Totals
  inFlight: { count: number; oldestSeconds: number; byAge: AgeCount[] }
  /** Null until the follower has read a block. */
  head: { number: bigint; finalNumber: bigint | null; updatedAt: Date } | null
  alerts: { kind: string; count: number; since: Date }[]
}

/** How many are younger than that, and as old as the age before; undefined is any age. */
export type AgeCount = { underSeconds: number | undefined; count: number }

/**
 * The state of the platform. Claimed is what transactions say of the orders that were accepted in
 * the last day. Settled is what receipts of final blocks say of the same orders, without those that
 * an open alert or break takes back. Minted dollars are not included: they are counted in another
 * unit.
 */
export async function readOverview(
  db: Db,
  wanted: { chainId: number; now: Date },
): Promise<Overview> {
  const since = startOf(wanted.now)
  const { claimed, settled } = await readTotals(db, { ...wanted, since })
  return {
    since,
    claimed,
    settled,
    inFlight: await readInFlight(db, wanted),
    head: await readHead(db, wanted.chainId),
    alerts: await readAlerts(db, wanted.chainId),
  }
}

/** Transactions that the chain has not decided yet, by the age of their orders. */
const AGES = [60, 600, 3600]

/** The day is cut into spans, so that not all of it is read again each minute. */
const DAY_MS = 24 * 3_600_000
const SPAN_MS = 5 * 60_000
const SPAN = sql`make_interval(secs => ${SPAN_MS / 1000})`

function startOf(now: Date): Date {
  return new Date(Math.floor((now.getTime() - DAY_MS) / SPAN_MS) * SPAN_MS)
}

/**
 * Keeps the sums of spans where nothing is open and the claims are what is settled: they stay so.
 * One where they differ is read each time. A span is given as long again for orders that were
 * accepted in it and are stored late.
 */
export async function keepSpans(
  db: Db,
  { chainId, now }: { chainId: number; now: Date },
): Promise<void> {
  const last = new Date(now.getTime() - 2 * SPAN_MS)
  await sql`
    insert into overview_spans (chain_id, start_at, count, wei)
    select ${chainId}, start_at, claimed, claimed_wei
    from (${spansOf({ chainId, since: startOf(now), last })}) as spans
    where open = 0 and claimed = settled and claimed_wei = settled_wei
    on conflict do nothing`.execute(db)
}

async function readTotals(
  db: Db,
  { chainId, since, now }: { chainId: number; since: Date; now: Date },
): Promise<{ claimed: Totals; settled: Totals }> {
  const { rows } = await sql<
    Record<'claimed' | 'settled' | 'claimed_wei' | 'settled_wei', bigint | null>
  >`
    select sum(claimed) as claimed, sum(settled) as settled,
      sum(claimed_wei) as claimed_wei, sum(settled_wei) as settled_wei
    from (
      select claimed, settled, claimed_wei, settled_wei
      from (${spansOf({ chainId, since, last: now })}) as spans
      union all
      select count, count, wei, wei from overview_spans
      where chain_id = ${chainId} and start_at >= ${since}
      union all
      select 0, -count(*), 0, -coalesce(sum(orders.amount), 0)
      from (${unsettledOrders()}) as unsettled cross join lateral (
        select * from orders where id = unsettled.id and chain_id = ${chainId}
          and route in ('direct', 'contract') and ${IS_SETTLED} offset 0
      ) as orders
      where exists (
        select from overview_spans as kept where kept.chain_id = ${chainId}
          and kept.start_at >= ${since} and orders.accepted_at >= kept.start_at
          and orders.accepted_at < kept.start_at + ${SPAN}
      )
    ) as every`.execute(db)
  const [row] = rows
  return {
    claimed: totalsOf(row?.claimed, row?.claimed_wei),
    settled: totalsOf(row?.settled, row?.settled_wei),
  }
}

/** The sums of the spans that are not kept, to the one that begins last. */
function spansOf(wanted: { chainId: number; since: Date; last: Date }): RawBuilder<unknown> {
  const { chainId, since, last } = wanted
  return sql`
    select start_at, count(*) filter (where is_open) as open,
      count(*) filter (where is_claimed) as claimed,
      count(*) filter (where is_settled) as settled,
      coalesce(sum(amount) filter (where is_claimed), 0) as claimed_wei,
      coalesce(sum(amount) filter (where is_settled), 0) as settled_wei
    from (
      select start_at from generate_series(${since}::timestamptz, ${last}::timestamptz, ${SPAN})
        as every (start_at)
      where not exists (
        select from overview_spans as kept
        where kept.chain_id = ${chainId} and kept.start_at = every.start_at
      ) offset 0
    ) as spans
    left join lateral (
      select orders.amount, orders.state in ('accepted', 'mined') as is_open,
        t.status in ('completed', 'refunded') as is_claimed,
        ${IS_SETTLED} and not orders.id in (${unsettledOrders()}) as is_settled
      from orders join transactions t on t.transaction_id = orders.subject
      where orders.chain_id = ${chainId} and orders.route in ('direct', 'contract')
        and orders.accepted_at >= start_at and orders.accepted_at < start_at + ${SPAN} offset 0
    ) as recent on true
    group by start_at`
}

const IS_SETTLED = sql`exists (
  select from attempts where order_id = orders.signed_for and state = 'final'
    and kind = 'payment' and succeeded
) and (orders.bundle is null or orders.state <> 'failed')`

/**
 * Orders of which an open alert or break says that what the receipt showed is not there any more.
 * They are few, so all are read each time, and spans that were kept before lose them again.
 */
function unsettledOrders(): RawBuilder<unknown> {
  const kinds = sql.join(UNSETTLING_KINDS.map((kind) => sql`${kind}`))
  return sql`
    select order_id as id from sender_alerts where closed_at is null and order_id is not null
    union
    select o.id from sender_alerts join orders o on o.bundle = order_id where closed_at is null
    union
    select o.id from breaks cross join lateral (
      select id from orders where subject = breaks.transaction_id offset 0
    ) as o
    where breaks.state = 'open' and breaks.transaction_id is not null and breaks.kind in (${kinds})`
}

function totalsOf(count: bigint | null | undefined, wei: bigint | null | undefined): Totals {
  return { count: Number(count ?? 0), amountWei: wei ?? 0n }
}

async function readInFlight(
  db: Db,
  { chainId, now }: { chainId: number; now: Date },
): Promise<Overview['inFlight']> {
  const { rows } = await sql<{ age: number; count: bigint; oldest: number }>`
    select width_bucket(seconds, ${AGES}::double precision[]) as age, count(*) as count,
      floor(max(seconds))::integer as oldest
    from (
      select greatest(extract(epoch from ${now}::timestamptz - accepted_at), 0)::double precision
        as seconds
      from orders where chain_id = ${chainId} and state in ('accepted', 'mined')
    ) as open group by age`.execute(db)
  const countOf = (age: number): number => Number(rows.find((row) => row.age === age)?.count ?? 0)
  return {
    count: rows.reduce((sum, { count }) => sum + Number(count), 0),
    oldestSeconds: Math.max(0, ...rows.map(({ oldest }) => oldest)),
    byAge: [...AGES, undefined].map((underSeconds, age) => ({ underSeconds, count: countOf(age) })),
  }
}

async function readHead(db: Db, chainId: number): Promise<Overview['head']> {
  const { rows } = await sql<NonNullable<Overview['head']>>`
    select head_number as number, final_number as "finalNumber", updated_at as "updatedAt"
    from chain_cursors where chain_id = ${chainId}`.execute(db)
  return rows[0] ?? null
}

async function readAlerts(db: Db, chainId: number): Promise<Overview['alerts']> {
  const { rows } = await sql<Overview['alerts'][number]>`
    select kind, count(*)::integer as count, min(opened_at) as since from sender_alerts
    where chain_id = ${chainId} and closed_at is null group by kind order by kind`.execute(db)
  return rows
}

export type Sample = {
  chainId: number
  at: Date
  claimedWei: bigint
  settledWei: bigint
  inFlight: number
  oldestSeconds: number
  providersWell: number
  /** Undefined in samples from before it was counted. */
  openBreaks?: number | undefined
  /** In millionths of a dollar; undefined where there is no stablecoin. */
  supply?: bigint | undefined
  liability?: bigint | undefined
}

const SAMPLE =
  columnsOf<Sample>()(`chain_id::float8, at, claimed as claimedWei, settled as settledWei,
  in_flight, oldest_seconds, providers_well, open_breaks, supply, liability`)

/** One for each minute: of several workers the first one counts. */
export async function insertSample(db: Db, sample: Sample): Promise<void> {
  await sql`
    insert into overview_samples
      (chain_id, at, claimed, settled, in_flight, oldest_seconds, providers_well, open_breaks,
        supply, liability)
    values (${sample.chainId}, date_trunc('minute', ${sample.at}::timestamptz),
      ${String(sample.claimedWei)}::numeric, ${String(sample.settledWei)}::numeric,
      ${sample.inFlight}, ${sample.oldestSeconds},
      ${sample.providersWell}, ${sample.openBreaks ?? null},
      ${sample.supply?.toString() ?? null}::numeric,
      ${sample.liability?.toString() ?? null}::numeric)
    on conflict do nothing`.execute(db)
}

/** Oldest first; of many, evenly so many that a plot shows no more. */
export async function listSamples(
  db: Db,
  wanted: { chainId: number; since: Date; limit: number },
): Promise<Sample[]> {
  return readAll<Sample>(db)`
    select ${SAMPLE} from (
      select *, row_number() over (order by at desc) as place, count(*) over () as number
      from overview_samples where chain_id = ${wanted.chainId} and at >= ${wanted.since}
    ) as numbered
    where (place - 1) % greatest(1, (number + ${wanted.limit} - 1) / ${wanted.limit}) = 0
    order by at limit ${wanted.limit}`
}
