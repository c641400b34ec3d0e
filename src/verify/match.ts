import { hashOfBytes, type Hex } from '../chain/hex.ts'
import { formatMoney, nativeCoin, type Coin } from './coins.ts'
import type { Payment, PaymentKind } from './read-payments.ts'
import type { Disagreement, DisagreementKind } from './verdict.ts'

/** The payment that a claim describes; what is undefined is not checked. */
export type Expected = {
  kinds: readonly PaymentKind[]
  /** The one contract that is believed; undefined where each payment has its own. */
  contract: Hex | undefined
  /** The contract whose settlements are believed; without one, none is. */
  settlement?: Hex | undefined
  token: Hex | null | undefined
  payer: Hex | undefined
  payee: Hex | undefined
  amount: bigint | undefined
  reference: Hex | undefined
  /** The place of its event in the receipt, which distinguishes equal payments. */
  log?: number | undefined
}

/** Nothing is expected yet but what is put in. */
export const UNKNOWN: Omit<Expected, 'kinds'> = {
  contract: undefined,
  token: undefined,
  payer: undefined,
  payee: undefined,
  amount: undefined,
  reference: undefined,
}

/** How money can have moved for a claim that does not say how. */
export const ANY_PAYMENT: Expected['kinds'] = ['settlement', 'native', 'transfer', 'mint', 'burn']

export type Match = { payment: Payment | undefined; disagreements: readonly Disagreement[] }

/**
 * Finds the one payment of a transaction that is as expected. Where none is, the differences of the
 * nearest one are reported; where several are, none of them is taken.
 */
export function matchPayment(payments: readonly Payment[], expected: Expected): Match {
  const matching = matchingPayments(payments, expected)
  const [payment] = matching
  if (payment !== undefined && matching.length === 1) return { payment, disagreements: [] }
  if (payment !== undefined) return { payment: undefined, disagreements: [ambiguous(matching)] }
  const [nearest] = payments
    .filter((one) => isMeant(one, expected))
    .map((one) => ({ payment: one, disagreements: compare(one, expected) }))
    .toSorted((a, b) => weigh(a) - weigh(b))
  return nearest ?? { payment: undefined, disagreements: [noPayment(payments, expected)] }
}

/**
 * Every payment that is as expected, each movement of money once: a settlement shows more than the
 * transfers and the native coin that it consists of, so it replaces them.
 */
export function matchingPayments(payments: readonly Payment[], expected: Expected): Payment[] {
  const matching = payments.filter(
    (one) => isMeant(one, expected) && compare(one, expected).length === 0,
  )
  const settlements = matching.filter(({ kind }) => kind === 'settlement')
  // A batch has a thousand of them, and each is looked at.
  const others = matching.filter(({ kind }) => kind !== 'settlement')
  const parts = new Set<Payment>()
  for (const settlement of others.length === 0 ? [] : settlements) {
    for (const isPart of [isDelivery, isCollection]) {
      const part = others.find((one) => !parts.has(one) && isPart(one, settlement))
      if (part !== undefined) parts.add(part)
    }
  }
  return matching.filter((one) => !parts.has(one))
}

function isMeant({ kind, log }: Payment, expected: Expected): boolean {
  return expected.kinds.includes(kind) && (expected.log === undefined || expected.log === log)
}

/** What a settlement moved to its payee: from the payer, or from the contract. */
function isDelivery(one: Payment, settlement: Payment): boolean {
  const { contract, payer, payee } = settlement
  const isTransfer = one.kind === 'transfer' && isAfter(one, settlement)
  return isTransfer && one.payee === payee && (one.payer === payer || one.payer === contract)
}

/** What the contract took in to settle: the coin of the call, or a transfer by authorization. */
function isCollection(one: Payment, settlement: Payment): boolean {
  const { kind, contract, token, payer } = settlement
  if (kind !== 'settlement' || one.payee !== contract) return false
  if (one.kind === 'native') return token === null
  return one.kind === 'transfer' && one.payer === payer && isAfter(one, settlement)
}

/** `Settled` is logged before the money moves. */
function isAfter(one: Payment, { kind, token, amount, log }: Payment): boolean {
  const isSame = kind === 'settlement' && one.token === token && one.amount === amount
  return isSame && (one.log ?? 0) > (log ?? 0)
}

/** Anyone can log anything: whose event it must be. Null stands for the transaction itself. */
function believed(payment: Payment, expected: Expected): Hex | null {
  if (expected.contract !== undefined) return expected.contract
  return payment.kind === 'settlement' ? (expected.settlement ?? null) : payment.token
}

/** Whether the reference of a payment is the claimed one; some rails log its hash. */
export function isReference(payment: Payment, reference: Hex): boolean {
  if (payment.rail === 'request') return payment.reference === hashOfBytes(reference)
  return payment.reference === reference
}

type Part = string | bigint | null

