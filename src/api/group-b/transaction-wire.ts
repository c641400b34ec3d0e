import type { Transaction } from '../../store/transactions.ts'
import { amountFields } from '../../wire/amounts.ts'
import type { TransactionWire } from '../../wire/group-b/transactions.ts'

/** A transaction as lists and details show it. */
export function toTransactionWire(transaction: Transaction): TransactionWire {
  return {
    id: transaction.id,
    transaction_id: transaction.transactionId,
    ...amountFields(transaction),
    currency: transaction.currency,
    type: transaction.type,
    status: transaction.status,
    description: transaction.description,
    eth_transaction_hash: transaction.ethTransactionHash,
    created_at: transaction.createdAt.toISOString(),
    updated_at: transaction.updatedAt.toISOString(),
  }
}
