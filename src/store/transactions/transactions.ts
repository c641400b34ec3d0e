import { sql } from 'kysely'

import { BaseError, databaseFactsOf } from '../../base/errors.ts'
import { decimalsOf, formatAmount, parseAmount, type Unit } from '../../domain/money.ts'
import type { Hex } from '../../domain/orders.ts'
import {
  FIRST_STATUS,
  requireLegalMove,
  type Move,
  type TransactionStatus,
  type TransactionType,
} from '../../domain/states.ts'
import { chainName } from '../database/chains.ts'
import type { Db } from '../database/database.ts'
import { columnsOf, given } from '../database/rows.ts'
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
  currency: string
  /** Null where the currency is not a token. */
  tokenDecimals: number | null
  description: string
  ethTransactionHash: string | null
  institutionId: number | null
  gatewayId: number | null
  metadata: Readonly<Record<string, string>>
  /** Under what the client knows it. */
  externalId: string | null
  batchId: string | null
  /** Its name; null where it touches none. */
  chain: string | null
  /** Whom it pays on a chain. */
  toAddress: Hex | null
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
  currency: string
  tokenDecimals?: number | undefined
  description: string
  ethTransactionHash?: string
  institutionId?: number
  gatewayId?: number
  metadata?: Readonly<Record<string, string>> | undefined
  /** Nothing else of the user's has it. */
  externalId?: string | undefined
  batch?: { batchId: string; place: number }
  /** Absent: it touches no chain. */
  chainId?: number | undefined
  toAddress?: Hex
  /** Absent: the database's own time. Records from elsewhere bring theirs. */
  createdAt?: Date
}

export type TransactionMove = Cause & {
  from: TransactionStatus | null
  to: TransactionStatus
  at: Date
}

/**
 * Stores a new transaction, pending, with its first move and its event: all of them or none.
 */
export async function recordTransaction(db: Db, order: NewTransaction): Promise<Transaction> {
  const [transaction] = await recordTransactions(db, [order])
  return transaction!
}

/** Several, all of them or none. */
export async function recordTransactions(
  db: Db,
  orders: readonly NewTransaction[],
): Promise<Transaction[]> {
  try {
    return await folded(db, await insertTransactions(db, orders))
  } catch (error) {
    if (databaseFactsOf(error)?.constraint === 'transactions_external') throw externalIdUsed(error)
    throw error
  }
}

/** The second of two concurrent requests gets this error. A retry names the other transaction. */
function externalIdUsed(cause: unknown): BaseError {
  const message = 'Another transaction of yours has this external_id. Nothing was done.'
  return new BaseError(message, { code: 'external_id_used', cause })
}

/**
 * Makes one legal move, with its history and its event. It is refused when the transaction is not,
 * or no longer, in the status that the caller saw.
 */
export async function moveTransaction(db: Db, move: TransactionStep): Promise<Transaction> {
  const [moved] = await tryMoveTransactions(db, [move])
  if (!moved) throw new MovedOnError(move)
  return moved
}

/** All of them, the same move, or it rejects. */
export async function moveTransactions(
  db: Db,
  which: ReadonlyArray<Cause & { transactionId: string }>,
  move: Move,
): Promise<void> {
  const moves = which.map((one) => ({ ...one, ...move }))
  const moved = new Set((await tryMoveTransactions(db, moves)).map((one) => one.transactionId))
  const left = moves.find(({ transactionId }) => !moved.has(transactionId))
  if (left !== undefined) throw new MovedOnError(left)
}

export type TransactionStep = Move & Cause & { transactionId: string; ethTransactionHash?: string }

/**
 * Those that were moved. The others are in another status or none of ours, and nothing changed for
 * them.
 */
export async function tryMoveTransactions(
  db: Db,
  moves: readonly TransactionStep[],
): Promise<Transaction[]> {
  for (const move of moves) requireLegalMove(move)
  return folded(db, await updateStatuses(db, moves))
}

/** Tells by an event of what happened to a transaction that stays as it is. */
export async function tellOfTransaction(
  db: Db,
  told: { transactionId: string; type: `transaction.${string}`; reason: string },
): Promise<void> {
  await sql`
    with told as (
      select user_id, transaction_id, greatest(log_key, log_key_now()) as log_key,
        jsonb_build_object('status', status, 'previous_status', status, 'reason',
          ${told.reason}::text, 'eth_transaction_hash', eth_transaction_hash) as event_data
      from transactions where transaction_id = ${told.transactionId}
    )
    insert into events (log_key, user_id, type, subject, data)
    select log_key, user_id, ${told.type}, transaction_id, event_data from told`.execute(db)
}

/** Only the user's own: one of somebody else is as unknown as one that does not exist. */
export async function findTransaction(
  db: Db,
  wanted: { userId: number; transactionId: string },
): Promise<Transaction | undefined> {
  const { rows } = await sql<InDecimals<Transaction>>`
    select ${TRANSACTION} from transactions t
    where user_id = ${wanted.userId} and transaction_id = ${wanted.transactionId}`.execute(db)
  return rows[0] && inUnits(rows[0])
}

/** The transaction of any user. For code that moves transactions, not for code that shows them. */
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

/** Of `transactions t`. */
export const TRANSACTION = sql<Transaction>`${columnsOf<
  Omit<Transaction, 'chain'>
>()(`t.id, t.transaction_id, t.user_id, t.type,
  t.status, t.amount::text, t.currency, t.token_decimals, t.description, t.eth_transaction_hash,
  t.institution_id, t.gateway_id, t.metadata, t.external_id, t.batch_id, t.to_address,
  t.created_at, t.updated_at`)}, ${chainName('t.chain_id')} as chain`

