import type { Static } from 'typebox'

import type { Result } from '../../../../base/errors.ts'
import { checksummed } from '../../../../chain/hex.ts'
import { actorOf, type Caller } from '../../../../domain/access.ts'
import type { ChainNames } from '../../../../domain/chains.ts'
import type { Unit } from '../../../../domain/money.ts'
import type { BundleRoute, Hex, Order, Route } from '../../../../domain/orders.ts'
import type { Token } from '../../../../domain/tokens.ts'
import type { Db } from '../../../../store/database/database.ts'
import {
  recordTransactions,
  type NewTransaction,
} from '../../../../store/transactions/transactions.ts'
import type { FailureCode } from '../../../../wire/errors.ts'
import { amountFields, decimalOf } from '../../../../wire/amounts.ts'
import type { BlockchainCreatedSchema } from '../../../../wire/group-b/blockchain.ts'
import type { EndpointRequest } from '../../../admission/endpoint.ts'
import type { Move } from '../../../admission/screen.ts'
import type { Chains } from '../../../chains.ts'
import { ofPayee, SENDER_REFUSALS, type Refusals } from '../../../admission/refusals.ts'

/** What the operations on the chain need of the sender; the composition root fits it in. */
export type BlockchainPayments<Prepared = unknown> = {
  /** The caller's own address, which pays and holds the balance. */
  addressOf: (userId: number) => Promise<Hex>
  /** Asks the chain what the payment takes, outside of any transaction, or rejects. */
  prepare: (db: Db, payment: BlockchainPayment) => Promise<Prepared>
  /** The same of payments that are accepted together; what is refused says which of them. */
  prepareBatch: (db: Db, batch: BlockchainBatch) => Promise<Prepared>
  /** What they would take, and which of the payees are contracts. */
  estimateBatch: (db: Db, batch: BlockchainBatch) => Promise<BatchCost>
  /** Accepts new orders in the open transaction. Of one that is refused, nothing is stored. */
  acceptNew: (
    db: Db,
    prepared: readonly Prepared[],
  ) => Promise<ReadonlyArray<Result<{ order: Order; hash: Hex }>>>
  /** Those that payments can be made in. */
  tokens: readonly Token[]
  balanceOf: (address: Hex) => Promise<bigint>
  tokensOf: (address: Hex) => Promise<readonly TokenBalance[]>
  /** What is accepted is sent soon even without it. */
  kick: () => void
}

export type BlockchainPayment = {
  subject: string
  spender: string
  route: Route
  payer: Hex
  payee: Hex
  /** In wei, or in the smallest unit of the token. */
  amount: bigint
  /** What it is paid in where the route is a token's. */
  token?: Hex | undefined
  withAllowance?: true
}

export type BlockchainBatch = {
  subject: string
  spender: string
  route: BundleRoute
  token?: Hex | undefined
  payer: Hex
  payments: ReadonlyArray<Pick<BlockchainPayment, 'subject' | 'payee' | 'amount'>>
}

/** Gas and fee at most; the contracts are places among the payments. */
export type BatchCost = {
  transactions: number
  gas: bigint
  feeWei: bigint
  contracts: number[]
}

/** What an address holds of a token. */
export type TokenBalance = { token: Token; amount: bigint }

/** How a payment on the chain can fail, in addition to the failures of every operation. */
export const PAYMENT_FAILURES: readonly FailureCode[] = [
  'conflict',
  'contract_not_configured',
  'insufficient_funds',
  'limit_exceeded',
  'payment_would_fail',
  'upstream_failed',
  'signer_unavailable',
]

/** What the sender refuses, in the words of the operations on the chain. */
export const PAYMENT_REFUSALS: Refusals = {
  ...SENDER_REFUSALS,
  ...ofPayee({ failure: 'invalid_request', field: 'to_address' }),
  amount_not_positive: { failure: 'invalid_request', field: 'amount' },
  insufficient_funds: { failure: 'insufficient_funds', field: 'amount' },
  simulation_failed: { failure: 'payment_would_fail', field: 'to_address' },
  gas_too_high: { failure: 'payment_would_fail', field: 'to_address' },
  contract_not_configured: { failure: 'contract_not_configured', field: 'use_contract' },
  stablecoin_not_configured: { failure: 'contract_not_configured', field: 'currency' },
  contract_mismatch: { failure: 'upstream_failed' },
  external_id_used: { failure: 'conflict', field: 'external_id' },
}

