import { Type, type Static } from 'typebox'

import type { Dialect } from '../../domain/access.ts'
import type { LedgerAmount } from '../../domain/ledger.ts'
import { AmountError, formatAmount, LEDGER_DECIMALS, parseAmount } from '../../domain/money.ts'
import { RequestError, type FieldProblem } from '../errors.ts'
import { namedObject, requestObject } from '../shapes.ts'

const AMOUNT_PATTERN = '^(0|[1-9][0-9]{0,12})(\\.[0-9]{1,6})?$'

/** Its form is checked by `readMoney`, whose refusals have codes of their own. */
const AmountTextSchema = Type.String({
  maxLength: 512,
  'x-documented': { maxLength: 20, pattern: AMOUNT_PATTERN },
  description:
    'A decimal string above zero: at most 13 digits before the point, and after it 2 if a ' +
    'bank is involved, otherwise 6.',
  examples: ['100.50'],
})

const CurrencyTextSchema = Type.String({
  maxLength: 64,
  'x-documented': { enum: ['USD'], maxLength: 3 },
  description: 'In upper case.',
  examples: ['USD'],
})

/** Both dialects send either form. */
export const MONEY_INPUT = {
  amount: Type.Union([
    AmountTextSchema,
    requestObject({ amount: AmountTextSchema, currency: Type.Optional(CurrencyTextSchema) }),
  ]),
  currency: Type.Optional(CurrencyTextSchema),
}

export type MoneyInput = {
  amount: string | { amount: string; currency?: string }
  currency?: string
}

/** Reads an amount in millionths of a dollar, or refuses the request with the code for it. */
export function readMoney(input: MoneyInput, options: { decimals: number }): LedgerAmount {
  const { amount } = input
  const nested = typeof amount === 'object' ? amount : undefined
  const text = nested?.amount ?? (amount as string)
  readCurrency(input, nested?.currency)
  const field = nested ? 'amount.amount' : 'amount'
  try {
    const scale = 10n ** BigInt(LEDGER_DECIMALS - options.decimals)
    return { amount: parseAmount({ text, decimals: options.decimals }) * scale, currency: 'USD' }
  } catch (error) {
    if (!(error instanceof AmountError)) throw error
    const constraints = { decimals: options.decimals, pattern: AMOUNT_PATTERN }
    const problem = { field, code: error.code, message: error.message, value: text.slice(0, 100) }
    throw refusal({ ...problem, constraints }, AMOUNT_CODES[error.code])
  }
}

const AMOUNT_CODES = {
  amount_not_decimal: 2,
  amount_too_precise: 2,
  amount_not_positive: 1077,
  amount_too_large: 1076,
} as const satisfies Record<AmountError['code'], number>

function readCurrency(input: MoneyInput, nested: string | undefined): void {
  for (const [field, value] of [
    ['currency', input.currency],
    ['amount.currency', nested],
  ] as const) {
    if (value === undefined || value === 'USD') continue
    const message = 'This currency is not supported. Send USD, in upper case.'
    throw refusal({ field, code: 'enum', message, value, constraints: { enum: ['USD'] } }, 1078)
  }
}

/** A refusal of one field, with Group A's own code for it. */
export function refusal(problem: FieldProblem, groupA: number): RequestError {
  const sentence = `${problem.field}: ${problem.message}`
  return new RequestError('invalid_request', sentence, { problems: [problem], groupA })
}

const DecimalSchema = Type.String({ pattern: '^[0-9]+\\.[0-9]{2,6}$', examples: ['100.50'] })
const CurrencySchema = Type.Literal('USD', { examples: ['USD'] })

const MoneySchema = namedObject('Money', { amount: DecimalSchema, currency: CurrencySchema })

export type Money = Static<typeof MoneySchema>

/** An amount by the dialect of the key: text next to a currency, or an object with both. */
export const AmountSchema = Type.Union([DecimalSchema, MoneySchema], {
  description: 'A string for a `flat` key, an object for a `nested` key.',
})

export const MONEY_FIELDS = {
  amount: AmountSchema,
  currency: Type.Optional(CurrencySchema),
}

export const BalanceSchema = Type.String({
  pattern: '^-?[0-9]+\\.[0-9]{2,6}$',
  description: 'Below zero only if transfers to a bank have used a credit line.',
  examples: ['100.50'],
})
export const BalanceListSchema = Type.Array(
  Type.Object({ amount: BalanceSchema, currency: CurrencySchema }),
)
export const LedgerCurrencySchema = CurrencySchema

export function decimalOf(amount: bigint): string {
  return formatAmount({ amount, decimals: LEDGER_DECIMALS, minDecimals: 2 })
}

export function amountOf({ amount, currency }: LedgerAmount, dialect: Dialect): string | Money {
  const text = decimalOf(amount)
  return dialect === 'nested' ? { amount: text, currency } : text
}

export function moneyFields(
  money: LedgerAmount,
  dialect: Dialect,
): { amount: string | Money; currency?: 'USD' } {
  const amount = amountOf(money, dialect)
  return dialect === 'nested' ? { amount } : { amount, currency: money.currency }
}