/** With its amount as the table has it: a decimal of the currency. */
export type InDecimals<T> = Omit<T, 'amount'> & { amount: string }

export function inUnits<T extends { amount: string } & Unit>(
  row: T,
): Omit<T, 'amount'> & { amount: bigint } {
  return { ...row, amount: parseAmount({ text: row.amount, decimals: decimalsOf(row) }) }
}

type Moved = { transaction: Transaction; moveId: bigint }

type MovedRow = InDecimals<Transaction> & { moveId: bigint }

/**
 * The history and the event of what the CTE `changed` did. They are one statement with it, so that
 * no caller can forget one of them, and cost no round trip.
 */
const ITS_TRACES = sql`
  moved as (
    insert into transaction_moves
      (id, internal_id, user_id, from_status, to_status, actor, reason, log_key)
    overriding system value
    select move_id, id, user_id, from_status, status, actor, reason, log_key from changed
  ), told as (
    insert into events (log_key, user_id, type, subject, data)
    select log_key, user_id, event_type, transaction_id,
      event_data || jsonb_build_object('eth_transaction_hash', eth_transaction_hash)
    from changed
  )
  select ${TRANSACTION}, move_id as "moveId" from changed t`

/**
 * Drawn before the move is written, since the database takes a join with what an insert returns for
 * one of a single row, and compares each with each.
 */
const MOVE_ID = sql`nextval('transaction_moves_id_seq') as move_id`

/** Once for a statement: a function that reads would read again for each row. */
const LOG_KEY_NOW = sql`(select log_key_now())`

async function insertTransactions(db: Db, orders: readonly NewTransaction[]): Promise<Moved[]> {
  const { rows } = await sql<MovedRow>`
    with wanted as (
      select * from ${given(orders.map(newRow))`
        transaction_id text, user_id integer, type text, amount numeric, currency text,
        token_decimals integer, description text, eth_transaction_hash text,
        institution_id integer, gateway_id integer,
        metadata jsonb, external_id text, batch_id text, batch_place integer,
        chain_id bigint, to_address text, created_at timestamptz, actor text, reason text
      `} as row
    ), inserted as (
      insert into transactions
        (transaction_id, user_id, type, status, amount, currency, token_decimals, description,
         eth_transaction_hash, institution_id, gateway_id, metadata, external_id, batch_id,
         batch_place, chain_id, to_address, created_at, updated_at, log_key)
      select transaction_id, user_id, type, ${FIRST_STATUS}, amount, currency, token_decimals,
        description, eth_transaction_hash, institution_id, gateway_id, metadata, external_id,
        batch_id, batch_place, chain_id, to_address, coalesce(created_at, now()),
        coalesce(created_at, now()), ${LOG_KEY_NOW}
      from wanted
      returning *
    ), changed as (
      select inserted.*, ${MOVE_ID}, null as from_status, actor, reason,
        'transaction.created' as event_type,
        jsonb_build_object('status', status, 'previous_status', null, 'reason', reason)
          as event_data
      from inserted join wanted using (transaction_id)
    ), ${ITS_TRACES}`.execute(db)
  return rows.map(movedOf)
}

function newRow(order: NewTransaction) {
  const { amount } = order
  return {
    transaction_id: order.transactionId,
    user_id: order.userId,
    type: order.type,
    amount: formatAmount({ amount, decimals: decimalsOf(order) }),
    currency: order.currency,
    token_decimals: order.tokenDecimals ?? null,
    // Half a character would be no JSON, and is stored as the one that stands for it.
    description: order.description.toWellFormed(),
    eth_transaction_hash: order.ethTransactionHash ?? null,
    institution_id: order.institutionId ?? null,
    gateway_id: order.gatewayId ?? null,
    metadata: order.metadata ?? {},
    external_id: order.externalId ?? null,
    batch_id: order.batch?.batchId ?? null,
    batch_place: order.batch?.place ?? null,
    chain_id: order.chainId ?? null,
    to_address: order.toAddress?.toLowerCase() ?? null,
    created_at: order.createdAt ?? null,
    actor: order.actor,
    reason: order.reason,
  }
}

async function updateStatuses(db: Db, moves: readonly TransactionStep[]): Promise<Moved[]> {
  const wanted = moves.map((move) => ({
    wanted_id: move.transactionId,
    from_status: move.from,
    to_status: move.to,
    actor: move.actor,
    reason: move.reason,
    hash: move.ethTransactionHash ?? null,
  }))
  const { rows } = await sql<MovedRow>`
    with updated as (
      update transactions
      set status = to_status, updated_at = greatest(updated_at, now()),
        log_key = greatest(log_key, ${LOG_KEY_NOW}),
        eth_transaction_hash = coalesce(hash, eth_transaction_hash)
      from ${given(wanted)`
        wanted_id text, from_status text, to_status text, actor text, reason text, hash text
      `} as row
      where transaction_id = wanted_id and status = from_status
      returning transactions.*, from_status, actor, reason
    ), changed as (
      select *, ${MOVE_ID}, 'transaction.' || status as event_type,
        jsonb_build_object('status', status, 'previous_status', from_status, 'reason', reason)
          as event_data
      from updated
    ), ${ITS_TRACES}`.execute(db)
  return rows.map(movedOf)
}

function movedOf({ moveId, ...row }: MovedRow): Moved {
  return { transaction: inUnits(row), moveId }
}

async function folded(db: Db, moved: readonly Moved[]): Promise<Transaction[]> {
  for (const { transaction, moveId } of moved) {
    await foldNowAndThen(db, { userId: transaction.userId, moveId })
  }
  return moved.map(({ transaction }) => transaction)
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
