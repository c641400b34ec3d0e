import type { Static } from 'typebox'

import type {
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
import type { Answered, Open } from './told.ts'

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

export type Transaction = Answered<TransactionWire, TransactionName>

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

export type TransactionDetail = Answered<
  Detail,
  TransactionName | 'user_id' | 'institution_id' | 'gateway_id'
> & { blockchain_transaction?: BlockchainTransaction | null }

export type TransactionQuery = {
  type?: Open<TransactionWire['type']> | undefined
  status?: Open<TransactionWire['status']> | undefined
  /** YYYY-MM-DD, that day included. */
  start_date?: string | undefined
  end_date?: string | undefined
  /** Rows of one page. */
  limit?: number | undefined
} & PagePosition

/** Where a page begins. A server that gives a cursor takes it; any other takes an offset. */
export type PagePosition = { offset?: number | undefined; cursor?: string | undefined }

export type TransactionPage = {
  transactions: Transaction[]
  total: number
  limit: number
  offset: number
  /** Undefined on the last page. Kept, and put into a query later, it goes on from there. */
  next: PagePosition | undefined
}

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

export type PaymentState = Answered<
  PaymentStatus,
  'transaction_id' | 'status' | 'amount' | 'currency' | 'gateway_reference'
>

export type Refund = Answered<RefundCreated, 'transaction_id' | 'refund_id' | 'status'>

export type TransferRequest = Asked<TransferCreate>

export type Transfer = Answered<
  TransferCreated,
  'transaction_id' | 'transfer_id' | 'status' | 'amount' | 'currency'
>

export type TransferState = Answered<
  TransferStatus,
  'transaction_id' | 'transfer_id' | 'status' | 'amount' | 'currency' | 'institution_reference'
>

export type BlockchainRequest = Asked<Static<typeof BlockchainCreateSchema>>

export type BlockchainPayment = Answered<
  Static<typeof BlockchainCreatedSchema>,
  'transaction_id' | 'eth_transaction_hash' | 'from_address' | 'to_address' | 'amount' | 'status'
>

export type Balance = Answered<
  Static<typeof BlockchainBalanceSchema>,
  'address' | 'balance_eth' | 'balance_wei'
>

export type PlatformEvent = Answered<EventWire, 'id' | 'type' | 'transaction_id' | 'status'>

export type EventPage = { events: PlatformEvent[]; next_after: string; has_more: boolean }

export type Gateway = Answered<GatewayList['gateways'][number], 'gateway_id' | 'kind'>

export type Institution = Answered<
  InstitutionList['institutions'][number],
  'institution_id' | 'kind'
>
