import { checksummed } from '../../chain/address.ts'
import type { Caller } from '../../domain/access.ts'
import { createId, type RandomBytes } from '../../domain/ids.ts'
import type { Hex } from '../../domain/orders.ts'
import { recordTransaction } from '../../store/transactions.ts'
import { amountFields, readAmount } from '../../wire/amounts.ts'
import { BlockchainCreatedSchema, BlockchainCreateSchema } from '../../wire/group-b/blockchain.ts'
import { defineEndpoint, type Endpoint } from '../endpoint.ts'
import { answering, type BlockchainPayments } from './blockchain-payments.ts'

/** Accepts an order and answers with the hash of what was signed; nothing is sent before that. */
export function blockchainCreateEndpoint<Prepared>(deps: {
  payments: BlockchainPayments<Prepared>
  randomBytes: RandomBytes
}): Endpoint {
  const { payments, randomBytes } = deps
  return defineEndpoint({
    group: 'b',
    method: 'POST',
    path: '/api/blockchain/transactions',
    operationId: 'createBlockchainTransaction',
    summary: 'Sends ETH from your address',
    description:
      'The answer comes at once, with the hash of the transaction that was signed and stored. A ' +
      'fee that is raised later changes the hash; the detail lists every attempt.',
    tag: 'Blockchain',
    access: 'blockchain:write',
    body: BlockchainCreateSchema,
    status: 201,
    answer: BlockchainCreatedSchema,
    failures: [
      'contract_not_configured',
      'insufficient_funds',
      'limit_exceeded',
      'payment_would_fail',
      'upstream_failed',
      'unavailable',
    ],
    prepare: async ({ body, caller, db }) => {
      const amount = readAmount({ amount: body.amount, currency: CURRENCY })
      const transactionId = createId('TX', randomBytes)
      const payment = await answering(async () =>
        payments.prepare(db, {
          subject: transactionId,
          spender: spenderOf(caller),
          route: body.use_contract === true ? 'contract' : 'direct',
          payer: await payments.addressOf(caller.userId),
          payee: body.to_address as Hex,
          amount,
        }),
      )
      return { amount, transactionId, payment }
    },
    handle: async ({ body, caller, db, prepared }) => {
      const { amount, transactionId, payment } = prepared
      const { order, hash } = await answering(() => payments.accept(db, payment))
      await recordTransaction(db, {
        transactionId,
        userId: caller.userId,
        type: 'settlement',
        amount,
        currency: CURRENCY,
        description: body.description,
        ethTransactionHash: hash,
        actor: spenderOf(caller),
        reason: 'signed and on its way',
      })
      return {
        success: true as const,
        transaction_id: transactionId,
        eth_transaction_hash: hash,
        from_address: checksummed(order.signer),
        to_address: checksummed(order.payee),
        ...amountFields({ amount, currency: CURRENCY }),
        status: 'pending' as const,
      }
    },
    onCommitted: payments.kick,
  })
}

const CURRENCY = 'ETH'

function spenderOf({ userId }: Pick<Caller, 'userId'>): string {
  return `user:${userId}`
}
