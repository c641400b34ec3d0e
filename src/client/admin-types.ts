import type { Static } from 'typebox'

import type {
  OfChainQuerySchema,
  OverviewWire,
  OwnedBatchDetailWire,
  OwnedBatchListQuerySchema,
  OwnedBatchListWire,
  OwnedListQuerySchema,
  OwnedListWire,
  SampleListWire,
  TransactionLifeWire,
} from '../wire/group-b/admin.ts'
import type {
  AlertListWire,
  AlertNotedSchema,
  DisputeListQuerySchema,
  DisputeListWire,
  FoundListWire,
  MovementListQuerySchema,
  MovementListWire,
  StatisticsQuerySchema,
  StatisticsWire,
  WebhookEndpointListQuerySchema,
  WebhookEndpointListWire,
} from '../wire/group-b/console.ts'
import type {
  DecisionSchema,
  UndecidedListSchema,
  UndecidedPayment as UndecidedWire,
} from '../wire/group-b/decisions.ts'
import type {
  AnyDeliveryDetailWire,
  AnyDeliveryListQuerySchema,
  AnyDeliveryListSchema,
  AnyDeliveryWire,
} from '../wire/group-b/deliveries.ts'
import type {
  CreditLineAnswerSchema,
  OwnedWalletListQuerySchema,
  OwnedWalletListWire,
  PostingListQuerySchema,
  PostingListWire,
} from '../wire/group-b/ledger.ts'
import type {
  LimitAnswerSchema,
  LimitListQuerySchema,
  LimitListWire,
  LimitSetSchema,
} from '../wire/group-b/limits.ts'
import type {
  BreakListQuerySchema,
  BreakDetailSchema,
  BreakVerifiedSchema,
  BreakWire,
  RunCreateSchema,
  RunListQuerySchema,
  RunWire,
} from '../wire/group-b/reconciliation.ts'
import type { SignerListQuerySchema, SignerListWire } from '../wire/group-b/signers.ts'
import type { SolvencyWire } from '../wire/group-b/solvency.ts'
import type {
  KeyCreateSchema,
  KeyCreatedWire,
  KeyListQuerySchema,
  KeyListWire,
  KeyWire,
  UserCreateSchema,
  UserListQuerySchema,
  UserListWire,
  UserWire,
} from '../wire/group-b/users.ts'
import type { Parsed } from './parsed.ts'

/** A request, of which what has a default may be left out. */
type Asked<T> = { [Key in keyof T]?: T[Key] | undefined }

type ParsedAnswer<T> = Parsed<Omit<T, 'success'>>

/** Supply on the chain compared with what the ledger owes. */
export type Solvency = ParsedAnswer<SolvencyWire>

/** The addresses that sign; `next_after_id` leads to the next page of the users'. */
export type SignerPage = ParsedAnswer<SignerListWire>
/** Which page of the users' addresses. */
export type SignerQuery = Asked<Static<typeof SignerListQuerySchema>>

/** One reconciliation pass, and how far it is. */
export type Run = Parsed<RunWire>
/** Runs, newest first; `next_cursor` is the cursor of the next page. */
export type RunPage = { runs: Run[]; next_cursor: string | null }
/** Which page of the runs. */
export type RunQuery = Asked<Static<typeof RunListQuerySchema>>
/** Which records to reconcile: all of them without times. */
export type RunRequest = Asked<Static<typeof RunCreateSchema>>

/** A disagreement between a record and the chain. */
export type Break = Parsed<BreakWire>
/** A break with what happened to it. */
export type BreakDetail = ParsedAnswer<Static<typeof BreakDetailSchema>>
/** Breaks, newest first, and how many there are. */
export type BreakPage = { breaks: Break[]; total: number; next_cursor: string | null }
/** Which breaks; all parts given must fit. */
export type BreakQuery = Asked<Static<typeof BreakListQuerySchema>>
/** Whether the break stands, looked at now. */
export type BreakCheck = ParsedAnswer<Static<typeof BreakVerifiedSchema>>

/** One notification on its way to one subscription. */
export type Delivery = Parsed<AnyDeliveryWire>
/** Deliveries, newest first; `next_after` leads to the next page. */
export type DeliveryPage = ParsedAnswer<Static<typeof AnyDeliveryListSchema>>
/** Which deliveries; all parts given must fit. */
export type DeliveryQuery = Asked<Static<typeof AnyDeliveryListQuerySchema>>

/** One notification with its headers and its payload. */
export type DeliveryDetail = ParsedAnswer<AnyDeliveryDetailWire>

