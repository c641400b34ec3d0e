import { sql } from 'kysely'

import { BaseError } from '../base/errors.ts'
import { CURRENCY_DECIMALS, formatAmount, parseAmount, type Currency } from '../domain/money.ts'
import {
  FIRST_STATUS,
  requireLegalMove,
  type Move,
  type TransactionStatus,
  type TransactionType,
} from '../domain/states.ts'
import type { Db } from './database.ts'
import { FOLD_EVERY, foldTallies } from './tallies.ts'

export type Transaction = {
  /** Internal; everything outside names it by `transactionId`. */
  id: bigint
  transactionId: string
  userId: number
  type: TransactionType
  status: TransactionStatus
  /** In the smallest unit of the currency. */
  amount: bigint
  currency: Currency
  description: string
  ethTransactionHash: string | null
  institutionId: number | null
  gatewayId: number | null
  metadata: Readonly<Record<string, string>>
  createdAt: Date
  updatedAt: Date
}

/**
 * Who moves a transaction, as `user:3` or `gateway:card`, and why. The reason is shown to the user.
 */
export type Cause = { actor: string; reason: string }

export type NewTransaction = Cause & {
  transactionId: string
  userId: number
  type: TransactionType
  amount: bigint
  currency: Currency
  description: string
  ethTransactionHash?: string
  institutionId?: number
  gatewayId?: number
  metadata?: Readonly<Record<string, string>>
  /** Absent: the database's own time. Records from elsewhere bring theirs. */
  createdAt?: Date
}

export type TransactionMove = Cause & {
  from: TransactionStatus | null
  to: TransactionStatus
  at: Date
}

/**
 * Stores a new transaction, pending, with its first move, its event and its outbox row: all of them
 * or none.
 */
export async function recordTransaction(db: Db, order: NewTransaction): Promise<Transaction> {
  const { transaction, moveId } = await insertTransaction(db, order)
  await foldNowAndThen(db, { userId: transaction.userId, moveId })
  return transaction
}

/**
 * Makes one legal move, with its history, its event and its outbox row. It is refused when the
 * transaction is not, or no longer, in the status that the caller saw.
 */
export async function moveTransaction(
  db: Db,
  move: Move & Cause & { transactionId: string; ethTransactionHash?: string },
): Promise<Transaction> {
  const moved = await tryMoveTransaction(db, move)
  if (!moved) throw new MovedOnError(move)
  return moved
}

/** Undefined, and nothing changed, when the transaction is in another status or is none of ours. */
export async function tryMoveTransaction(
  db: Db,
  move: Move & Cause & { transactionId: string; ethTransactionHash?: string },
): Promise<Transaction | undefined> {
  requireLegalMove(move)
  const moved = await updateStatus(db, move)
  if (!moved) return undefined
  await foldNowAndThen(db, { userId: moved.transaction.userId, moveId: moved.moveId })
  return moved.transaction
}

/** Only the user's own: one of somebody else is as unknown as one that does not exist. */
export async function findTransaction(
  db: Db,
  wanted: { userId: number; transactionId: string },
): Promise<Transaction | undefined> {
  const { rows } = await sql<TransactionRow>`
    select ${TRANSACTION_COLUMNS} from transactions t
    where user_id = ${wanted.userId} and transaction_id = ${wanted.transactionId}`.execute(db)
  return rows[0] && transactionOf(rows[0])
}

/** Whoever's it is; for those who move transactions, not for those who show them. */
export async function findStatus(
  db: Db,
  transactionId: string,
): Promise<TransactionStatus | undefined> {
  const { rows } = await sql<{ status: TransactionStatus }>`
    select status from transactions where transaction_id = ${transactionId}`.execute(db)
  return rows[0]?.status
}

/** The history of one transaction, oldest first. */
export async function listMoves(db: Db, transaction: { id: bigint }): Promise<TransactionMove[]> {
  const { rows } = await sql<TransactionMove>`
    select from_status as "from", to_status as "to", actor, reason, moved_at as at
    from transaction_moves where internal_id = ${transaction.id} order by id limit 100`.execute(db)
  return rows
}

export type TransactionRow = {
  id: bigint
  transaction_id: string
  user_id: number
  type: TransactionType
  status: TransactionStatus
  amount: string
  currency: Currency
  description: string
  eth_transaction_hash: string | null
  institution_id: number | null
  gateway_id: number | null
  metadata: Record<string, string>
  created_at: Date
  updated_at: Date
}

/** Of `transactions t`. */
export const TRANSACTION_COLUMNS = sql.raw(
  't.id, t.transaction_id, t.user_id, t.type, t.status, t.amount, t.currency, t.description, ' +
    't.eth_transaction_hash, t.institution_id, t.gateway_id, t.metadata, t.created_at, ' +
    't.updated_at',
)

