import { feeOf, type GasFacts } from '../../chain/answers.ts'
import {
  BREAK_MEANINGS,
  standingOf,
  type BreakFacts,
  type BreakKind,
  type ChainState,
} from '../../domain/breaks.ts'
import { formatAmount } from '../../domain/money.ts'
import type { Payment } from '../../verify/read-payments.ts'
import type { ChainFact } from '../chain/agree.ts'
import type { UnknownReason } from '../sources/records.ts'
import type { PaymentRecord, RecordedFee, Uncompared } from '../sources/records.ts'
import { comparePayment, isRefused, type Comparison, type Contracts } from './compare.ts'

export type PendingCause = 'not_final' | 'waiting' | 'young' | 'lag_grace' | UnknownReason

/** The result of comparing one record with the chain. */
export type Judgement =
  | { state: 'matched'; comparison: Comparison | undefined }
  /** Nothing contradicts it, but its money cannot be compared. */
  | { state: 'not_compared'; uncompared: Uncompared }
  | { state: 'pending'; cause: PendingCause }
  /** Undecided: the chain may still show more of it, or that older breaks stand. */
  | { state: 'broken'; breaks: readonly FoundBreak[]; isUndecided?: true }

export type FoundBreak = {
  kind: BreakKind
  recorded: BreakFacts
  onChain: BreakFacts
  evidence: BreakFacts
}

export type Rules = {
  contracts: Contracts
  nowMs: number
  /** How long a transaction may be on its way before nobody knowing it is a break. */
  graceMs: number
  /** How long a record may take to follow a final block. */
  lagGraceMs: number
}

/** Pure: the same record, facts and rules give the same judgement. */
export function judge(record: PaymentRecord, fact: ChainFact, rules: Rules): Judgement {
  const { unknown } = record.amount ?? {}
  if (typeof unknown === 'string') return { state: 'pending', cause: unknown }
  if (fact.kind === 'unknown') return { state: 'pending', cause: fact.reason }
  if (fact.kind === 'contradicted') return contradiction(record, fact)
  if (fact.kind === 'mined' && !fact.isCanonical) return staleReceipt(record, fact, rules)
  const standing = standingOf(record.status, stateOf(fact))
  if (standing === 'pending') {
    return { state: 'pending', cause: fact.kind === 'waiting' ? 'waiting' : 'not_final' }
  }
  if (fact.kind !== 'mined') return judgeAbsent(record, fact, { rules, standing })
  if (!fact.receipt.succeeded) {
    if (standing === 'holds') return { state: 'matched', comparison: undefined }
    return broken(record, { kinds: ['reverted'], fact, rules })
  }
  if (record.status === 'failed' && isRefused(record, fact.receipt, rules.contracts)) {
    return { state: 'matched', comparison: undefined }
  }
  return judgePaid(record, fact, { rules, isLagging: standing === 'state_lag' })
}

type Mined = Extract<ChainFact, { kind: 'mined' }>

function stateOf(fact: Mined | Extract<ChainFact, { kind: 'waiting' | 'absent' }>): ChainState {
  if (fact.kind !== 'mined') return fact.kind
  if (fact.receipt.succeeded) return fact.isFinal ? 'succeeded' : 'succeeded_open'
  return fact.isFinal ? 'reverted' : 'reverted_open'
}

/** The money moved for good. Did it move as recorded? */
function judgePaid(
  record: PaymentRecord,
  fact: Mined,
  { rules, isLagging }: { rules: Rules; isLagging: boolean },
): Judgement {
  const comparison = comparePayment(record, fact, rules.contracts)
  const kinds: BreakKind[] = [...comparison.kinds]
  const { receipt } = fact
  if (record.blockHash !== undefined && record.blockHash !== receipt.block.hash) {
    kinds.push('reorged')
  }
  if (record.fee !== undefined && !isFee(record.fee, receipt)) kinds.push('fee_mismatch')
  if (kinds.length === 0 && isLagging) {
    if (rules.nowMs - fact.timeMs < rules.lagGraceMs)
      return { state: 'pending', cause: 'lag_grace' }
    kinds.push('state_lag')
  }
  if (kinds.length > 0) return broken(record, { kinds, fact, rules, payment: comparison.payment })
  const { uncompared } = comparison
  if (uncompared !== undefined) return { state: 'not_compared', uncompared }
  return { state: 'matched', comparison }
}

/** A record that says nothing of what a rollup has charged is compared by its gas. */
function isFee({ gas, rollup }: RecordedFee, { gasUsed, gasPrice, rollupFee }: GasFacts): boolean {
  return gas === gasUsed * gasPrice && (rollup === undefined || rollup === rollupFee)
}