/** Which chain; absent: the default one, or all of them in a list. */
export type OfChain = Asked<Static<typeof OfChainQuerySchema>>
/** What a text names, of every kind. */
export type FoundThings = ParsedAnswer<FoundListWire>
/** Mints, redeems, withdrawals or wires of all users, newest first. */
export type MovementPage = ParsedAnswer<MovementListWire>
/** Which of them; the kind is always named. */
export type MovementQuery = Pick<Static<typeof MovementListQuerySchema>, 'kind'> &
  Asked<Static<typeof MovementListQuerySchema>>
/** Disputes of all users, newest first. */
export type Disputes = ParsedAnswer<DisputeListWire>
/** How many disputes. */
export type DisputeQuery = Asked<Static<typeof DisputeListQuerySchema>>
/** Volume, failures, time to final, fees and breaks, by day. */
export type Statistics = ParsedAnswer<StatisticsWire>
/** Of how many days, and of which chain. */
export type StatisticsQuery = Asked<Static<typeof StatisticsQuerySchema>>
/** Where the webhooks of all users go. */
export type WebhookEndpointPage = ParsedAnswer<WebhookEndpointListWire>
/** Whose endpoints. */
export type WebhookEndpointQuery = Asked<Static<typeof WebhookEndpointListQuerySchema>>
/** The open alerts of the sender, oldest first. */
export type Alerts = ParsedAnswer<AlertListWire>
/** That somebody knows of an alert. */
export type NotedAlert = ParsedAnswer<Static<typeof AlertNotedSchema>>

/** What an operator looks at first. */
export type Overview = ParsedAnswer<OverviewWire>
/** The overview as it was, minute by minute. */
export type Samples = ParsedAnswer<SampleListWire>

/** Everybody's transactions; their amounts are text, digit for digit. */
export type OwnedTransactionPage = ParsedAnswer<OwnedListWire>
/** Which transactions, of all users or of one. */
export type OwnedTransactionQuery = Asked<Static<typeof OwnedListQuerySchema>>
/** One transaction with its history and every attempt at its order. */
export type TransactionLife = ParsedAnswer<TransactionLifeWire>

/** A crypto checkout whose payment is short, over or late. */
export type UndecidedPayment = Parsed<UndecidedWire>
/** The payments that an administrator has to decide. */
export type UndecidedPayments = ParsedAnswer<Static<typeof UndecidedListSchema>>
/** Whether to accept what arrived as payment or to refuse it, and why. */
export type Decision = Static<typeof DecisionSchema>

/** The wallets of all users, and what the platform itself holds. */
export type WalletPage = ParsedAnswer<OwnedWalletListWire>
/** How far transfers to a bank may take a wallet below zero. */
export type CreditLine = ParsedAnswer<Static<typeof CreditLineAnswerSchema>>
/** Which wallets. */
export type WalletQuery = Asked<Static<typeof OwnedWalletListQuerySchema>>
/** Postings of the ledger, newest first. */
export type PostingPage = ParsedAnswer<PostingListWire>
/** Which postings. */
export type PostingQuery = Asked<Static<typeof PostingListQuerySchema>>

/** The limits of every way out, and what administrators have set, newest first. */
export type LimitPage = ParsedAnswer<LimitListWire>
/** Whose limits; of nobody in particular, those of everybody. */
export type LimitQuery = Asked<Static<typeof LimitListQuerySchema>>
/** What to set; null takes back what was set before. */
export type LimitRequest = Static<typeof LimitSetSchema>
/** The limits of one way out that are in force then. */
export type Limits = ParsedAnswer<Static<typeof LimitAnswerSchema>>

/** Who may sign in, and with which scopes. */
export type User = Parsed<UserWire>
/** Users; `next_after_id` leads to the next page. */
export type UserPage = ParsedAnswer<UserListWire>
/** Which page of the users. */
export type UserQuery = Asked<Static<typeof UserListQuerySchema>>
/** A user to add. */
export type UserRequest = Static<typeof UserCreateSchema>

/** An API key, of which only the beginning is shown. */
export type Key = Parsed<KeyWire>
/** `api_key` is the key itself, which is shown only once. */
export type NewKey = ParsedAnswer<KeyCreatedWire>
/** Keys; `next_after_id` leads to the next page. */
export type KeyPage = ParsedAnswer<KeyListWire>
/** Whose keys, and which page of them. */
export type KeyQuery = Asked<Static<typeof KeyListQuerySchema>>
/** A key to make. */
export type KeyRequest = Static<typeof KeyCreateSchema>

/** Batches of all users, newest first; `next_after` is null on the last page. */
export type OwnedBatchPage = ParsedAnswer<OwnedBatchListWire>
/** Which batches of all users `admin.batches.list` shows. */
export type OwnedBatchQuery = Asked<Static<typeof OwnedBatchListQuerySchema>>

/** A batch of any user, with a page of its payments. */
export type OwnedBatch = ParsedAnswer<OwnedBatchDetailWire>