export function transactionOf(row: TransactionRow): Transaction {
  return {
    id: row.id,
    transactionId: row.transaction_id,
    userId: row.user_id,
    type: row.type,
    status: row.status,
    amount: parseAmount({ text: row.amount, decimals: CURRENCY_DECIMALS[row.currency] }),
    currency: row.currency,
    description: row.description,
    ethTransactionHash: row.eth_transaction_hash,
    institutionId: row.institution_id,
    gatewayId: row.gateway_id,
    metadata: row.metadata,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** The outbox topic of every move. Its data are the event's. */
export const TRANSACTION_TOPIC = 'transaction.moved'

type Moved = { transaction: Transaction; moveId: bigint }

/**
 * The history, the event and the outbox row of what the CTE `changed` did. They are one statement
 * with it, so that no caller can forget one of them, and cost no round trip.
 */
const ITS_TRACES = sql`
  moved as (
    insert into transaction_moves
      (internal_id, user_id, from_status, to_status, actor, reason, log_key)
    select id, user_id, from_status, status, actor, reason, log_key from changed
    returning id
  ), told as (
    insert into events (log_key, user_id, type, subject, data)
    select log_key, user_id, event_type, transaction_id, event_data from changed
  ), queued as (
    insert into outbox (user_id, topic, subject, data)
    select user_id, ${TRANSACTION_TOPIC}, transaction_id, event_data from changed
  )
  select ${TRANSACTION_COLUMNS}, moved.id as move_id from changed t, moved`

async function insertTransaction(db: Db, order: NewTransaction): Promise<Moved> {
  const amount = formatAmount({
    amount: order.amount,
    decimals: CURRENCY_DECIMALS[order.currency],
  })
  const { rows } = await sql<TransactionRow & { move_id: bigint }>`
    with inserted as (
      insert into transactions
        (transaction_id, user_id, type, status, amount, currency, description,
         eth_transaction_hash, institution_id, gateway_id, metadata, created_at, updated_at,
         log_key)
      values (${order.transactionId}, ${order.userId}, ${order.type}, ${FIRST_STATUS},
        ${amount}::numeric, ${order.currency}, ${order.description},
        ${order.ethTransactionHash ?? null}, ${order.institutionId ?? null},
        ${order.gatewayId ?? null}, ${JSON.stringify(order.metadata ?? {})}::jsonb,
        coalesce(${order.createdAt ?? null}::timestamptz, now()),
        coalesce(${order.createdAt ?? null}::timestamptz, now()), log_key_now())
      returning *
    ), changed as (
      select *, null as from_status, ${order.actor} as actor, ${order.reason} as reason,
        'transaction.created' as event_type,
        jsonb_build_object('status', status, 'previous_status', null,
          'reason', ${order.reason}::text) as event_data
      from inserted
    ), ${ITS_TRACES}`.execute(db)
  return movedOf(rows[0])!
}

async function updateStatus(
  db: Db,
  move: Move & Cause & { transactionId: string; ethTransactionHash?: string },
): Promise<Moved | undefined> {
  const { rows } = await sql<TransactionRow & { move_id: bigint }>`
    with updated as (
      update transactions
      set status = ${move.to}, updated_at = greatest(updated_at, now()),
        log_key = greatest(log_key, log_key_now()),
        eth_transaction_hash = coalesce(${move.ethTransactionHash ?? null}, eth_transaction_hash)
      where transaction_id = ${move.transactionId} and status = ${move.from}
      returning *
    ), changed as (
      select *, ${move.from} as from_status, ${move.actor} as actor, ${move.reason} as reason,
        'transaction.' || status as event_type,
        jsonb_build_object('status', status, 'previous_status', ${move.from}::text,
          'reason', ${move.reason}::text) as event_data
      from updated
    ), ${ITS_TRACES}`.execute(db)
  return movedOf(rows[0])
}

function movedOf(row: (TransactionRow & { move_id: bigint }) | undefined): Moved | undefined {
  return row && { transaction: transactionOf(row), moveId: row.move_id }
}

/** The ids of moves come from a sequence, so they sample all moves of all processes evenly. */
async function foldNowAndThen(db: Db, move: { userId: number; moveId: bigint }): Promise<void> {
  if (move.moveId % FOLD_EVERY === 0n) await foldTallies(db, move)
}

class MovedOnError extends BaseError {
  constructor(move: Move & { transactionId: string }) {
    super(
      `Transaction ${move.transactionId} is not ${move.from}, so it cannot become ${move.to}. ` +
        'Read it again.',
      { code: 'moved_on', retryable: true, details: { ...move } },
    )
  }
}
