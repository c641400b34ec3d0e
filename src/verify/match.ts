import { hashOfBytes, type Hex } from '../chain/hex.ts'
import type { Payment, PaymentKind } from './payments.ts'
import type { Disagreement, DisagreementKind } from './verdict.ts'

/** The payment that a claim describes; what is undefined is not checked. */
export type Expected = {
  kinds: readonly PaymentKind[]
  /** Whose event is believed. */
  contract: Hex | undefined
  token: Hex | null | undefined
  payer: Hex | undefined
  payee: Hex | undefined
  amount: bigint | undefined
  reference: Hex | undefined
}

export type Match = { payment: Payment | undefined; disagreements: readonly Disagreement[] }

/**
 * Finds the one payment of a transaction that is as expected. Where there is none, the nearest one
 * tells what is different; where there are several, none of them is taken.
 */
export function matchPayment(payments: readonly Payment[], expected: Expected): Match {
  const candidates = payments
    .filter(({ kind }) => expected.kinds.includes(kind))
    .map((payment) => ({ payment, disagreements: compare(payment, expected) }))
  const matching = candidates.filter(({ disagreements }) => disagreements.length === 0)
  const [match] = matching
  if (match !== undefined && matching.length === 1) return match
  if (match !== undefined) return { payment: undefined, disagreements: [ambiguous(matching)] }
  const nearest = candidates.toSorted((a, b) => weigh(a) - weigh(b))[0]
  return nearest ?? { payment: undefined, disagreements: [noPayment(expected)] }
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
  check('wrong_contract', { expected: expected.contract, found: payment.contract })
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

/** A reference is an order's identity, so the payment that has it is the one that was meant. */
function weigh({ disagreements }: Match): number {
  const other = disagreements.some(({ kind }) => kind === 'wrong_reference') ? 10 : 0
  return disagreements.length + other
}

function show(value: Part | undefined): string {
  return value === null || value === undefined ? 'none' : `${value}`
}

function ambiguous(matching: readonly Match[]): Disagreement {
  const places = matching.map(({ payment }) => `log ${payment?.log}`).join(', ')
  return {
    kind: 'ambiguous',
    message: `${matching.length} payments of the transaction match (${places}), and nothing tells them apart.`,
    found: places,
  }
}

function noPayment({ kinds }: Expected): Disagreement {
  return {
    kind: 'no_payment',
    message: `The transaction succeeded, and neither it nor its receipt shows a ${kinds.join(' or ')}. Money that moves inside a call leaves no trace in a receipt.`,
  }
}
