import type { Static } from 'typebox'

import type { ReceiptWire } from '../wire/group-b/admin.ts'
import type {
  BatchCreatedSchema,
  BatchCreateSchema,
  BatchEstimateSchema,
  BatchItemWire,
  BatchWire,
  BlockchainBalanceSchema,
  BlockchainCreatedSchema,
  BlockchainCreateSchema,
} from '../wire/group-b/blockchain.ts'
import type { EventWire } from '../wire/group-b/events.ts'
import type {
  GatewayList,
  PaymentCreate,
  PaymentCreated,
  PaymentStatus,
  RefundCreated,
} from '../wire/group-b/payments.ts'
import type {
  BlockchainTransactionWire,
  TransactionDetailSchema,
  TransactionWire,
} from '../wire/group-b/transactions.ts'
import type {
  InstitutionList,
  TransferCreate,
  TransferCreated,
  TransferStatus,
} from '../wire/group-b/transfers.ts'
import type { Answered, Open } from './parsed.ts'

/** A request's amount is a string of decimal digits, and is sent as a number in its exact text. */
type Asked<T> = Omit<T, 'amount' | 'currency'> & { amount: string } & (T extends {
    currency: unknown
  }
    ? { currency: Open<TransactionWire['currency']> }
    : unknown)

type TransactionName =
  | 'id'
  | 'transaction_id'
  | 'amount'
  | 'currency'
  | 'type'
  | 'status'
  | 'description'
  | 'eth_transaction_hash'
  | 'created_at'
  | 'updated_at'

/** A row of the list. Its amount is text, digit for digit as the server wrote it. */
export type Transaction = Answered<TransactionWire, TransactionName>

/** What the server says of the chain. It is a claim, which `quittance/verify` can check. */
export type BlockchainTransaction = Answered<
  BlockchainTransactionWire,
  | 'eth_tx_hash'
  | 'from_address'
  | 'to_address'
  | 'amount'
  | 'gas_used'
  | 'gas_price'
  | 'block_number'
  | 'status'
  | 'created_at'
>

type Detail = Omit<Static<typeof TransactionDetailSchema>, 'blockchain_transaction'>

/** One transaction in full; `blockchain_transaction` is null until it is signed. */
export type TransactionDetail = Answered<
  Detail,
  TransactionName | 'user_id' | 'institution_id' | 'gateway_id'
> & { blockchain_transaction?: BlockchainTransaction | null }

/** Which transactions to list; all parts are optional, and all given must fit. */
export type TransactionQuery = {
  type?: Open<TransactionWire['type']> | undefined
  status?: Open<TransactionWire['status']> | undefined
  /** YYYY-MM-DD, that day included. */
  start_date?: string | undefined
  end_date?: string | undefined
  /** Of a transaction on the chain that pays it, or was to. */
  hash?: string | undefined
  /** The reference that it has on the chain. */
  reference?: string | undefined
  /** Your own id of it. */
  external_id?: string | undefined
  /** Whose payments to list. */
  batch_id?: string | undefined
  /** Whom it pays on a chain. */
  to_address?: string | undefined
  /** Up to three words of your own that it has, each as it was sent. */
  metadata?: Readonly<Record<string, string>> | undefined
  currency?: Open<TransactionWire['currency']> | undefined
  /** Of that currency, which must be given; in decimal digits. */
  min_amount?: string | undefined
  max_amount?: string | undefined
  /** Rows of one page. */
  limit?: number | undefined
} & PagePosition

/** Where a page begins. A server that gives a cursor takes it; any other takes an offset. */
export type PagePosition = { offset?: number | undefined; cursor?: string | undefined }

/** One page of the list, newest first, and where the next begins. */
export type TransactionPage = {
  transactions: Transaction[]
  /** Where a server says that it is not exact, there are more. */
  total: number
  isExact: boolean
  limit: number
  offset: number
  /** Undefined on the last page. Kept, and put into a query later, it goes on from there. */
  next: PagePosition | undefined
}

/** What to ask a payer for, and through which gateway. */
export type PaymentRequest = Asked<PaymentCreate>

