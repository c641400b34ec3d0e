import { checksummed } from '../../../../chain/hex.ts'
import type { Db } from '../../../../store/database/database.ts'
import { listObjections, type Objection } from '../../../../store/transactions/objections.ts'
import type { Transaction, TransactionMove } from '../../../../store/transactions/transactions.ts'
import { amountFields } from '../../../../wire/amounts.ts'
import type { TransactionWire } from '../../../../wire/group-b/transactions.ts'
import { fieldsOf } from '../fields.ts'

/** Transactions as lists show them, in their order; what speaks against them is read at once. */
export async function toTransactionWires(
  db: Db,
  transactions: readonly Transaction[],
): Promise<TransactionWire[]> {
  const ids = transactions.map(({ transactionId }) => transactionId)
  const objections = await listObjections(db, ids)
  return transactions.map((one) => toTransactionWire(one, objections.get(one.transactionId)))
}

/** A transaction as lists and details show it. */
export function toTransactionWire(
  transaction: Transaction,
  objections: readonly Objection[] = [],
): TransactionWire {
  return {
    ...fieldsOf(transaction, 'id', 'transactionId', 'currency', 'type', 'status', 'description'),
    ...fieldsOf(transaction, 'ethTransactionHash', 'externalId', 'batchId', 'chain'),
    ...fieldsOf(transaction, 'createdAt', 'updatedAt'),
    to_address: transaction.toAddress && checksummed(transaction.toAddress),
    ...amountFields(transaction),
    disputed_by: objections.map((one) => fieldsOf(one, 'kind', 'id', 'reason', 'openedAt')),
  }
}

/** Without who did it: that is the operator's business. */
export function toMoveWire({ to, from, reason, at }: TransactionMove) {
  return { status: to, previous_status: from, reason, created_at: at.toISOString() }
}
