import { sql } from 'kysely'

import type { Hex } from '../../domain/orders.ts'
import type { SignerAlert, SignerAlertKind } from '../../domain/signers.ts'
import type { Db } from '../database/database.ts'
import { readAll } from '../database/rows.ts'

/** What the tables know of an address that signs. */
export type SignerLane = {
  signer: Hex
  /** Undefined where it has never been used. */
  nextNonce: bigint | undefined
  onItsWay: number
  gasToday: bigint
  /** What its latest payments took on average; undefined where there are none. */
  usualGas: bigint | undefined
}

/** In the order of the addresses that are asked for. */
export async function readSignerLanes(
  db: Db,
  wanted: { chainId: number; signers: readonly Hex[]; today: Date },
): Promise<SignerLane[]> {
  const { chainId, signers, today } = wanted
  return readAll<SignerLane>(db)`
    with wanted as (
      select signer, place from unnest(${signers}::text[]) with ordinality as w (signer, place)
    ), spent as (
      select o.signer, sum(a.gas_used * a.gas_price + a.rollup_fee) as wei
      from orders o join attempts a on a.order_id = o.id and a.state in ('mined', 'final')
      where o.chain_id = ${chainId} and o.accepted_at >= ${today}
        and o.signer = any(${signers}::text[])
      group by o.signer
    )
    select wanted.signer, lane.next_nonce as "nextNonce",
      (
        select count(*)::integer from lane_nonces n
        where n.chain_id = ${chainId} and n.signer = wanted.signer and n.state = 'open'
      ) as "onItsWay",
      coalesce(spent.wei, 0)::numeric as "gasToday",
      (
        select ceil(avg(gas_used))::bigint from (
          select gas_used from attempts a
          where a.chain_id = ${chainId} and a.signer = wanted.signer
            and a.state in ('mined', 'final')
          order by a.nonce desc limit ${USUAL_PAYMENTS}
        ) as latest
      ) as "usualGas"
    from wanted
    left join nonce_lanes lane on lane.chain_id = ${chainId} and lane.signer = wanted.signer
    left join spent on spent.signer = wanted.signer
    order by place`
}

const USUAL_PAYMENTS = 100

/** The addresses that users have, by the ids of the users. */
export async function listUserAddresses(
  db: Db,
  page: { afterId: number; limit: number },
): Promise<Array<{ userId: number; username: string; address: Hex }>> {
  return readAll<{ userId: number; username: string; address: Hex }>(db)`
    select id as "userId", username, address from users
    where address is not null and id > ${page.afterId} order by id limit ${page.limit}`
}

type AlertKey = { kind: SignerAlertKind; chainId: number; signer: Hex }

/** True when it is news. */
export async function openSignerAlert(db: Db, alert: AlertKey, now: Date): Promise<boolean> {
  const { rows } = await sql`
    insert into signer_alerts (kind, chain_id, signer, opened_at)
    values (${alert.kind}, ${alert.chainId}, ${alert.signer}, ${now})
    on conflict do nothing
    returning 1`.execute(db)
  return rows.length === 1
}

/** True when it was open. */
export async function closeSignerAlert(db: Db, alert: AlertKey, now: Date): Promise<boolean> {
  const { rows } = await sql`
    update signer_alerts set closed_at = ${now}
    where kind = ${alert.kind} and chain_id = ${alert.chainId} and signer = ${alert.signer}
      and closed_at is null
    returning 1`.execute(db)
  return rows.length === 1
}

/** Those of the platform's own addresses, which are few. */
export async function listSignerAlerts(
  db: Db,
  key: { chainId: number; signers: readonly Hex[] },
): Promise<Array<SignerAlert & { signer: Hex }>> {
  return readAll<SignerAlert & { signer: Hex }>(db)`
    select signer, kind, opened_at as "openedAt" from signer_alerts
    where chain_id = ${key.chainId} and signer = any(${key.signers}::text[])
      and closed_at is null
    order by id`
}
