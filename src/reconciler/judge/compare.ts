import { settlementAddress } from '../../bindings/addresses.ts'
import type { MinedReceipt } from '../../chain/answers.ts'
import type { Hex } from '../../chain/hex.ts'
import { decodeEvent } from '../../chain/read/events.ts'
import type { BreakKind } from '../../domain/breaks.ts'
import { sentBack } from '../../verify/cautions.ts'
import { ANY_PAYMENT, matchingPayments, matchPayment, type Expected } from '../../verify/match.ts'
import { paymentsOf, type Payment } from '../../verify/read-payments.ts'
import type { DisagreementKind } from '../../verify/verdict.ts'
import type { MinedFacts } from '../chain/agree.ts'
import type { PaymentRecord, RecordedAmount, Uncompared } from '../sources/records.ts'

/** Whose events are believed. */
export type Contracts = {
  /** Undefined where the chain has none that we know. */
  settlement: Hex | undefined
  /** The tokens that the operator names, with their decimals. */
  tokens: ReadonlyMap<Hex, number>
}

/** How a record's payment stands against what the transaction shows. */
export type Comparison = {
  /** Empty where all that is recorded is shown. */
  kinds: readonly BreakKind[]
  /** Set where a part of what is recorded could not be compared. */
  uncompared?: Uncompared | undefined
  /** The payment that was meant, or the one nearest to it. */
  payment: Payment | undefined
  /** How many payments of the transaction are as recorded: so many records may claim it. */
  count: number
}

/** Whether the record says anything that a hash alone does not. */
export function saysWhat({ payee, amount, reference, token }: PaymentRecord): boolean {
  return [payee, amount, reference, token].some((part) => part !== undefined)
}

/**
 * What of the record can be compared with the transaction, and why the rest cannot: an amount whose
 * token is not known, or a price in dollars of a transaction that pays none.
 */
export function comparableOf(
  record: PaymentRecord,
  receipt: MinedReceipt,
): { record: PaymentRecord; uncompared: Uncompared | undefined } {
  const { amount } = record
  if (amount === undefined) return { record, uncompared: undefined }
  const rest = { ...record, amount: undefined }
  const { money, unknown } = amount
  if (money === undefined) {
    return { record: rest, uncompared: typeof unknown === 'object' ? unknown : UNPRICED }
  }
  const isPaid = shownBy(receipt).payments.some(({ token }) => token === money.token)
  if (amount.isPrice !== true || isPaid) return { record, uncompared: undefined }
  const problem =
    `the transaction pays nothing in ${money.token ?? 'native coin'}, so that ` +
    `${amount.text} ${amount.currency} can only be the price of what it pays`
  return { record: rest, uncompared: { reason: 'price_only', problem } }
}

const UNPRICED: Uncompared = {
  reason: 'currency_unknown',
  problem: 'no token is known for the amount',
}

/** Compares all that the record says of the payment. Zero tolerance: one wei is a difference. */
export function comparePayment(
  recorded: PaymentRecord,
  facts: MinedFacts,
  contracts: Contracts,
): Comparison {
  const found = compareFacts(recorded, facts, contracts)
  const { payment, kinds } = found
  if (payment === undefined || found.uncompared !== undefined) return found
  if (kinds.length === 0) {
    return saysWhat(recorded) ? { ...found, uncompared: takenBack(payment, facts) } : found
  }
  const isOtherAmount = kinds.every((kind) => kind === 'wrong_amount')
  if (recorded.amount?.isDue !== true || !isOtherAmount) return found
  return { ...found, kinds: [], uncompared: inParts(recorded.amount), count: 1 }
}

/** A payment that its own transaction sends back does not count, whatever its event says. */
function takenBack(payment: Payment, { receipt }: MinedFacts): Uncompared | undefined {
  const returns = shownBy(receipt).byPayee.get(payment.payer ?? '') ?? []
  const back = sentBack(payment, returns)
  if (back === 0n) return undefined
  const part = back < payment.amount ? 'a part of it' : 'it'
  const problem = `the same transaction sends ${part} back to the payer, ${payment.payer}`
  return { reason: 'sent_back', problem }
}

function inParts({ text, currency }: RecordedAmount): Uncompared {
  const problem =
    `the transaction pays another amount than ${text} ${currency}, which was due: it can be the ` +
    'last part of it, or more than it. Compare the arrivals in the status of the payment'
  return { reason: 'paid_in_parts', problem }
}

function compareFacts(
  recorded: PaymentRecord,
  facts: MinedFacts,
  contracts: Contracts,
): Comparison {
  const { receipt } = facts
  const { record, uncompared } = comparableOf(recorded, receipt)
  const shown = shownBy(receipt)
  if (!saysWhat(record)) {
    const count = Math.max(1, shown.payments.length)
    return { kinds: [], uncompared, payment: shown.payments[0], count }
  }
  const proven = provenByEvent(record, receipt, contracts)
  if (proven !== undefined) return { ...proven, uncompared }
  const payments = [...nativeOf(facts), ...shown.payments]
  const believed = payments.filter((payment) => isBelieved(payment, record, contracts))
  const nearest = nearestOf(record, believed, contracts)
  if (isFound(nearest)) return { ...nearest, uncompared, count: 1 }
  const other = nearestOf(record, payments, contracts)
  if (isFound(other)) {
    return { ...other, uncompared: uncompared ?? inUnknownToken(other.payment), count: 1 }
  }
  if (other.payment === undefined) return { ...paidNothing(record, facts), count: 0 }
  return { ...other, count: 0 }
}

