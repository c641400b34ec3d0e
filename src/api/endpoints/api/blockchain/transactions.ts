import type { Static } from 'typebox'

import { checksummed } from '../../../../chain/hex.ts'
import type { Caller } from '../../../../domain/access.ts'
import { createId, type RandomBytes } from '../../../../domain/ids.ts'
import type { Hex, Order } from '../../../../domain/orders.ts'
import {
  recordTransactions,
  type NewTransaction,
} from '../../../../store/transactions/transactions.ts'
import { amountFields, readAmount } from '../../../../wire/amounts.ts'
import {
  BlockchainCreatedSchema,
  BlockchainCreateSchema,
} from '../../../../wire/group-b/blockchain.ts'
import { defineEndpoint, type Endpoint, type EndpointRequest } from '../../../admission/endpoint.ts'
import type { Outcome } from '../../../admission/together.ts'
import { answering, type BlockchainPayments } from './answering.ts'

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
      'signer_unavailable',
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
    handle: async (request) => {
      const [outcome] = await payTogether(payments, [request])
      if (outcome?.ok !== true) throw outcome?.error
      return outcome.value
    },
    handleTogether: (requests) => payTogether(payments, requests),
    onCommitted: payments.kick,
  })
}

const CURRENCY = 'ETH'

type Request<Prepared> = Pick<EndpointRequest, 'caller' | 'db'> & {
  body: { description: string }
  prepared: { amount: bigint; transactionId: string; payment: Prepared }
}

type Created = Static<typeof BlockchainCreatedSchema>

/** Accepts what it can, and records it in the same SQL transaction. */
async function payTogether<Prepared>(
  payments: BlockchainPayments<Prepared>,
  requests: ReadonlyArray<Request<Prepared>>,
): Promise<Outcome<Created>[]> {
  const [first] = requests
  if (first === undefined) return []
  const { db } = first
  const wanted = requests.map(({ prepared }) => prepared.payment)
  const acceptances = await answering(() => payments.acceptAll(db, wanted))
  const records: NewTransaction[] = []
  const outcomes = requests.map(async (request, place): Promise<Outcome<Created>> => {
    const acceptance = acceptances[place]
    if (acceptance?.ok !== true) return refusalOf(acceptance?.error)
    const { order, hash } = acceptance.value
    records.push(recordOf(request, hash))
    return { ok: true, value: answerOf(request, { order, hash }) }
  })
  const settled = await Promise.all(outcomes)
  if (records.length > 0) await recordTransactions(db, records)
  return settled
}

/** In the words of the operation. */
async function refusalOf(reason: unknown): Promise<Outcome<never>> {
  try {
    return await answering(() => Promise.reject(reason))
  } catch (error) {
    return { ok: false, error }
  }
}

function recordOf({ caller, body, prepared }: Request<unknown>, hash: Hex): NewTransaction {
  return {
    transactionId: prepared.transactionId,
    userId: caller.userId,
    type: 'settlement',
    amount: prepared.amount,
    currency: CURRENCY,
    description: body.description,
    ethTransactionHash: hash,
    actor: spenderOf(caller),
    reason: 'signed and on its way',
  }
}

function answerOf(
  { prepared: { transactionId, amount } }: Request<unknown>,
  { order, hash }: { order: Order; hash: Hex },
): Created {
  return {
    success: true as const,
    transaction_id: transactionId,
    eth_transaction_hash: hash,
    from_address: checksummed(order.signer),
    to_address: checksummed(order.payee),
    ...amountFields({ amount, currency: CURRENCY }),
    status: 'pending' as const,
  }
}

function spenderOf({ userId }: Pick<Caller, 'userId'>): string {
  return `user:${userId}`
}
