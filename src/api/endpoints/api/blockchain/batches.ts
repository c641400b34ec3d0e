import { limits } from '../../../../base/limits.ts'
import { checksummed } from '../../../../chain/hex.ts'
import { actorOf, type Caller } from '../../../../domain/access.ts'
import { BatchRefusedError, type OnFailure } from '../../../../domain/batches.ts'
import type { ChainNames } from '../../../../domain/chains.ts'
import { dueOf } from '../../../../domain/gateways.ts'
import { createId, type RandomBytes } from '../../../../domain/ids.ts'
import type { Unit } from '../../../../domain/money.ts'
import type { BundleRoute, Hex } from '../../../../domain/orders.ts'
import type { Db } from '../../../../store/database/database.ts'
import { readSignedHashes } from '../../../../store/orders/attempts.ts'
import {
  findBatch,
  insertBatch,
  listBatches,
  listBatchItems,
  type Batch,
  type SummedBatch,
} from '../../../../store/transactions/batches.ts'
import {
  recordTransactions,
  type NewTransaction,
} from '../../../../store/transactions/transactions.ts'
import { amountFields, readAmount } from '../../../../wire/amounts.ts'
import { RequestError, type FieldProblem } from '../../../../wire/errors.ts'
import {
  BatchCreatedSchema,
  BatchCreateSchema,
  BatchDetailSchema,
  BatchEstimateSchema,
  BatchListQuerySchema,
  BatchListSchema,
  BatchParamsSchema,
  BatchQuerySchema,
  type BatchCreate,
} from '../../../../wire/group-b/blockchain.ts'
import { effectiveLimit } from '../../../../wire/shapes.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { chainNamed, wantedChain, type Chains } from '../../../chains.ts'
import { idOf, pageOf } from '../../lists.ts'
import type { Refusals } from '../../../admission/refusals.ts'
import { toBatchWire, toItemWire } from './batch-wire.ts'
import { readPaidIn } from './currencies.ts'
import { requireNew } from './external-ids.ts'
import {
  PAYMENT_FAILURES,
  PAYMENT_REFUSALS,
  kickAll,
  toMove,
  type BlockchainBatch,
  type BlockchainPayments,
} from './payments.ts'

export function batchEndpoints<Prepared>(deps: BatchDeps<Prepared>): Endpoint[] {
  return [batchCreate(deps), batchEstimate(deps), batchList(deps), batchDetail]
}

type BatchDeps<Prepared> = {
  chains: Chains<{ payments: BlockchainPayments<Prepared> }>
  randomBytes: RandomBytes
}

function batchCreate<Prepared>(deps: BatchDeps<Prepared>): Endpoint {
  return defineEndpoint({
    route: 'POST /api/blockchain/batches',
    operationId: 'createBatch',
    summary: 'Pay up to 1,000 payees at once through the settlement contract',
    description:
      'The whole batch is checked before anything is stored. Each item is a transaction with ' +
      'its own reference, receipt and result. Several items share one ' +
      'transaction on the chain. An item that its payee refuses fails alone if `on_failure` ' +
      'is `each`, and its money returns to you.',
    tag: 'Blockchain',
    access: 'blockchain:write',
    body: BatchCreateSchema,
    bodyBytes: limits.batchBodyBytes,
    status: 201,
    answer: BatchCreatedSchema,
    failures: PAYMENT_FAILURES,
    prepare: async ({ body, caller, db }) => {
      const read = await readBatch(deps, { body, caller, db })
      const { payments } = read.chain
      const payment = await namingItems(() => payments.prepareBatch(db, read.batch))
      return { ...read, payment }
    },
    moves: ({ body, caller, prepared: { chain, unit, amounts } }) =>
      body.items.map((item, place) => {
        const move = toMove({ chain, unit, amount: amounts[place]!, caller, item })
        return { ...move, field: `items.${place}.${move.field}` }
      }),
    refusals: BATCH_REFUSALS,
    handle: async ({ body, caller, db, prepared: { payment, ...prepared } }) => {
      const [acceptance] = await prepared.chain.payments.acceptNew(db, [payment])
      if (acceptance?.ok !== true) throw acceptance?.error
      const batch = await recordBatch(db, { ...prepared, caller, items: body.items })
      return {
        success: true as const,
        ...toBatchWire(batch),
        from_address: checksummed(acceptance.value.order.signer),
        transactions: prepared.ids,
      }
    },
    // Its items are paid by orders of the batch.
    subjectsOf: ({ batch_id: id }) => [id],
    onCommitted: () => kickAll(deps.chains),
  })
}

