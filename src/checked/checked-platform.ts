import { BaseError } from '../base/errors.ts'
import {
  createPlatformClient,
  type PlatformClient,
  type PlatformClientOptions,
} from '../client/platform-client.ts'
import type {
  BatchRequest,
  BlockchainPayment,
  BlockchainRequest,
  CreatedBatch,
  TransactionDetail,
} from '../client/platform-types.ts'
import { platformRuntime } from '../client/runtime.ts'
import type { PostOptions } from '../client/transport.ts'
import { dueOf } from '../domain/gateways.ts'
import { CURRENCY_DECIMALS, parseAmount } from '../domain/money.ts'
import { verifySettlement, verifyTransaction, type Verdict } from '../verify/index.ts'
import { NotSettledError } from './errors.ts'
import { createProver, type ProofOptions, type Prover } from './proof.ts'
import { settle, type Claimed, type Settled, type SettleOptions } from './settle.ts'

/** The credentials, the nodes to ask, and the contract that payments go through. */
export type PlatformOptions = PlatformClientOptions &
  ProofOptions & {
    /** The settlement contract; absent for the address that it has on every chain. */
    settlement?: string | undefined
    /** The dollar token, from a source of the caller's own; for payments in USD. */
    stablecoin?: string | undefined
    /** Other tokens by their symbols, from there as well; for payments in them. */
    tokens?: Readonly<Record<string, PayableToken>> | undefined
  }

/** A token that is paid in, and how many decimals its amounts have. */
export type PayableToken = { address: string; decimals: number }

/** A payment that was accepted, with the way to its proof. */
export type CheckedPayment = BlockchainPayment & {
  /** Resolves when the chain shows this payment as final; rejects with a `NotSettledError`. */
  settled: (options?: SettleOptions) => Promise<Settled<TransactionDetail>>
}

/** A batch that was accepted, with the way to the proof of each payment. */
export type CheckedBatch = CreatedBatch & {
  /** In the order of the request. */
  payments: readonly Pick<CheckedPayment, 'transaction_id' | 'settled'>[]
}

/** What was asked for, and what to find it by; enough to go on after a crash. */
export type Intent = {
  transaction_id: string
  to_address: string
  /** In decimal digits. */
  amount: string
  /** Absent: ETH. */
  currency?: string | undefined
  use_contract?: boolean | undefined
  from_address?: string | undefined
  /** The first hash, for a server that stops answering. */
  eth_transaction_hash?: string | undefined
}

/** The client of Group B, and what it pays on chain with proof. */
export type Platform = Omit<PlatformClient, 'blockchain'> & {
  blockchain: Omit<PlatformClient['blockchain'], 'send' | 'batch'> & {
    send: (request: BlockchainRequest, options?: PostOptions) => Promise<CheckedPayment>
    batch: (request: BatchRequest, options?: PostOptions) => Promise<CheckedBatch>
    settled: (intent: Intent, options?: SettleOptions) => Promise<Settled<TransactionDetail>>
  }
}

/**
 * Makes the client of Group B whose payments on chain are proven by the caller's own nodes. Sends
 * nothing yet; throws `invalid_call` without credentials, and where no node is named.
 *
 * @example
 *   ```ts
 *   import { createPlatform } from 'quittance'
 *
 *   const providers = ['https://one.example', 'https://two.example']
 *   const options = { baseUrl: 'https://pay.example', apiKey: 'sk_live_…', providers }
 *   const platform = createPlatform(options)
 *   const invoice = { to_address: '0x00000000000000000000000000000000000000AA', amount: '0.1' }
 *   const payment = await platform.blockchain.send({ ...invoice, description: 'Invoice 42' })
 *   console.log((await payment.settled()).verdict.status)
 *   ```
 */
export function createPlatform(options: PlatformOptions): Platform {
  const client = createPlatformClient(options)
  const prover = createProver(options)
  const runtime = { ...platformRuntime, ...options.runtime }
  const settled: Platform['blockchain']['settled'] = (intent, settleOptions = {}) => {
    const known = createKnown(intent, options)
    return settle(
      {
        runtime,
        look: (signal) => lookAt(client, known, signal),
        judge: (hash, signal) => judge({ ...known, hash, prover, signal, ...options }),
        take: (hash) => prover.taker(intent.transaction_id)({ hash, reference: known.reference }),
      },
      settleOptions,
    )
  }
  return {
    ...client,
    blockchain: {
      ...client.blockchain,
      settled,
      async send(request, postOptions) {
        const payment = await client.blockchain.send(request, postOptions)
        const { transaction_id, eth_transaction_hash, from_address } = payment
        const { to_address, amount, currency, use_contract } = request
        // What was asked for is proven, whatever the answer makes of it.
        const asked = { to_address, amount, currency, use_contract }
        const intent = { transaction_id, eth_transaction_hash, from_address, ...asked }
        return { ...payment, settled: (options) => settled(intent, options) }
      },
      async batch(request, postOptions) {
        const batch = await client.blockchain.batch(request, postOptions)
        const { from_address, transactions } = batch
        const { currency, items } = request
        const payments = items.map(({ to_address, amount }, place) => {
          const transaction_id = transactions[place] ?? ''
          const asked = { to_address, amount, currency, use_contract: true }
          const intent = { transaction_id, from_address, ...asked }
          return { transaction_id, settled: (options?: SettleOptions) => settled(intent, options) }
        })
        return { ...batch, payments }
      },
    },
  }
}

