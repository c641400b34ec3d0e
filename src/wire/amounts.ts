import { Type } from 'typebox'

import {
  AmountError,
  CURRENCIES,
  CURRENCY_DECIMALS,
  DECIMAL_PATTERN,
  decimalsOf,
  formatAmount,
  parseAmount,
  type AmountProblem,
  type Unit,
} from '../domain/money.ts'
import { RequestError } from './errors.ts'
import { exactNumber, isExactNumber, type ExactNumber } from './json.ts'

export const CurrencySchema = Type.Enum([...CURRENCIES], {
  description: 'In upper case.',
  examples: ['USD'],
})

/** As answers have it: a token goes by its symbol. */
export const AnyCurrencySchema = Type.String({
  description: 'ETH, a currency of banks, or the symbol of a token.',
  examples: ['USD'],
})

/** An amount as Group B receives it: a plain safe integer, the text of another number, or text. */
export type AmountInput = number | ExactNumber | string

/**
 * An amount in a request of Group B. Its documentation is in `x-documented`, since the check sees
 * the text of the number and not a number.
 */
export const AmountInputSchema = Type.Refine(
  Type.Unsafe<AmountInput>({
    'x-documented': {
      type: ['number', 'string'],
      exclusiveMinimum: 0,
      exclusiveMaximum: 10_000_000_000_000,
      pattern: DECIMAL_PATTERN,
    },
    description:
      'Above zero, as a JSON number or a decimal string. The exact text is read: no ' +
      'exponent, no sign, no leading zero, at most 13 digits before the point, and no more ' +
      'decimals than the currency has (ETH 18, tokens their own, others 2).',
    examples: [exactNumber('100.5'), '1.000000000000000001'],
  }),
  (value) => problemOf(value) === undefined,
  (value) => problemOf(value)?.code ?? 'amount_not_decimal',
)

/** What answers of Group B say of an amount. */
export const AMOUNT_FIELDS = {
  amount: Type.Unsafe<ExactNumber>({
    type: 'number',
    description:
      'Exact in its text. A floating-point number may not hold it; use `amount_decimal`.',
    examples: [exactNumber('100.5')],
  }),
  amount_decimal: Type.String({
    description: 'The same amount as a string of decimal digits.',
    pattern: '^(0|[1-9][0-9]*)(\\.[0-9]+)?$',
    examples: ['100.5'],
  }),
  amount_wei: Type.Optional(
    Type.String({
      description: 'The same amount in wei, for ETH only.',
      pattern: '^[0-9]+$',
      examples: ['1000000000000000001'],
    }),
  ),
}

export type AmountFields = {
  amount: ExactNumber
  amount_decimal: string
  amount_wei?: string
}

/** The amount as people write it. */
export function decimalOf({ amount, ...unit }: { amount: bigint } & Unit): string {
  return formatAmount({ amount, decimals: decimalsOf(unit) })
}

/** Spread into an answer of Group B. */
export function amountFields({ amount, ...unit }: { amount: bigint } & Unit): AmountFields {
  const decimal = decimalOf({ amount, ...unit })
  return {
    amount: exactNumber(decimal),
    amount_decimal: decimal,
    ...(unit.currency === 'ETH' ? { amount_wei: amount.toString() } : {}),
  }
}

/** Reads an amount of Group B in its currency's smallest unit, or refuses the request. */
export function readAmount({ amount, ...unit }: { amount: AmountInput } & Unit): bigint {
  try {
    return parseAmount({ text: textOf(amount), decimals: decimalsOf(unit) })
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    throw new RequestError('invalid_request', error.message, {
      problems: [{ field: 'amount', code: error.code, message: error.message }],
    })
  }
}

/** The sentence for a code that the schema's check reports. */
export function amountSentence(code: string): string | undefined {
  return isProblem(code) ? new AmountError(code, CURRENCY_DECIMALS.ETH).message : undefined
}

const PROBLEMS: readonly AmountProblem[] = [
  'amount_not_decimal',
  'amount_not_positive',
  'amount_too_precise',
  'amount_too_large',
]

function isProblem(code: string): code is AmountProblem {
  return PROBLEMS.some((problem) => problem === code)
}

/** Judged by the most decimals of all; the operation itself knows the currency. */
function problemOf(value: unknown): AmountError | undefined {
  if (typeof value !== 'number' && typeof value !== 'string' && !isExactNumber(value)) {
    return new AmountError('amount_not_decimal')
  }
  try {
    parseAmount({ text: textOf(value), decimals: CURRENCY_DECIMALS.ETH })
    return undefined
  } catch (error) {
    if (error instanceof AmountError) return error
    throw error
  }
}

function textOf(value: AmountInput): string {
  return isExactNumber(value) ? value.rawJSON : String(value)
}
