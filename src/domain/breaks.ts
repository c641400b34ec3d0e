import type { TransactionStatus } from './states.ts'

/** Every way in which a record and the chain can disagree, and what each means. */
export const BREAK_MEANINGS = {
  missing: 'The record says paid, and no node knows the transaction.',
  dropped: 'The record waits for a transaction that no node knows any more.',
  reverted: 'The transaction was mined and reverted: it moved nothing.',
  replaced_by_ours: 'Another transaction that we signed took its nonce.',
  replaced_unknown: 'A transaction that nobody recorded took its nonce.',
  wrong_amount: 'The chain shows another amount.',
  wrong_recipient: 'The chain shows another payee.',
  wrong_contract: 'The payment went through another contract or in another token.',
  wrong_hash: 'The signed transaction has another hash than the record says.',
  wrong_reference: 'The chain shows the payment under another reference, or under none.',
  reorged: 'The transaction is in another block than the record says.',
  stale_receipt: 'A node shows a receipt from a block that is not part of the chain.',
  unknown_outgoing: 'A transaction of one of our signers that nobody recorded.',
  duplicate_payment: 'The same payment is claimed, or was made, more than once.',
  fee_mismatch: 'The fee that was recorded is not the fee that was paid.',
  state_lag: 'The chain has decided, and the record has not followed.',
  supply_drift: 'The supply on chain is not what the ledger owes.',
  unexplained_balance: 'An address of ours gained or lost what no record explains.',
  provider_disagreement: 'Nodes contradict each other, so nothing is concluded.',
} as const

export type BreakKind = keyof typeof BREAK_MEANINGS

/** What an operator does about each of them. */
export const BREAK_REMEDIES: Readonly<Record<BreakKind, string>> = {
  missing: 'Ask a second node for the hash; if that does not know it either, pay again.',
  dropped: 'Check that the providers take transactions; the sender sends it again by itself.',
  reverted: 'Read why it reverted, remove the cause, and pay again under a new order.',
  replaced_by_ours: 'Compare the two transactions, and pay again if neither paid the order.',
  replaced_unknown: 'Find out who else holds the key of this signer, and replace the key.',
  wrong_amount: 'Pay what is missing, or ask the payee for what was too much.',
  wrong_recipient: 'Ask the payee that was paid to return it, then pay the right one.',
  wrong_contract: 'Check the configured contract and token before anything else is sent.',
  wrong_hash: 'Compare the stored transaction with the database backup: a row was changed.',
  wrong_reference: 'Look for the order under the reference of the chain, and check the caller.',
  reorged: 'Wait for the block to be final, then look at it again.',
  stale_receipt: 'Ask the operator of that node to resync it, or take it out of ETH_RPC_URL.',
  unknown_outgoing: 'Find out who sent it; if nobody did, treat the key of the signer as stolen.',
  duplicate_payment: 'Ask the payee to return the second payment, and find what claimed it twice.',
  fee_mismatch: 'Correct the recorded fee: what the receipt says is what was paid.',
  state_lag: 'Check that the follower runs; the record follows by itself once it reads the block.',
  supply_drift: 'Stop mints, and compare each mint and burn since the last block that agreed.',
  unexplained_balance: 'Look at the transfers of the address between the two blocks.',
  provider_disagreement: 'Ask a third node; take the one that stands alone out of ETH_RPC_URL.',
}

export const BREAK_KINDS = Object.keys(BREAK_MEANINGS) as readonly BreakKind[]

/** The payment is there as recorded; its fee, its echo or its witness is in doubt. */
const HARMLESS: ReadonlySet<BreakKind> = new Set<BreakKind>([
  'stale_receipt',
  'unknown_outgoing',
  'duplicate_payment',
  'fee_mismatch',
  'state_lag',
  'supply_drift',
  'unexplained_balance',
  'provider_disagreement',
])

/** A payment with one of these that is open does not count as settled. */
export const UNSETTLING_KINDS = BREAK_KINDS.filter((kind) => !HARMLESS.has(kind))

/** Of breaks and alerts: the block that is recorded of the payment is not part of the chain. */
const OFF_CHAIN: ReadonlySet<string> = new Set([
  'missing',
  'dropped',
  'replaced_by_ours',
  'replaced_unknown',
  'reorged',
  'reorg_after_final',
])