/** The intent, and what the server has reported about it so far. */
type Known = {
  intent: Intent
  paid: { token: string | null; amount: bigint }
  hashes: Set<string>
  reference: string | undefined
}

function createKnown(intent: Intent, options: Tokens): Known {
  const { eth_transaction_hash: first } = intent
  const hashes = new Set(first ? [first] : [])
  return { intent, paid: paidBy(intent, options), hashes, reference: undefined }
}

type Tokens = Pick<PlatformOptions, 'stablecoin' | 'tokens'>

function paidBy(
  { amount: text, currency = 'ETH' }: Intent,
  { stablecoin, tokens = {} }: Tokens,
): Known['paid'] {
  if (currency === 'ETH') {
    return { token: null, amount: parseAmount({ text, decimals: CURRENCY_DECIMALS.ETH }) }
  }
  if (currency === 'USD') {
    const amount = parseAmount({ text, decimals: CURRENCY_DECIMALS.USD })
    if (stablecoin === undefined) throw tokenMissing(currency, 'stablecoin')
    return { token: stablecoin, amount: dueOf({ amount, currency }) }
  }
  const token = Object.hasOwn(tokens, currency) ? tokens[currency] : undefined
  if (token === undefined) throw tokenMissing(currency, 'tokens')
  return { token: token.address, amount: parseAmount({ text, decimals: token.decimals }) }
}

function tokenMissing(currency: string, option: string): BaseError {
  const message = `A payment in ${currency} is proven by its token. Pass the token in ${option}.`
  return new BaseError(message, { code: 'invalid_call' })
}

/** A server that does not answer ends nothing: the hashes that it named are still looked at. */
async function lookAt(
  client: PlatformClient,
  known: Known,
  signal: AbortSignal,
): Promise<Claimed<TransactionDetail>> {
  const { hashes } = known
  const record = await client.transactions
    .get(known.intent.transaction_id, { signal, timeoutMs: RECORD_TIMEOUT_MS })
    .catch(() => undefined)
  signal.throwIfAborted()
  for (const hash of record === undefined ? [] : hashesOf(record)) {
    if (hashes.size < MAX_HASHES) hashes.add(hash)
  }
  known.reference ??= record?.blockchain_transaction?.reference ?? undefined
  if (known.intent.use_contract === true && known.reference === undefined) {
    if (record !== undefined) throw noReference(known.intent)
    return { record, hashes: [], outcome: 'open' }
  }
  return { record, hashes: [...hashes].toReversed(), outcome: outcomeOf(record?.status) }
}

const RECORD_TIMEOUT_MS = 10_000
const MAX_HASHES = 100

/** Payments only: a cancellation at the same nonce pays nothing, and is meant to. */
function hashesOf(record: TransactionDetail): string[] {
  const { eth_transaction_hash: hash, blockchain_transaction: chain } = record
  const attempts = chain?.attempts ?? []
  const others = new Set(attempts.filter((one) => one.kind !== 'payment').map(hashOf))
  const named = [...attempts.map(hashOf), chain?.eth_tx_hash, hash]
  return named.filter(
    (one): one is string => typeof one === 'string' && one !== '' && !others.has(one),
  )
}

function hashOf(attempt: { eth_tx_hash: string }): string {
  return attempt.eth_tx_hash
}

function outcomeOf(status: string | undefined): Claimed<unknown>['outcome'] {
  if (status === 'failed') return 'failed'
  return status === 'completed' || status === 'refunded' ? 'done' : 'open'
}

async function judge(
  facts: Known & {
    hash: string
    prover: Prover
    signal: AbortSignal
    settlement?: string | undefined
  },
): Promise<Verdict> {
  const { intent, paid, hash, reference, prover, signal, settlement: contract } = facts
  const chainId = await prover.chainId(signal)
  const { to_address: payee, from_address: payer } = intent
  const claim = { chainId, hash, payee, payer, ...paid }
  if (reference === undefined) {
    const { token, ...plain } = claim
    const wanted = token === null ? plain : { ...plain, token }
    return verifyTransaction({ ...wanted, settlement: contract }, prover.options(signal))
  }
  return verifySettlement({ ...claim, reference, contract }, prover.options(signal))
}

function noReference({ transaction_id: id }: Intent): NotSettledError {
  return new NotSettledError(
    `The server gives no reference of ${id}, so no event can prove this payment.`,
    { code: 'not_provable' },
  )
}