function judgeAbsent(
  record: PaymentRecord,
  fact: Extract<ChainFact, { kind: 'waiting' | 'absent' }>,
  { rules, standing }: { rules: Rules; standing: string },
): Judgement {
  if (standing === 'holds') return { state: 'matched', comparison: undefined }
  const { createdAt } = record
  // A node that has not come to the time of the record cannot know what was missing from it.
  if (fact.kind === 'absent' && createdAt !== undefined) {
    const isAhead = createdAt.getTime() - fact.seenUntilMs > CLOCK_SKEW_MS
    if (isAhead) return { state: 'pending', cause: 'provider_lags' }
  }
  if (standing === 'missing') return broken(record, { kinds: ['missing'], fact, rules })
  const isYoung = createdAt !== undefined && rules.nowMs - createdAt.getTime() < rules.graceMs
  if (isYoung) return { state: 'pending', cause: 'young' }
  return broken(record, { kinds: ['dropped'], fact, rules })
}

const CLOCK_SKEW_MS = 60_000

function staleReceipt(record: PaymentRecord, fact: Mined, rules: Rules): Judgement {
  if (!fact.isFinal) return { state: 'pending', cause: 'not_final' }
  return broken(record, { kinds: ['stale_receipt'], fact, rules })
}

function contradiction(
  record: PaymentRecord,
  { says }: Extract<ChainFact, { kind: 'contradicted' }>,
): Judgement {
  const kind = 'provider_disagreement'
  const evidence = { meaning: BREAK_MEANINGS[kind], ...placeOf(record) }
  return {
    state: 'broken',
    breaks: [{ kind, recorded: recordedOf(record), onChain: says, evidence }],
  }
}

function broken(
  record: PaymentRecord,
  found: {
    kinds: readonly BreakKind[]
    fact: ChainFact
    rules: Rules
    payment?: Payment | undefined
  },
): Judgement {
  const recorded = recordedOf(record)
  const onChain = onChainOf(found.fact, found)
  const breaks = found.kinds.map((kind) => {
    const evidence = {
      meaning: BREAK_MEANINGS[kind],
      ...witnessesOf(found.fact),
      ...placeOf(record),
    }
    return { kind, recorded, onChain, evidence }
  })
  return { state: 'broken', breaks }
}

/** Everything that the record says, in words that JSON, CSV and a person can read. */
export function recordedOf(record: PaymentRecord): BreakFacts {
  const { amount, createdAt, fee, nonce } = record
  const facts = {
    status: record.status,
    to_address: record.payee,
    amount: amount?.text,
    currency: amount?.currency,
    amount_units: amount?.money && String(amount.money.units),
    reference: record.reference,
    block_hash: record.blockHash,
    fee_wei: fee && String(fee.gas + (fee.rollup ?? 0n)),
    from_address: record.signer,
    nonce: nonce === undefined ? undefined : String(nonce),
    created_at: createdAt?.toISOString(),
  }
  return withoutUndefined(facts)
}

function onChainOf(
  fact: ChainFact,
  { payment, rules }: { payment?: Payment | undefined; rules: Rules },
): BreakFacts {
  if (fact.kind !== 'mined') return { status: fact.kind === 'waiting' ? 'waiting' : 'not_known' }
  const { receipt, timeMs } = fact
  return withoutUndefined({
    status: receipt.succeeded ? 'succeeded' : 'reverted',
    block_number: String(receipt.block.number),
    block_hash: receipt.block.hash,
    block_time: new Date(timeMs).toISOString(),
    from_address: receipt.from,
    to_address: receipt.to,
    fee_wei: String(feeOf(receipt)),
    ...(payment && factsOfPayment(payment, rules.contracts)),
    ...(!payment && fact.transaction && { amount: '0', amount_units: '0' }),
  })
}

export function factsOfPayment(payment: Payment, { tokens }: Contracts): BreakFacts {
  const { payee, amount, token, contract, reference } = payment
  const decimals = token === null ? 18 : tokens.get(token)
  return {
    to_address: payee,
    // The units of a token that nobody named are of no known size.
    amount: decimals === undefined ? null : formatAmount({ amount, decimals }),
    amount_units: String(amount),
    token,
    contract,
    reference,
  }
}

function witnessesOf(fact: ChainFact): BreakFacts {
  return 'agreeing' in fact ? { providers: fact.agreeing.join(', ') } : {}
}

/** Where a person finds the record. */
export function placeOf({ line }: PaymentRecord): BreakFacts {
  return line === undefined ? {} : { line: String(line) }
}

function withoutUndefined(facts: Record<string, string | null | undefined>): BreakFacts {
  const entries = Object.entries(facts).filter((entry): entry is [string, string | null] => {
    return entry[1] !== undefined
  })
  return Object.fromEntries(entries)
}
