import type { Db } from '../../../../store/database/database.ts'
import { listObjections, type Objection } from '../../../../store/transactions/objections.ts'
import type { Transaction } from '../../../../store/transactions/transactions.ts'
import { amountFields } from '../../../../wire/amounts.ts'
import type { ObjectionWire, TransactionWire } from '../../../../wire/group-b/transactions.ts'

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
    id: transaction.id,
    transaction_id: transaction.transactionId,
    ...amountFields(transaction),
    currency: transaction.currency,
    type: transaction.type,
    status: transaction.status,
    description: transaction.description,
    eth_transaction_hash: transaction.ethTransactionHash,
    disputed_by: objections.map(toObjectionWire),
    created_at: transaction.createdAt.toISOString(),
    updated_at: transaction.updatedAt.toISOString(),
  }
}

function toObjectionWire({ kind, id, reason, openedAt }: Objection): ObjectionWire {
  return { kind, id, reason, opened_at: openedAt.toISOString() }
}
