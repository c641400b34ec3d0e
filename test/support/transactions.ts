import { randomBytes } from 'node:crypto'

import { createId } from '../../src/domain/ids.ts'
import type { TransactionStatus } from '../../src/domain/states.ts'
import type { Db } from '../../src/store/database.ts'
import {
  moveTransaction,
  recordTransaction,
  type NewTransaction,
  type Transaction,
} from '../../src/store/transactions.ts'

/** A transaction of the user, moved on to the status by legal moves. */
export async function makeTransaction(
  db: Db,
  wanted: Partial<NewTransaction> & { userId: number; status?: TransactionStatus },
): Promise<Transaction> {
  const { status = 'pending', ...rest } = wanted
  let transaction = await recordTransaction(db, {
    transactionId: createId('TX', randomBytes),
    type: 'payment',
    amount: 1250n,
    currency: 'USD',
    description: 'made by a test',
    actor: 'test',
    reason: 'made by a test',
    ...rest,
  })
  for (const to of WAYS[status]) {
    const { transactionId, status: from } = transaction
    const move = { transactionId, from, to, actor: 'test', reason: 'made by a test' }
    transaction = await moveTransaction(db, move)
  }
  return transaction
}

const WAYS: Record<TransactionStatus, readonly TransactionStatus[]> = {
  pending: [],
  processing: ['processing'],
  completed: ['processing', 'completed'],
  failed: ['failed'],
  refunded: ['processing', 'completed', 'refunded'],
}
