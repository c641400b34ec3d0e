import type { Static } from 'typebox'

import type { PaymentAnswerSchema } from '../wire/group-a/payments.ts'
import type {
  DeliveryWire,
  SecretCreatedSchema,
  SubscriptionCreate,
  SubscriptionWire,
} from '../wire/group-a/subscriptions.ts'
import type { Redemption, TransferAnswerSchema } from '../wire/group-a/transfers.ts'
import type { WalletAnswerSchema } from '../wire/group-a/wallets.ts'
import type { Answered, Parsed } from './parsed.ts'

/** In either dialect of the server, the amount and its currency are separate text fields here. */
type Flat<T> = Omit<T, 'amount' | 'currency' | 'fees'> & {
  amount: string
  currency: string
  fees?: string
}

type Payment = Flat<Static<typeof PaymentAnswerSchema>['data']>
type Transfer = Flat<Static<typeof TransferAnswerSchema>['data']>

/**
 * A payment to a bank account. `paid` and `failed` are final, and `errorCode` says why it failed.
 */
export type PaymentMade = Answered<Payment, 'id' | 'amount' | 'currency' | 'status'>

/** Between wallets, a mint or a redeem: the types of its sides show which. */
export type TransferMade = Answered<
  Omit<Transfer, 'redemption'>,
  'id' | 'amount' | 'currency' | 'status'
> & {
  /** What the holder burns, of a redeem. */
  redemption?: Parsed<Redemption> | null
}

/** One wallet and what is in it, in one currency. */
export type Wallet = Answered<
  Static<typeof WalletAnswerSchema>['data'],
  'walletId' | 'currency' | 'balance'
>

/** Where notifications of one type go. It receives nothing until its `status` is confirmed. */
export type Subscription = Answered<SubscriptionWire, 'id'> & {
  /** Verifies its webhooks; shown only once. */
  secret?: string
}

/** The new secret of a subscription, which is not shown again. */
export type SubscriptionSecret = Answered<Static<typeof SecretCreatedSchema>['data'], 'secret'>

/** One notification on its way to one subscription, with every try so far. */
export type Delivery = Answered<DeliveryWire, 'id' | 'status'>

/** A decimal string such as '100.50', and USD unless another currency is named. */
type Money = { amount: string; currency?: string | undefined }

/** The bank account that a wire goes to. */
export type WireDestination = {
  type: 'wire'
  name?: string | undefined
  addressLine1?: string | undefined
  accountNumber?: string | undefined
  routingNumber?: string | undefined
  id?: string | undefined
}

type WalletSide = { type: 'wallet'; id: string }
type ChainSource = {
  type: 'blockchain'
  chain: string
  address?: string | undefined
  /** The holder is the caller's own address at the platform, which signs. */
  custodial?: boolean | undefined
}

/** What to pay by wire, from which wallet; absent, from the main one. */
export type PaymentOrder = Money & {
  source?: WalletSide | undefined
  destination: WireDestination & { name: string; addressLine1: string }
  metadata?: { beneficiaryEmail?: string | undefined } | undefined
}

/** Money between wallets, to the chain, or a redeem: the types of its two sides decide. */
export type TransferOrder = Money &
  (
    | { source: WalletSide; destination: WalletSide }
    /** A redeem: the answer's `redemption` says what to burn. */
    | { source: ChainSource; destination: WireDestination }
    | { source: WalletSide; destination: { type: 'blockchain'; chain: string; address: string } }
  )

/** How much stablecoin to mint to which address, for money of which wallet. */
export type MintOrder = Money & {
  source?: WalletSide | undefined
  destination: { type: 'blockchain'; address: string; chain: string }
}

/** Where to send events: a `url` for all types, or one for each type in `subscriptionDetails`. */
export type SubscriptionOrder = Omit<SubscriptionCreate, 'idempotencyKey' | 'endpoint'>

/** Newest first; `pageAfter` is the id of the last row of the page before. */
export type PageQuery = {
  from?: string | undefined
  to?: string | undefined
  pageSize?: number | undefined
  pageAfter?: string | undefined
  pageBefore?: string | undefined
}
