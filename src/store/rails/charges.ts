import { sql } from 'kysely'

import type { Currency } from '../../domain/money.ts'
import type { TransactionStatus } from '../../domain/states.ts'
import type { Db } from '../database/database.ts'
import { leasing, type Due } from '../database/leases.ts'
import { columnsOf, readAll, readOne } from '../database/rows.ts'
import { inUnits, type InDecimals } from '../transactions/transactions.ts'

/** A payment at a gateway: the transaction, and what the gateway says of it. */
export type Charge = {
  transactionId: string
  userId: number
  /** Of the transaction. */
  status: TransactionStatus
  amount: bigint
  currency: Currency
  description: string
  metadata: Readonly<Record<string, string>>
  createdAt: Date
  gatewayId: number
  kind: string
  externalId: string | undefined
  clientSecret: string | undefined
  url: string | undefined
  captureId: string | undefined
  gatewayStatus: string | undefined
  errorCode: string | undefined
  received: bigint | undefined
  /** Where it is paid on a chain. */
  chainId: number | undefined
  reference: `0x${string}` | undefined
  expiresAt: Date | undefined
  wakes: number
  lease: number
  tries: number
}

/** In the transaction that records its transaction. Nobody looks at it before `dueAt`. */
export async function insertCharge(
  db: Db,
  charge: Pick<Charge, 'transactionId' | 'gatewayId' | 'kind'> &
    Partial<
      Pick<Charge, 'externalId' | 'chainId' | 'reference' | 'expiresAt' | 'gatewayStatus'>
    > & {
      /** Absent: nobody has to ask for it. */
      dueAt?: Date | undefined
    },
): Promise<void> {
  await sql`
    insert into charges (transaction_id, gateway_id, kind, external_id, chain_id, reference,
      expires_at, gateway_status, due_at)
    values (${charge.transactionId}, ${charge.gatewayId}, ${charge.kind},
      ${charge.externalId ?? null}, ${charge.chainId ?? null}, ${charge.reference ?? null},
      ${charge.expiresAt ?? null}, ${charge.gatewayStatus ?? null},
      ${charge.dueAt ?? null})`.execute(db)
}

/** The charge of any user. Before you show it to a user, look up that user's transaction. */
export async function findCharge(db: Db, transactionId: string): Promise<Charge | undefined> {
  return (await findCharges(db, [transactionId]))[0]
}

/** Those that are there, in no order. */
export async function findCharges(db: Db, transactionIds: readonly string[]): Promise<Charge[]> {
  const charges = await readAll<InDecimals<Charge>>(db)`
    ${SELECT} where c.transaction_id = any(${transactionIds}::text[])`
  return charges.map(inUnits)
}

/** The same, and nobody else changes it before the end of the transaction. */
export async function lockCharge(db: Db, transactionId: string): Promise<Charge | undefined> {
  const { rows } = await sql`
    select 1 from charges where transaction_id = ${transactionId} for update`.execute(db)
  // A statement of its own, since a lock that was waited for shows other tables as they were.
  return rows.length === 0 ? undefined : findCharge(db, transactionId)
}

export async function findChargeByExternalId(
  db: Db,
  wanted: { gatewayId: number; externalId: string },
): Promise<Charge | undefined> {
  const charge = await readOne<InDecimals<Charge>>(db)`
    ${SELECT} where c.gateway_id = ${wanted.gatewayId}
      and c.external_id = ${wanted.externalId}`
  return charge && inUnits(charge)
}

export async function leaseCharges(db: Db, due: Due): Promise<Charge[]> {
  const charges = await readAll<InDecimals<Charge>>(db)`
    with leased as (${leasing('charges', due)})
    select ${CHARGE} from leased c join transactions t using (transaction_id)`
  return charges.map(inUnits)
}

/** There is news of it at the gateway. False where there is no such charge at this gateway. */
export async function wakeCharge(
  db: Db,
  charge: { gatewayId: number; transactionId: string },
): Promise<boolean> {
  const { rows } = await sql`
    update charges set due_at = '-infinity', wakes = wakes + 1, tries = 0
    where transaction_id = ${charge.transactionId} and gateway_id = ${charge.gatewayId}
    returning 1`.execute(db)
  return rows.length > 0
}

export type ChargeFacts = Pick<Charge, 'externalId' | 'gatewayStatus'> &
  Partial<Pick<Charge, 'clientSecret' | 'url' | 'captureId' | 'errorCode' | 'received'>>

/**
 * Keeps what the gateway says, and holds the row to the end of the transaction. False where the
 * charge has another name there already: then it is said of another one.
 */
export async function learnCharge(
  db: Db,
  transactionId: string,
  facts: ChargeFacts,
): Promise<boolean> {
  const externalId = facts.externalId ?? null
  const { rows } = await sql`
    update charges set external_id = coalesce(external_id, ${externalId}),
      client_secret = coalesce(${facts.clientSecret ?? null}, client_secret),
      url = coalesce(${facts.url ?? null}, url),
      capture_id = coalesce(${facts.captureId ?? null}, capture_id),
      gateway_status = ${facts.gatewayStatus ?? null}, error_code = ${facts.errorCode ?? null},
      received = coalesce(${facts.received?.toString() ?? null}::numeric, received)
    where transaction_id = ${transactionId}
      and (external_id is null or ${externalId}::text is null or external_id = ${externalId})
    returning 1`.execute(db)
  return rows.length > 0
}

const CHARGE =
  columnsOf<Charge>()(`t.transaction_id, t.user_id, t.status, t.amount::text, t.currency,
  t.description, t.metadata, t.created_at, c.gateway_id, c.kind, c.external_id, c.client_secret,
  c.url, c.capture_id, c.gateway_status, c.error_code, c.received, c.chain_id::float8,
  c.reference, c.expires_at,  c.wakes, c.lease, c.tries`)

const SELECT = sql`select ${CHARGE} from charges c join transactions t using (transaction_id)`
