import { readObjections } from '../../../../store/transactions/objections.ts'
import { findTransaction, listMoves } from '../../../../store/transactions/transactions.ts'
import { RequestError } from '../../../../wire/errors.ts'
import {
  TransactionDetailSchema,
  TransactionParamsSchema,
} from '../../../../wire/group-b/transactions.ts'
import { defineEndpoint } from '../../../admission/endpoint.ts'
import { readBlockchainTransaction } from '../blockchain/wire.ts'
import { fieldsOf } from '../fields.ts'
import { readChargeBack } from '../payments/charges.ts'
import { toMoveWire, toTransactionWire } from './wire.ts'

export const transactionDetailEndpoint = defineEndpoint({
  route: 'GET /api/transactions/{transaction_id}',
  operationId: 'getTransaction',
  summary: 'Read a transaction with its history and the reasons',
  tag: 'Transactions',
  access: 'transactions:read',
  params: TransactionParamsSchema,
  answer: TransactionDetailSchema,
  handle: async ({ params, caller, db }) => {
    const wanted = { userId: caller.userId, transactionId: params.transaction_id }
    const transaction = await findTransaction(db, wanted)
    if (!transaction) {
      throw new RequestError('not_found', 'You have no transaction with this id.')
    }
    const moves = await listMoves(db, transaction)
    const objections = await readObjections(db, transaction.transactionId)
    return {
      success: true as const,
      ...toTransactionWire(transaction, objections),
      ...fieldsOf(transaction, 'userId', 'institutionId', 'gatewayId', 'metadata'),
      ...(await readChargeBack(db, transaction)),
      blockchain_transaction: await readBlockchainTransaction(db, transaction, objections),
      history: moves.map(toMoveWire),
    }
  },
})