/** Which of its fields are there depends on the kind of the gateway. */
export type Payment = Answered<
  PaymentCreated,
  | 'transaction_id'
  | 'payment_intent_id'
  | 'client_secret'
  | 'hosted_url'
  | 'charge_id'
  | 'approval_url'
  | 'checkout_order_id'
>

/** How far a payment through a gateway has got, and what the gateway calls it. */
export type PaymentState = Answered<
  PaymentStatus,
  'transaction_id' | 'status' | 'amount' | 'currency' | 'gateway_reference'
>

/** A refund that was begun. Its own transaction says when the money is back. */
export type Refund = Answered<RefundCreated, 'transaction_id' | 'refund_id' | 'status'>

/** What to send to which account at which institution. */
export type TransferRequest = Asked<TransferCreate>

/** A transfer that was accepted; it is pending until the institution has acted. */
export type Transfer = Answered<
  TransferCreated,
  'transaction_id' | 'transfer_id' | 'status' | 'amount' | 'currency'
>

/** How far a transfer has got, and what the institution calls it. */
export type TransferState = Answered<
  TransferStatus,
  'transaction_id' | 'transfer_id' | 'status' | 'amount' | 'currency' | 'institution_reference'
>

/** Where the payee's page and its quittance are. */
export type Receipt = Answered<ReceiptWire, 'token' | 'path'>

/** How much of what to pay to whom; `use_contract` sends it through the settlement contract. */
export type BlockchainRequest = Asked<Static<typeof BlockchainCreateSchema>> & {
  /** Absent: ETH. USD is the stablecoin; another token goes by its symbol. */
  currency?: string | undefined
}

/**
 * A payment that was signed and stored, with its first hash. A raised fee makes another hash, so
 * keep `transaction_id`.
 */
export type BlockchainPayment = Answered<
  Static<typeof BlockchainCreatedSchema>,
  'transaction_id' | 'eth_transaction_hash' | 'from_address' | 'to_address' | 'amount' | 'status'
>

/** Payments that are made together, each of them to an address of its own. */
export type BatchRequest = Omit<Static<typeof BatchCreateSchema>, 'items'> & {
  items: readonly BatchItemRequest[]
}

/** One payment of a batch. */
export type BatchItemRequest = Asked<Static<typeof BatchCreateSchema>['items'][number]>

type BatchName = 'batch_id' | 'status' | 'currency' | 'count' | 'amount' | 'created_at'

/** A batch, and how many of its payments are in which state. */
export type Batch = Answered<BatchWire, BatchName | 'sums'>

/** A batch that was accepted, with the transaction of each item in their order. */
export type CreatedBatch = Answered<
  Static<typeof BatchCreatedSchema>,
  BatchName | 'from_address' | 'transactions'
>

/** What a batch would cost, and which of its payees are contracts. */
export type BatchEstimate = Answered<
  Static<typeof BatchEstimateSchema>,
  'currency' | 'count' | 'amount' | 'chain_transactions' | 'fee_wei' | 'contracts'
>

/** What became of one payment of a batch. */
export type BatchItem = Answered<
  BatchItemWire,
  'index' | 'transaction_id' | 'to_address' | 'amount' | 'status'
>

/** A page of the items of a batch; `next_from` is null on the last. */
export type BatchDetail = Batch & { items: BatchItem[]; next_from: number | null }

/** What the caller's address holds; `balance_wei` is exact in any language. */
export type Balance = Answered<
  Static<typeof BlockchainBalanceSchema>,
  'address' | 'balance_eth' | 'balance_wei'
>

/** One change of one transaction, as the event log tells it. */
export type PlatformEvent = Answered<EventWire, 'id' | 'type' | 'transaction_id' | 'status'>

/** Events in their order, and the place to read on from. */
export type EventPage = { events: PlatformEvent[]; next_after: string; has_more: boolean }

/** A gateway that payments go through. */
export type Gateway = Answered<GatewayList['gateways'][number], 'gateway_id' | 'kind'>

/** An institution that transfers go through. */
export type Institution = Answered<
  InstitutionList['institutions'][number],
  'institution_id' | 'kind'
>
