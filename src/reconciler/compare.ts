import type { Hex } from '../chain/hex.ts'
import type { BreakKind } from '../domain/breaks.ts'
import { matchPayment, type Expected, type Match } from '../verify/match.ts'
import { paymentsOf, type Payment } from '../verify/payments.ts'
import type { DisagreementKind } from '../verify/verdict.ts'
import type { MinedFacts } from './agree.ts'
import type { MinedReceipt } from '../chain/answers.ts'
import type { PaymentRecord } from './records.ts'

/** Which contracts are believed; undefined where the chain has none that we know. */
export type Contracts = { settlement: Hex | undefined; stablecoin: Hex | undefined }

/** How a record's payment stands against what the transaction shows. */
export type Comparison = {
  /** Empty where all that is recorded is shown. */
  kinds: readonly BreakKind[]
  /** The payment that was meant, or the one nearest to it. */
  payment: Payment | undefined
  /** How many payments of the transaction are as recorded: so many records may claim it. */
  count: number
}

/** Whether the record says anything that a hash alone does not. */
export function saysWhat({ payee, amount, reference }: PaymentRecord): boolean {
  return payee !== undefined || amount !== undefined || reference !== undefined
}

/**
 * What of the record can be held against the transaction: a price in dollars only where the
 * transaction pays dollars.
 */
export function claimOf(
  record: PaymentRecord,
  receipt: MinedReceipt,
  { stablecoin }: Contracts,
): PaymentRecord {
  if (record.amount?.isPrice !== true) return record
  const { payments } = shownBy(receipt)
  const isInDollars = stablecoin && payments.some(({ token }) => token === stablecoin)
  return isInDollars ? record : { ...record, amount: undefined }
}

/** Compares all that the record says of the payment. Zero tolerance: one wei is a difference. */
export function comparePayment(
  recorded: PaymentRecord,
  facts: MinedFacts,
  contracts: Contracts,
): Comparison {
  const record = claimOf(recorded, facts.receipt, contracts)
  const shown = shownBy(facts.receipt)
  if (!saysWhat(record)) {
    return { kinds: [], payment: shown.payments[0], count: Math.max(1, shown.payments.length) }
  }
  const proven = provenByEvent(record, facts.receipt, contracts)
  if (proven !== undefined) return proven
  const payments = [...nativeOf(facts), ...shown.payments]
  const nearest = nearestOf(record, payments, contracts)
  if (nearest.payment === undefined) return { ...paidNothing(record, facts), count: 0 }
  return { ...nearest, count: nearest.kinds.length === 0 ? 1 : 0 }
}

/** Compares the record with the one payment that its signed transaction is to make. */
export function compareIntent(
  record: PaymentRecord,
  intended: Payment,
  contracts: Contracts,
): { kinds: BreakKind[] } {
  if (!saysWhat(record)) return { kinds: [] }
  // Who signed it is for the chain to tell.
  const { payer: _, ...told } = record
  return nearestOf(told, [intended], contracts)
}

function nearestOf(
  record: PaymentRecord,
  payments: readonly Payment[],
  contracts: Contracts,
): { kinds: BreakKind[]; payment: Payment | undefined } {
  const expected = expectedOf(record, contracts)
  const direct = matchPayment(payments, { ...expected, kinds: DIRECT })
  if (direct.disagreements.length === 0) return { kinds: [], payment: direct.payment }
  const settled = matchPayment(payments, { ...expected, ...settledBy(record, contracts) })
  const isNearer = settled.payment !== undefined && weigh(settled) <= weigh(direct)
  const { payment, disagreements } = isNearer ? settled : direct
  const kinds = disagreements.map(({ kind }) => KINDS[kind] ?? 'wrong_contract')
  return { kinds: [...new Set(kinds)], payment }
}

/**
 * The payment where an event of the receipt shows all that is recorded, so that the transaction
 * itself need not be read. Several alike are nothing to tell apart: so many records may claim them.
 */
