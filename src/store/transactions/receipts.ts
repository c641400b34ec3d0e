import { sql } from 'kysely'

import { referenceOf, type Hex } from '../../domain/orders.ts'
import type { Db } from '../database/database.ts'
import { findOrderOf } from '../orders/orders.ts'
import { findArrival } from '../rails/checkout-closings.ts'
import { TRANSACTION, inUnits, type InDecimals, type Transaction } from './transactions.ts'

export type Receipt = {
  token: string
  transactionId: string
  quittance: string
  createdAt: Date
}

/** There is one receipt for a transaction; asking twice gives the first one. */
export async function insertReceipt(
  db: Db,
  receipt: Pick<Receipt, 'token' | 'transactionId' | 'quittance'>,
): Promise<Receipt> {
  await sql`
    insert into receipts (token, transaction_id, quittance)
    values (${receipt.token}, ${receipt.transactionId}, ${receipt.quittance})
    on conflict (transaction_id) do nothing`.execute(db)
  const stored = await findReceiptOf(db, receipt.transactionId)
  return stored!
}

export async function findReceiptOf(db: Db, transactionId: string): Promise<Receipt | undefined> {
  const { rows } = await sql<Receipt>`
    select ${COLUMNS} from receipts r where r.transaction_id = ${transactionId}`.execute(db)
  return rows[0]
}

/** Anyone who knows the token may see the receipt. */
export async function findReceipt(
  db: Db,
  token: string,
): Promise<(Receipt & { transaction: Transaction }) | undefined> {
  const { rows } = await sql<InDecimals<Transaction> & { quittance: string; receiptAt: Date }>`
    select r.quittance, r.created_at as "receiptAt", ${TRANSACTION}
    from receipts r join transactions t on t.transaction_id = r.transaction_id
    where r.token = ${token}`.execute(db)
  const [row] = rows
  if (!row) return undefined
  const { quittance, receiptAt: createdAt, ...transaction } = row
  const { transactionId } = transaction
  return { token, transactionId, quittance, createdAt, transaction: inUnits(transaction) }
}

/** What was to be paid on the chain, or what has arrived there. */
export type PaidOnChain = {
  payee: Hex
  amount: bigint
  token: Hex | undefined
  /** Undefined for a plain transfer. */
  reference: Hex | undefined
  contract: Hex | undefined
}

export async function findPaid(db: Db, transactionId: string): Promise<PaidOnChain | undefined> {
  const order = await findOrderOf(db, transactionId)
  if (order !== undefined) {
    const { payee, amount, token, contract } = order
    return { payee, amount, token, reference: referenceOf(order), contract }
  }
  const arrival = await findArrival(db, transactionId)
  if (arrival?.payee === undefined) return undefined
  const { payee, contract, amount, token, reference } = arrival
  return { payee, contract, amount, token, reference }
}

const COLUMNS = sql`
  r.token, r.transaction_id as "transactionId", r.quittance, r.created_at as "createdAt"`