type Recording = Pick<Batch, 'batchId' | 'onFailure'> & {
  chain: ChainNames
  unit: Unit
  caller: Caller
  items: BatchCreate['items']
  ids: readonly string[]
  amounts: readonly bigint[]
}

async function recordBatch(db: Db, recording: Recording): Promise<SummedBatch> {
  const { batchId, unit, onFailure, caller, items, ids, amounts } = recording
  const { userId } = caller
  const { chainId } = recording.chain
  const money = { currency: unit.currency, tokenDecimals: unit.tokenDecimals ?? undefined }
  const count = ids.length
  const amount = amounts.reduce((sum, one) => sum + one, 0n)
  const asked = { batchId, userId, chainId, ...money, onFailure, count, amount }
  const batch = await insertBatch(db, asked)
  const hashes = await readSignedHashes(db, ids)
  const records = items.map((item, place): NewTransaction => {
    const transactionId = ids[place]!
    return {
      transactionId,
      userId,
      type: 'settlement',
      amount: amounts[place]!,
      ...money,
      description: item.description ?? 'Payment of a batch',
      metadata: item.metadata,
      externalId: item.external_id,
      batch: { batchId, place },
      chainId,
      toAddress: item.to_address as Hex,
      ethTransactionHash: hashes.get(transactionId)!,
      actor: actorOf(caller),
      reason: 'signed and on its way',
    }
  })
  await recordTransactions(db, records)
  return { ...batch, sums: [{ status: 'pending', count, amount }] }
}

/** What the same batch would take, and what would refuse it. */
function batchEstimate<Prepared>(deps: BatchDeps<Prepared>): Endpoint {
  return defineEndpoint({
    route: 'POST /api/blockchain/batches/estimate',
    operationId: 'estimateBatch',
    summary: 'Check a batch and estimate its cost, without a payment',
    tag: 'Blockchain',
    access: 'blockchain:write',
    body: BatchCreateSchema,
    bodyBytes: limits.batchBodyBytes,
    answer: BatchEstimateSchema,
    failures: PAYMENT_FAILURES,
    prepare: async ({ body, caller, db }) => {
      const read = await readBatch(deps, { body, caller, db })
      const { payments } = read.chain
      return { ...read, cost: await namingItems(() => payments.estimateBatch(db, read.batch)) }
    },
    refusals: BATCH_REFUSALS,
    handle: ({ prepared: { chain, unit, amounts, batch, cost } }) => {
      const amount = amounts.reduce((sum, one) => sum + one, 0n)
      return Promise.resolve({
        success: true as const,
        chain: chain.name,
        coin: chain.coin,
        currency: unit.currency,
        count: amounts.length,
        ...amountFields({ amount, ...unit }),
        from_address: checksummed(batch.payer),
        chain_transactions: cost.transactions,
        gas: cost.gas,
        fee_wei: String(cost.feeWei),
        contracts: cost.contracts,
      })
    },
  })
}

/** Reads a batch. Refuses the mistakes that can be found without the chain. */
async function readBatch<Prepared>(
  { chains, randomBytes }: BatchDeps<Prepared>,
  { body, caller, db }: { body: BatchCreate; caller: Caller; db: Db },
) {
  const { on_failure: onFailure = 'all_or_nothing', items } = body
  const chain = chainNamed(chains, body.chain)
  const { payments } = chain
  const { unit, token, isCoin } = readPaidIn(chain, body.currency)
  const { currency } = unit
  const externalIds = items.map(({ external_id: externalId }, place) => {
    return { field: `items.${place}.external_id`, externalId }
  })
  await requireNew(db, { userId: caller.userId, externalIds })
  const amounts = readAmounts(items, unit)
  const ids = items.map(() => createId('TX', randomBytes))
  const batchId = createId('BAT', randomBytes)
  const batch: BlockchainBatch = {
    subject: batchId,
    spender: actorOf(caller),
    route: (isCoin ? COIN_ROUTES : TOKEN_ROUTES)[onFailure],
    token,
    payer: await payments.addressOf(caller.userId),
    payments: items.map(({ to_address: to }, place) => {
      const amount = dueOf({ amount: amounts[place]!, currency })
      return { subject: ids[place]!, payee: to as Hex, amount }
    }),
  }
  return { chain, unit, onFailure, amounts, ids, batchId, batch }
}