/** What it moves, for the screen. */
export function toMove(payment: {
  chain: Pick<ChainNames, 'name'>
  unit: Unit
  amount: bigint
  caller: Caller
  item: {
    to_address: string
    description?: string | undefined
    metadata?: Record<string, string> | undefined
  }
}): Move {
  const { chain, unit, amount, caller, item } = payment
  const { to_address: to, description, metadata } = item
  return {
    field: 'to_address',
    way: 'chain',
    userId: caller.userId,
    amount: decimalOf({ amount, ...unit }),
    currency: unit.currency,
    chain: chain.name,
    address: checksummed(to),
    description,
    metadata,
  }
}

/** Who sends it, on which chain. */
type PaidChain<Prepared> = ChainNames & { payments: BlockchainPayments<Prepared> }

type Request<Prepared> = Pick<EndpointRequest, 'caller'> & {
  body: {
    description: string
    metadata?: Record<string, string>
    external_id?: string
  }
  prepared: {
    amount: bigint
    unit: Unit
    transactionId: string
    payment: Prepared
    chain: PaidChain<Prepared>
  }
}

type Created = Static<typeof BlockchainCreatedSchema>

type Acceptance = Result<{ order: Order; hash: Hex }>

/** Accepts what it can, and records it in the same SQL transaction. */
export async function acceptPayments<Prepared>(
  db: Db,
  requests: ReadonlyArray<Request<Prepared>>,
): Promise<Result<Created>[]> {
  const acceptances = await acceptEach(db, requests)
  const records: NewTransaction[] = []
  const results = requests.map((request): Result<Created> => {
    const acceptance = acceptances.get(request)
    if (acceptance?.ok !== true) return { ok: false, error: acceptance?.error }
    records.push(recordOf(request, acceptance.value))
    return { ok: true, value: answerOf(request, acceptance.value) }
  })
  if (records.length > 0) await recordTransactions(db, records)
  return results
}

/** Chain by chain, in the order of their ids: requests for the same lanes cannot deadlock. */
async function acceptEach<Prepared>(
  db: Db,
  requests: ReadonlyArray<Request<Prepared>>,
): Promise<Map<Request<Prepared>, Acceptance>> {
  const acceptances = new Map<Request<Prepared>, Acceptance>()
  const byChain = [...Map.groupBy(requests, ({ prepared }) => prepared.chain.chainId)]
  for (const [, some] of byChain.toSorted(([one], [other]) => one - other)) {
    const { acceptNew } = some[0]!.prepared.chain.payments
    const wanted = some.map(({ prepared }) => prepared.payment)
    const told = await acceptNew(db, wanted)
    for (const [place, request] of some.entries()) acceptances.set(request, told[place]!)
  }
  return acceptances
}

/** What is accepted is sent soon even without it. */
export function kickAll(chains: Chains<{ payments: Pick<BlockchainPayments, 'kick'> }>): void {
  for (const { payments } of chains.all()) payments.kick()
}

function recordOf<Prepared>(
  { caller, body, prepared }: Request<Prepared>,
  { order, hash }: { order: Order; hash: Hex },
): NewTransaction {
  return {
    transactionId: prepared.transactionId,
    userId: caller.userId,
    type: 'settlement',
    amount: prepared.amount,
    currency: prepared.unit.currency,
    tokenDecimals: prepared.unit.tokenDecimals ?? undefined,
    description: body.description,
    metadata: body.metadata,
    externalId: body.external_id,
    ethTransactionHash: hash,
    chainId: order.chainId,
    toAddress: order.payee,
    actor: actorOf(caller),
    reason: 'signed and on its way',
  }
}

function answerOf<Prepared>(
  { prepared: { transactionId, amount, unit, chain } }: Request<Prepared>,
  { order, hash }: { order: Order; hash: Hex },
): Created {
  return {
    success: true as const,
    transaction_id: transactionId,
    chain: chain.name,
    eth_transaction_hash: hash,
    from_address: checksummed(order.signer),
    to_address: checksummed(order.payee),
    ...amountFields({ amount, ...unit }),
    currency: unit.currency,
    status: 'pending' as const,
  }
}