export function provenByEvent(
  record: PaymentRecord,
  receipt: MinedReceipt,
  contracts: Contracts,
): Comparison | undefined {
  const { byReference, byPayee, payments } = shownBy(receipt)
  const { reference, payee } = record
  // A batch has a thousand events, and as many records: each is compared with its own only.
  const candidates =
    reference !== undefined
      ? byReference.get(reference)
      : payee === undefined
        ? payments
        : byPayee.get(payee)
  const expected = expectedOf(record, contracts)
  const settled = settledBy(record, contracts)
  const matching = (candidates ?? []).filter((payment) => {
    const how = payment.kind === 'settlement' ? settled : { kinds: DIRECT }
    return matchPayment([payment], { ...expected, ...how }).disagreements.length === 0
  })
  const [payment] = matching
  return payment && { kinds: [], payment, count: matching.length }
}

const DIRECT: Expected['kinds'] = ['native', 'transfer', 'mint', 'burn']

/** Of a settlement, who logged it and who paid must be right as well. */
function settledBy(
  { payer }: PaymentRecord,
  { settlement: contract }: Contracts,
): Pick<Expected, 'kinds' | 'contract' | 'payer'> {
  return { kinds: ['settlement'], contract, payer }
}

/** What a payer is scopes the reference, and what a token is, its contract. */
const KINDS: Partial<Record<DisagreementKind, BreakKind>> = {
  wrong_amount: 'wrong_amount',
  wrong_recipient: 'wrong_recipient',
  wrong_contract: 'wrong_contract',
  wrong_token: 'wrong_contract',
  wrong_reference: 'wrong_reference',
  wrong_payer: 'wrong_reference',
}

/** What the events of a receipt show, found by what records name. */
type Shown = {
  payments: readonly Payment[]
  byReference: ReadonlyMap<string, Payment[]>
  byPayee: ReadonlyMap<string, Payment[]>
}

const shown = new WeakMap<MinedReceipt, Shown>()

function shownBy(receipt: MinedReceipt): Shown {
  const known = shown.get(receipt)
  if (known !== undefined) return known
  const { from, to, succeeded, logs } = receipt
  const transaction = { from, to, value: 0n }
  const payments = paymentsOf({ transaction, receipt: { succeeded, logs } })
  const made = {
    payments,
    byReference: Map.groupBy(payments, ({ reference }) => reference ?? ''),
    byPayee: Map.groupBy(payments, ({ payee }) => payee ?? ''),
  }
  shown.set(receipt, made)
  return made
}

function nativeOf({ receipt, transaction }: MinedFacts): Payment[] {
  const { from, to, succeeded } = receipt
  const value = transaction?.value ?? 0n
  return paymentsOf({ transaction: { from, to, value }, receipt: { succeeded, logs: [] } })
}

function expectedOf(record: PaymentRecord, { stablecoin }: Contracts): Omit<Expected, 'kinds'> {
  const { payee, amount, reference } = record
  return {
    contract: undefined,
    token: amount && (amount.asset === 'native' ? null : (amount.token ?? stablecoin)),
    payer: undefined,
    payee,
    amount: amount?.units,
    reference,
  }
}

function weigh({ payment, disagreements }: Match): number {
  if (payment === undefined) return Infinity
  const isOther = disagreements.some(({ kind }) => kind === 'wrong_reference')
  return disagreements.length + (isOther ? 10 : 0)
}

/** It succeeded without moving anything that a receipt shows. */
function paidNothing(
  record: PaymentRecord,
  { receipt }: MinedFacts,
): { kinds: BreakKind[]; payment: undefined } {
  const { payee, amount, reference } = record
  const kinds: BreakKind[] = []
  if (payee !== undefined && payee !== receipt.to) kinds.push('wrong_recipient')
  if (amount !== undefined) kinds.push('wrong_amount')
  if (reference !== undefined && kinds.length === 0) kinds.push('wrong_reference')
  return { kinds, payment: undefined }
}