export function isOffChain(reason: string): boolean {
  return OFF_CHAIN.has(reason)
}

/** What the record and the chain say, by field. Amounts are decimal strings, never numbers. */
export type BreakFacts = Readonly<Record<string, string | null>>

/** One disagreement, as one run found it. */
export type Finding = {
  /** The same for the same disagreement in every run. */
  id: string
  kind: BreakKind
  /** Null where no record is concerned. */
  transactionId: string | null
  hash: string | null
  recorded: BreakFacts
  onChain: BreakFacts
  /** Who says so, and what else a person needs to judge it. */
  evidence: BreakFacts
}

/** Where the facts of a break state the amount that it is about; the first one stands. */
export const AT_RISK = [
  ['recorded', 'amount'],
  ['onChain', 'amount'],
  ['evidence', 'unexplained'],
  ['evidence', 'drift'],
] as const

/** The amount that a break is about, and its currency where the facts name one. */
export function amountAtRisk(
  found: Pick<Finding, 'recorded' | 'onChain' | 'evidence'>,
  coin: string | undefined,
): { amount: string; currency: string | null } | undefined {
  const place = AT_RISK.find(([side, name]) => typeof found[side][name] === 'string')
  const text = place && found[place[0]][place[1]]
  if (typeof text !== 'string' || !/^-?[0-9]+(\.[0-9]+)?$/.test(text)) return undefined
  const { recorded, onChain } = found
  const named = recorded['currency'] ?? onChain['currency']
  // What a transaction moves is in the coin of its chain, unless it names a token.
  const isInCoin = place?.[0] === 'onChain' && (onChain['token'] ?? null) === null
  return { amount: text.replace('-', ''), currency: (named ?? (isInCoin && coin)) || null }
}

/** How long a break has been open. */
export const AGE_BUCKETS = ['under_1h', 'under_1d', 'under_7d', 'over_7d'] as const

export type AgeBucket = (typeof AGE_BUCKETS)[number]

export const AGE_LIMITS_MS = { under_1h: 3_600_000, under_1d: 86_400_000, under_7d: 604_800_000 }

export function ageBucket(firstSeen: Date, now: Date): AgeBucket {
  const ageMs = now.getTime() - firstSeen.getTime()
  if (ageMs < AGE_LIMITS_MS.under_1h) return 'under_1h'
  if (ageMs < AGE_LIMITS_MS.under_1d) return 'under_1d'
  return ageMs < AGE_LIMITS_MS.under_7d ? 'under_7d' : 'over_7d'
}

/** What the chain made of a transaction; `open` means that its block is not final yet. */
export type ChainState =
  'succeeded' | 'succeeded_open' | 'reverted' | 'reverted_open' | 'waiting' | 'absent'

/** What follows from a status and a state of the chain, before any field is compared. */
export type RecordStanding = 'holds' | 'pending' | 'pending_while_young' | BreakKind

/** What a record says: of one that says nothing it is assumed that the payment was made. */
type Claim = 'paid' | 'open' | 'failed'

/**
 * The one table of what a record and the chain may say together. `pending_while_young` becomes
 * `dropped` when the record is older than the grace, or does not say how old it is.
 */
const STANDINGS: Readonly<Record<Claim, Readonly<Record<ChainState, RecordStanding>>>> = {
  paid: {
    succeeded: 'holds',
    succeeded_open: 'pending',
    reverted: 'reverted',
    reverted_open: 'pending',
    waiting: 'pending',
    absent: 'missing',
  },
  open: {
    succeeded: 'state_lag',
    succeeded_open: 'pending',
    reverted: 'reverted',
    reverted_open: 'pending',
    waiting: 'pending',
    absent: 'pending_while_young',
  },
  failed: {
    succeeded: 'state_lag',
    succeeded_open: 'pending',
    reverted: 'holds',
    reverted_open: 'pending',
    waiting: 'pending',
    absent: 'holds',
  },
}

const CLAIMS: Readonly<Record<TransactionStatus, Claim>> = {
  pending: 'open',
  processing: 'open',
  completed: 'paid',
  refunded: 'paid',
  failed: 'failed',
}

export function standingOf(
  status: TransactionStatus | undefined,
  chain: ChainState,
): RecordStanding {
  return STANDINGS[status === undefined ? 'paid' : CLAIMS[status]][chain]
}