function compare(payment: Payment, expected: Expected): Disagreement[] {
  const found: Disagreement[] = []
  const check = (
    kind: DisagreementKind,
    pair: { expected: Part | undefined; found: Part },
  ): void => {
    if (pair.expected === undefined || pair.expected === pair.found) return
    const [wanted, shown] = [show(pair.expected), show(pair.found)]
    found.push({
      kind,
      message: `${LABELS[kind]} is ${shown}, not ${wanted}.`,
      expected: wanted,
      found: shown,
    })
  }
  check('wrong_contract', { expected: believed(payment, expected), found: payment.contract })
  check('wrong_token', { expected: expected.token, found: payment.token })
  check('wrong_payer', { expected: expected.payer, found: payment.payer })
  check('wrong_recipient', { expected: expected.payee, found: payment.payee })
  check('wrong_amount', { expected: expected.amount, found: payment.amount })
  if (expected.reference !== undefined && !isReference(payment, expected.reference)) {
    check('wrong_reference', { expected: expected.reference, found: payment.reference })
  }
  return found
}

const LABELS: Partial<Record<DisagreementKind, string>> = {
  wrong_contract: 'The contract that says so',
  wrong_token: 'The token',
  wrong_payer: 'The payer',
  wrong_recipient: 'The payee',
  wrong_amount: 'The amount',
  wrong_reference: 'The reference',
}

/**
 * A reference identifies an order, so the payment that has it is the one that was meant. Of two
 * payments with as many differences, a settlement shows more.
 */
function weigh({ payment, disagreements }: Match): number {
  const isOther = disagreements.some(({ kind }) => kind === 'wrong_reference')
  return disagreements.length + (isOther ? 10 : 0) - (payment?.kind === 'settlement' ? 0.5 : 0)
}

function show(value: Part | undefined): string {
  return value === null || value === undefined ? 'none' : `${value}`
}

function ambiguous(matching: readonly Payment[]): Disagreement {
  const places = matching.map(placeOf).join(', ')
  return {
    kind: 'ambiguous',
    message: `${matching.length} payments of the transaction match (${places}). Choose one by its reference or its log.`,
    found: places,
  }
}

function placeOf({ log }: Payment): string {
  return log === null ? 'the transaction itself' : `log ${log}`
}

function noPayment(payments: readonly Payment[], { kinds, log }: Expected): Disagreement {
  const what = kinds.length === ANY_PAYMENT.length ? 'payment' : kinds.join(' or ')
  const where = log === undefined ? '' : ` at log ${log}`
  const shown = payments.slice(0, MAX_SHOWN).map(briefly).join('; ')
  return {
    kind: 'no_payment',
    message:
      `The transaction succeeded, and neither it nor its receipt shows a ${what}${where}. ` +
      (shown === ''
        ? 'Money that moves inside a call leaves no trace in a receipt.'
        : `It shows ${shown}.`),
    ...(shown === '' ? {} : { found: shown }),
  }
}

/** A person compares a few; a batch has a thousand. */
const MAX_SHOWN = 5

function briefly(payment: Payment): string {
  const { kind, amount, token, payee } = payment
  const coin = token === null ? 'wei' : `units of the token ${token}`
  return `a ${kind} of ${amount} ${coin} to ${payee ?? 'nobody'} (${placeOf(payment)})`
}

/** What differs, with amounts as a person reads them, and the coin that was paid. */
export function inCoin(
  { payment, disagreements }: Match,
  { expected, ...of }: { expected: Expected; coin: Coin | undefined; chainId: bigint },
): readonly Disagreement[] {
  const { coin } = of
  if (payment === undefined) return disagreements
  return disagreements.map((one) => {
    if (one.kind === 'wrong_amount' && expected.amount !== undefined) {
      const claimed = formatMoney(expected.amount, claimedCoin(payment, { expected, ...of }))
      const message = `The amount is ${formatMoney(payment.amount, coin)}, not ${claimed}.`
      return { ...one, message }
    }
    return one.kind === 'wrong_token'
      ? { ...one, message: otherToken(payment, expected, coin) }
      : one
  })
}

/** An amount that was claimed of another token is not read with the decimals of this one. */

function claimedCoin(
  { token }: Payment,
  { expected, coin, chainId }: { expected: Expected; coin: Coin | undefined; chainId: bigint },
): Coin | undefined {
  if (expected.token === null) return nativeCoin(chainId)
  return expected.token === undefined || expected.token === token ? coin : undefined
}
function otherToken(
  { token, amount }: Payment,
  { token: claimed }: Expected,
  coin: Coin | undefined,
): string {
  const paid = `It pays ${formatMoney(amount, coin)}`
  if (token === null) return `${paid}, which is native coin, and not the token ${claimed}.`
  return claimed === null
    ? `${paid} of the token ${token}, and not native coin. Name that token if it is meant.`
    : `${paid} of the token ${token}, and not of ${claimed}.`
}