/** Any contract can log that it moved money of its own; a record vouches for the one it names. */
function isBelieved(
  { token }: Payment,
  { token: named, amount }: PaymentRecord,
  { tokens }: Contracts,
): boolean {
  return token === null || tokens.has(token) || token === named || token === amount?.money?.token
}

function isFound(nearest: Nearest): nearest is Nearest & { payment: Payment } {
  return nearest.kinds.length === 0 && nearest.payment !== undefined
}

function inUnknownToken({ token }: Payment): Uncompared {
  const problem =
    `it is paid in ${token}, a token that neither the record nor you have named. ` +
    'Name it: --token ADDRESS, or the column token'
  return { reason: 'paid_in_unknown_token', problem }
}

/** Compares the record with the one payment that its signed transaction is to make. */
export function compareIntent(
  record: PaymentRecord,
  intended: Payment,
  contracts: Contracts,
): { kinds: BreakKind[] } {
  // Who signed it is for the chain to tell.
  const { payer: _, ...rest } = record
  const told = { ...rest, amount: record.amount?.money && record.amount }
  if (!saysWhat(told)) return { kinds: [] }
  return nearestOf(told, [intended], contracts)
}

type Nearest = { kinds: BreakKind[]; payment: Payment | undefined }

function nearestOf(
  record: PaymentRecord,
  payments: readonly Payment[],
  contracts: Contracts,
): Nearest {
  const expected = expectedOf(record, contracts)
  const [found] = matchingPayments(payments, expected).filter((one) => isByPayer(one, record))
  if (found !== undefined) return { kinds: [], payment: found }
  const { payment, disagreements } = matchPayment(payments, expected)
  const kinds = disagreements.map(({ kind }) => KINDS[kind] ?? 'wrong_contract')
  // Who paid a settlement scopes its reference.
  if (payment && !isByPayer(payment, record)) kinds.push('wrong_reference')
  return { kinds: [...new Set(kinds)], payment }
}

/** Of a settlement alone it is known of whom it must tell; in a transfer, that is the sender's. */
function isByPayer({ kind, payer }: Payment, { payer: named }: PaymentRecord): boolean {
  return kind !== 'settlement' || named === undefined || payer === named
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
  const found =
    reference !== undefined
      ? byReference.get(reference)
      : payee === undefined
        ? payments
        : byPayee.get(payee)
  const candidates = (found ?? []).filter((one) => isBelieved(one, record, contracts))
  const matching = matchingPayments(candidates, expectedOf(record, contracts)).filter((one) =>
    isByPayer(one, record),
  )
  const [payment] = matching
  return payment && { kinds: [], payment, count: matching.length }
}

/** Whether the settlement contract itself says that it could not make this payment of several. */
export function isRefused(
  { reference, payer, payee, amount }: PaymentRecord,
  { logs }: MinedReceipt,
  { settlement = KNOWN_SETTLEMENT }: Contracts,
): boolean {
  if (reference === undefined) return false
  const events = logs.flatMap((log) => (log.address === settlement ? (decodeEvent(log) ?? []) : []))
  const told = events.filter(({ args }) => args['reference'] === reference)
  return (
    told.length > 0 &&
    told.every(({ name, args }) => name === 'SettlementFailed' && args['payer'] === payer) &&
    told.some(({ args }) => args['payee'] === payee && args['amount'] === amount?.money?.units)
  )
}

const KNOWN_SETTLEMENT = settlementAddress.toLowerCase() as Hex

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
  const all = paymentsOf({ transaction, receipt: { succeeded, logs } })
  // Anyone can send nothing from any address to any other.
  const payments = all.filter(({ amount }) => amount > 0n)
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

function expectedOf(record: PaymentRecord, { settlement }: Contracts): Expected {
  const { payee, amount, reference, token } = record
  const { money } = amount ?? {}
  return {
    kinds: ANY_PAYMENT,
    contract: undefined,
    // Where the chain lacks the contract, nothing that logs the same is taken for it.
    settlement: settlement ?? KNOWN_SETTLEMENT,
    token: money ? money.token : token,
    payer: undefined,
    payee,
    amount: money?.units,
    reference,
  }
}

/** It succeeded without moving anything that a receipt shows. */
function paidNothing(
  record: PaymentRecord,
  { receipt }: MinedFacts,
): { kinds: BreakKind[]; payment: undefined } {
  const { payee, amount, reference, token } = record
  const kinds: BreakKind[] = []
  if (payee !== undefined && payee !== receipt.to) kinds.push('wrong_recipient')
  if (amount !== undefined) kinds.push('wrong_amount')
  else if (token !== undefined) kinds.push('wrong_contract')
  if (reference !== undefined && kinds.length === 0) kinds.push('wrong_reference')
  return { kinds, payment: undefined }
}