const BATCH_REFUSALS: Refusals = {
  ...PAYMENT_REFUSALS,
  insufficient_funds: { failure: 'insufficient_funds', field: 'items' },
  limit_per_day: { failure: 'limit_exceeded', field: 'items' },
  limit_per_payee: { failure: 'limit_exceeded', field: 'items' },
  simulation_failed: { failure: 'payment_would_fail', field: 'items' },
  contract_not_configured: { failure: 'contract_not_configured' },
  batch_too_large: { failure: 'limit_exceeded', field: 'items' },
  external_id_used: { failure: 'conflict', field: 'items' },
}

type Routes = Record<OnFailure, BundleRoute>

const COIN_ROUTES: Routes = { all_or_nothing: 'bundle', each: 'open_bundle' }
const TOKEN_ROUTES: Routes = { all_or_nothing: 'token_bundle', each: 'open_token_bundle' }

/** Each in the smallest unit, or all that cannot be read by their places. */
function readAmounts(items: BatchCreate['items'], unit: Unit): bigint[] {
  const problems: FieldProblem[] = []
  const amounts = items.map(({ amount }, place) => {
    try {
      return readAmount({ amount, ...unit })
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      problems.push(...error.problems.map((one) => ({ ...one, field: `items.${place}.amount` })))
      return 0n
    }
  })
  if (problems.length > 0) throw invalidRequest(problems)
  return amounts
}

async function namingItems<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof BatchRefusedError)) throw error
    const problems = error.problems.map(({ place, code, message }) => {
      const { field = 'to_address' } = PAYMENT_REFUSALS[code] ?? {}
      return { field: `items.${place}.${field}`, code, message }
    })
    const [first] = error.problems
    const { failure } = PAYMENT_REFUSALS[first?.code ?? ''] ?? {
      failure: 'invalid_request' as const,
    }
    throw new RequestError(failure, error.message, { cause: error, problems })
  }
}

function batchList({ chains }: { chains: Chains }): Endpoint {
  return defineEndpoint({
    route: 'GET /api/blockchain/batches',
    operationId: 'listBatches',
    summary: 'List your batches, newest first',
    tag: 'Blockchain',
    access: 'blockchain:read',
    query: BatchListQuerySchema,
    answer: BatchListSchema,
    handle: async ({ query, caller, db }) => {
      const { userId } = caller
      const chainId = wantedChain(chains, query)
      const { shown: batches, last } = await pageOf(effectiveLimit(query.limit), (limit) =>
        listBatches(db, { userId, chainId, before: idOf(query.after), limit }),
      )
      const next = last ? String(last.id) : null
      return { success: true as const, batches: batches.map(toBatchWire), next_after: next }
    },
  })
}

const batchDetail = defineEndpoint({
  route: 'GET /api/blockchain/batches/{batch_id}',
  operationId: 'getBatch',
  summary: 'Read a batch with the state of its items',
  tag: 'Blockchain',
  access: 'blockchain:read',
  params: BatchParamsSchema,
  query: BatchQuerySchema,
  answer: BatchDetailSchema,
  handle: async ({ params, query, caller, db }) => {
    const wanted = { userId: caller.userId, batchId: params.batch_id }
    const batch = await findBatch(db, wanted)
    if (!batch) throw new RequestError('not_found', 'You have no batch with this id.')
    const page = { batchId: batch.batchId, from: query.from }
    const { shown: items, last } = await pageOf(effectiveLimit(query.limit), (limit) =>
      listBatchItems(db, { ...page, limit }),
    )
    const next = last ? last.place + 1 : null
    return {
      success: true as const,
      ...toBatchWire(batch),
      items: items.map((item) => toItemWire(item, batch)),
      next_from: next,
    }
  },
})
