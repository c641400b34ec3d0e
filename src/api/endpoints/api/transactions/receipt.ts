import { mayUse, type Caller } from '../../../../domain/access.ts'
import type { RandomBytes } from '../../../../domain/ids.ts'
import { referenceOf, type Hex } from '../../../../domain/orders.ts'
import { findEveryonesTransaction } from '../../../../store/access/everyone.ts'
import type { Db } from '../../../../store/database/database.ts'
import { findOrderOf } from '../../../../store/orders/orders.ts'
import { findArrival } from '../../../../store/rails/checkout-closings.ts'
import { findReceiptOf, insertReceipt } from '../../../../store/transactions/receipts.ts'
import { findTransaction, type Transaction } from '../../../../store/transactions/transactions.ts'
import { RequestError } from '../../../../wire/errors.ts'
import { ReceiptSchema } from '../../../../wire/group-b/admin.ts'
import { TransactionParamsSchema } from '../../../../wire/group-b/transactions.ts'
import { chainOf, type Chains } from '../../../chains.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'

/** What the chain holds for a transaction of ours. The contract and the reference identify it. */
export type ProvenPayment = {
  transactionId: string
  chainId: number
  hash: string
  contract: Hex | undefined
  /** Undefined for a plain transfer. */
  reference: Hex | undefined
}

/** The text of a quittance for a final payment, or why the chain does not prove it now. */
export type ProvePayment = (
  payment: ProvenPayment,
) => Promise<{ quittance: string } | { problem: string }>

/** Makes the page that proves a payment to anyone who has its address. */
export function receiptCreateEndpoint(deps: {
  chains: Chains<{ provePayment: ProvePayment }>
  randomBytes: RandomBytes
}): Endpoint {
  const { chains, randomBytes } = deps
  return defineEndpoint({
    route: 'POST /api/transactions/{transaction_id}/receipt',
    operationId: 'createReceipt',
    summary: 'Make a public page that proves a final payment to its payee',
    description:
      'Anyone who knows its address can read the page, and nobody can guess it. The payment ' +
      'must be final on the chain.',
    tag: 'Transactions',
    access: 'transactions:write',
    params: TransactionParamsSchema,
    answer: ReceiptSchema,
    failures: ['conflict'],
    prepare: async ({ params, caller, db }) => {
      const transaction = await requireTransaction(db, caller, params.transaction_id)
      if (await findReceiptOf(db, transaction.transactionId)) return ''
      const payment = await findFinal(db, transaction)
      if (payment === undefined) {
        const message =
          'Only a payment that is final on the chain has a receipt. Try again when it is final.'
        throw new RequestError('conflict', message)
      }
      const proof = await chainOf(chains, payment.chainId).provePayment(payment)
      if ('problem' in proof) throw new RequestError('unavailable', proof.problem)
      return proof.quittance
    },
    handle: async ({ params, db, prepared: quittance }) => {
      const { transaction_id: transactionId } = params
      const token = Buffer.from(randomBytes(32)).toString('base64url')
      const receipt =
        quittance === ''
          ? await findReceiptOf(db, transactionId)
          : await insertReceipt(db, { token, transactionId, quittance })
      if (!receipt) throw new RequestError('not_found', 'You have no transaction with this id.')
      return {
        success: true as const,
        token: receipt.token,
        path: `/r/${receipt.token}`,
        quittance_path: `/r/${receipt.token}/quittance.json`,
        created_at: receipt.createdAt.toISOString(),
      }
    },
  })
}

/** Of an order that is completed, or of what has arrived. */
async function findFinal(db: Db, transaction: Transaction): Promise<ProvenPayment | undefined> {
  const { transactionId, ethTransactionHash: hash } = transaction
  const order = await findOrderOf(db, transactionId)
  if (order !== undefined) {
    if (order.state !== 'completed') return undefined
    const { chainId, contract } = order
    return { transactionId, chainId, hash: hash ?? '', contract, reference: referenceOf(order) }
  }
  const arrival = await findArrival(db, transactionId)
  if (!arrival?.isThere || arrival.payee === undefined) return undefined
  const { chainId, transactionHash, reference, contract } = arrival
  return { transactionId, chainId, hash: transactionHash, contract, reference }
}

async function requireTransaction(
  db: Db,
  caller: Caller,
  transactionId: string,
): Promise<Transaction> {
  const found = mayUse(caller, 'admin')
    ? await findEveryonesTransaction(db, transactionId)
    : await findTransaction(db, { userId: caller.userId, transactionId })
  if (!found) throw new RequestError('not_found', 'You have no transaction with this id.')
  return found
}
