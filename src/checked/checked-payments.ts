import {
  createPaymentsClient,
  type PaymentsClient,
  type PaymentsClientOptions,
} from '../client/payments-client.ts'
import type { MintOrder, TransferMade, WireDestination } from '../client/payments-types.ts'
import { platformRuntime } from '../client/runtime.ts'
import type { PostOptions } from '../client/transport.ts'
import { parseAmount } from '../domain/money.ts'
import { verifyMint, verifyRedeem, type ProfileName, type Verdict } from '../verify/index.ts'
import { createProver, type ProofOptions, type Prover } from './proof.ts'
import { settle, type Claimed, type Settled, type SettleOptions } from './settle.ts'

/** The key, the nodes to ask, and the token whose mints and burns are to be proven. */
export type PaymentsOptions = PaymentsClientOptions &
  ProofOptions & {
    /** The token's contract, from a source of the caller's own. */
    stablecoin: string
    /** How the token logs mints and burns; the profile of our own dollar by default. */
    profile?: ProfileName | undefined
    /** Who may mint; absent, the minter is not checked. */
    minters?: readonly string[] | undefined
    /** 6 by default. */
    decimals?: number | undefined
  }

/** A redeem by a holder who is named, since only then a burn can be shown to be his. */
export type RedeemOrder = {
  amount: string
  currency?: string | undefined
  source: { type: 'blockchain'; chain: string; address: string }
  destination: WireDestination
}

/** A mint or a redeem that was accepted, with the way to its proof. */
export type CheckedTransfer = TransferMade & {
  /** Resolves when the chain shows the mint or the burn as final. */
  settled: (options?: SettleOptions) => Promise<Settled<TransferMade>>
}

/** The client of Group A, and what it mints and redeems with proof. */
export type Payments = Omit<PaymentsClient, 'mints'> & {
  mints: Omit<PaymentsClient['mints'], 'create'> & {
    create: (order: MintOrder, options?: PostOptions) => Promise<CheckedTransfer>
    settled: (id: string, order: MintOrder, options?: SettleOptions) => CheckedSettled
  }
  redeems: {
    /** The answer's `redemption` says what the holder burns. */
    create: (order: RedeemOrder, options?: PostOptions) => Promise<CheckedTransfer>
    settled: (id: string, order: RedeemOrder, options?: SettleOptions) => CheckedSettled
  }
}

type CheckedSettled = Promise<Settled<TransferMade>>

/**
 * Makes the client of Group A whose mints and redeems are proven by the caller's own nodes. Sends
 * nothing yet; throws `invalid_call` without a key, and where no node is named.
 *
 * @example
 *   ```ts
 *   import { createPayments } from 'quittance'
 *
 *   const providers = ['https://one.example', 'https://two.example']
 *   const stablecoin = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'
 *   const address = '0x00000000000000000000000000000000000000AA'
 *   const options = { baseUrl: 'https://pay.example', apiKey: 'sk_live_…', providers, stablecoin }
 *   const payments = createPayments(options)
 *   const mint = await payments.mints.create({
 *     amount: '5.00',
 *     currency: 'USD',
 *     destination: { type: 'blockchain', chain: 'ETH', address },
 *   })
 *   console.log((await mint.settled()).hash)
 *   ```
 */
export function createPayments(options: PaymentsOptions): Payments {
  const client = createPaymentsClient(options)
  const follow = followerOf(options)
  const mintSettled: Payments['mints']['settled'] = (id, order, settleOptions) =>
    follow(
      { id, read: client.mints.get, judge: (found) => judgeMint({ ...options, ...found, order }) },
      settleOptions,
    )
  const redeemSettled: Payments['redeems']['settled'] = (id, order, settleOptions) =>
    follow(
      {
        id,
        read: client.transfers.get,
        judge: (found) => judgeRedeem({ ...options, ...found, order }),
      },
      settleOptions,
    )
  return {
    ...client,
    mints: {
      ...client.mints,
      settled: mintSettled,
      async create(order, postOptions) {
        const made = await client.mints.create(order, postOptions)
        return { ...made, settled: (options) => mintSettled(made.id, order, options) }
      },
    },
    redeems: {
      settled: redeemSettled,
      async create(order, postOptions) {
        const made = await client.transfers.create(order, postOptions)
        return { ...made, settled: (options) => redeemSettled(made.id, order, options) }
      },
    },
  }
}

/** What is known when one hash is judged. */
type Found = {
  hash: string
  record: TransferMade | undefined
  prover: Prover
  signal: AbortSignal
}

type Followed = {
  id: string
  read: PaymentsClient['mints']['get']
  judge: (found: Found) => Promise<Verdict>
}

function followerOf(options: PaymentsOptions) {
  const prover = createProver(options)
  const runtime = { ...platformRuntime, ...options.runtime }
  return ({ id, read, judge }: Followed, settleOptions: SettleOptions = {}) => {
    const hashes = new Set<string>()
    let record: TransferMade | undefined
    const look = async (signal: AbortSignal): Promise<Claimed<TransferMade>> => {
      record = (await read(id, { signal, timeoutMs: 10_000 }).catch(() => undefined)) ?? record
      signal.throwIfAborted()
      const { transactionHash: hash, status } = record ?? {}
      // Each raised fee makes a new hash, and there are only so many of them.
      if (typeof hash === 'string' && hashes.size < MAX_HASHES) hashes.add(hash)
      return { record, hashes: [...hashes].toReversed(), outcome: OUTCOMES[status ?? ''] ?? 'open' }
    }
    return settle<TransferMade>(
      {
        runtime,
        look,
        judge: (hash, signal) => judge({ hash, record, prover, signal }),
        take: (hash) => prover.taker(id)({ hash, reference: referenceOf(record) }),
      },
      settleOptions,
    )
  }
}

const MAX_HASHES = 100
const OUTCOMES: Readonly<Record<string, Claimed<unknown>['outcome']>> = {
  complete: 'done',
  failed: 'failed',
}

/** Without a memo, in the token's events or in the record, hash, payee and amount must do. */
async function judgeMint(facts: Found & PaymentsOptions & { order: MintOrder }): Promise<Verdict> {
  const { order, minters, record, profile = 'memo', prover, signal } = facts
  const payee = order.destination.address
  const reference = profile === 'memo' ? referenceOf(record) : undefined
  const claim = { ...(await claimOf(facts)), payee, minters, reference }
  return verifyMint(claim, prover.options(signal))
}

/** Only a burn with the reference of this redeem is this redeem's. */
async function judgeRedeem(
  facts: Found & PaymentsOptions & { order: RedeemOrder },
): Promise<Verdict> {
  const { order, record, prover, signal } = facts
  const reference = referenceOf(record)
  const claim = { ...(await claimOf(facts)), payer: order.source.address, reference }
  return verifyRedeem(claim, prover.options(signal))
}

function referenceOf(record: TransferMade | undefined): string | undefined {
  return record?.redemption?.reference ?? record?.reference ?? undefined
}

async function claimOf(facts: Found & PaymentsOptions & { order: { amount: string } }) {
  const { order, hash, stablecoin, profile = 'memo', decimals = 6, prover, signal } = facts
  return {
    chainId: await prover.chainId(signal),
    hash,
    token: stablecoin,
    profile,
    amount: parseAmount({ text: order.amount, decimals }),
  }
}
