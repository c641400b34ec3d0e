import { checksummed } from '../../../../chain/hex.ts'
import { sentenceOfSelector } from '../../../../chain/reverts.ts'
import {
  statusOf,
  type BatchItem,
  type SummedBatch,
} from '../../../../store/transactions/batches.ts'
import { amountFields } from '../../../../wire/amounts.ts'
import type { BatchWire } from '../../../../wire/group-b/blockchain.ts'
import { fieldsOf } from '../fields.ts'

/** A batch as lists and details show it. */
export function toBatchWire(batch: SummedBatch): BatchWire {
  const { currency, tokenDecimals, sums } = batch
  const sumOf = (wanted: string) => {
    const { count = 0, amount = 0n } = sums.find(({ status }) => status === wanted) ?? {}
    return { count, ...amountFields({ amount, currency, tokenDecimals }) }
  }
  return {
    ...fieldsOf(batch, 'batchId', 'chain', 'currency', 'onFailure', 'count', 'createdAt'),
    ...amountFields(batch),
    status: statusOf(batch),
    completed_at: batch.doneAt?.toISOString() ?? null,
    sums: {
      pending: sumOf('pending'),
      processing: sumOf('processing'),
      completed: sumOf('completed'),
      failed: sumOf('failed'),
    },
  }
}

export function toItemWire(item: BatchItem, { currency }: SummedBatch) {
  return {
    index: item.place,
    ...fieldsOf(item, 'transactionId', 'externalId', 'status', 'ethTransactionHash'),
    ...fieldsOf(item, 'reference', 'errorCode'),
    error_reason: item.refusal && sentenceOfSelector(item.refusal),
    to_address: checksummed(item.payee),
    ...amountFields(item),
    currency,
  }
}
