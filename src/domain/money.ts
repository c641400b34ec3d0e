import { BaseError, ImpossibleError } from '../base/errors.ts'

/**
 * How many decimals a currency has. Amounts are whole numbers of its smallest unit (wei, cents).
 * Tokens other than the dollar have currencies of their own, by their symbols.
 */
export const CURRENCY_DECIMALS = { ETH: 18, USD: 2, EUR: 2, GBP: 2 } as const

export type Currency = keyof typeof CURRENCY_DECIMALS

export const CURRENCIES = ['USD', 'EUR', 'GBP', 'ETH'] as const satisfies readonly Currency[]

/** Of the dollar stablecoin, on the chain and in requests that mint or redeem it. */
export const STABLECOIN_DECIMALS = 6

/** No amount of a token can have more. */
export const MAX_DECIMALS = 18

/** What determines how many decimals an amount has. */
export type Unit = {
  currency: string
  /** Set where the currency is a token's symbol. */
  tokenDecimals?: number | null | undefined
  /** Of a transaction: dollars that come or leave on a chain count as the stablecoin does. */
  type?: string
}

export function decimalsOf({ currency, tokenDecimals, type }: Unit): number {
  if (typeof tokenDecimals === 'number') return tokenDecimals
  if (!isCurrency(currency)) throw new ImpossibleError('the amount of a token has its decimals')
  const isToken = (type === 'deposit' || type === 'withdrawal') && currency === 'USD'
  return isToken ? STABLECOIN_DECIMALS : CURRENCY_DECIMALS[currency]
}

export function isCurrency(name: string): name is Currency {
  return CURRENCIES.some((currency) => currency === name)
}

/** Whether a token's symbol can be a currency: it is visible, and can be typed in a list. */
export function isSymbol(text: string): boolean {
  return /^[^\p{C}\p{Z},:=]{1,32}$/u.test(text)
}

/** Of the ledger, which holds what the stablecoin can. */
export const LEDGER_DECIMALS = 6

/** How much of the ledger's unit a cent is, which is the least that a bank moves. */
export const LEDGER_PER_CENT = 10_000n

/**
 * The whole grammar of a decimal amount. Thirteen digits before the point are ten trillion less
 * one: more is a mistake in any currency, and bounds every sum.
 */
export const DECIMAL_PATTERN = '^(0|[1-9][0-9]{0,12})(\\.[0-9]{1,18})?$'

/** Whether a decimal can say it. Of some tokens there is more. */
export function isAmount({ amount, decimals }: { amount: bigint; decimals: number }): boolean {
  return amount < 10n ** BigInt(13 + decimals)
}

/**
 * Reads a positive decimal into the smallest unit. Nothing is rounded and nothing is forgiven:
 * neither signs nor exponents, spaces, leading zeros, digits of other scripts or decimals that the
 * currency does not have.
 */
export function parseAmount(options: { text: string; decimals: number }): bigint {
  const { text, decimals } = options
  if (!DECIMAL.test(text)) {
    throw new AmountError(TOO_LARGE.test(text) ? 'amount_too_large' : 'amount_not_decimal')
  }
  const [whole = '', fraction = ''] = text.split('.')
  if (fraction.length > decimals) throw new AmountError('amount_too_precise', decimals)
  const amount = BigInt(whole + fraction.padEnd(decimals, '0'))
  if (amount === 0n) throw new AmountError('amount_not_positive')
  return amount
}

/**
 * Writes the smallest unit as a decimal with as few digits as say it exactly, but at least
 * `minDecimals` behind the point.
 */
export function formatAmount(options: {
  amount: bigint
  decimals: number
  minDecimals?: number
}): string {
  const { amount, decimals, minDecimals = 0 } = options
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const exact = digits.slice(digits.length - decimals).replace(/0+$/, '')
  const fraction = exact.padEnd(minDecimals, '0')
  return `${amount < 0n ? '-' : ''}${whole}${fraction && `.${fraction}`}`
}

const DECIMAL = new RegExp(DECIMAL_PATTERN)
const TOO_LARGE = /^[1-9][0-9]{13,}(\.[0-9]+)?$/

export type AmountProblem = keyof typeof SENTENCES

const SENTENCES = {
  amount_not_decimal: () => 'An amount must be a decimal such as 12.5: digits and a point.',
  amount_not_positive: () => 'An amount must be above zero.',
  amount_too_precise: (decimals: number) =>
    `This currency has ${decimals} decimals. Send no more decimals.`,
  amount_too_large: () => 'An amount can have at most 13 digits before the point.',
} as const

export class AmountError extends BaseError {
  declare readonly code: AmountProblem

  constructor(code: AmountProblem, decimals = 0) {
    super(SENTENCES[code](decimals), { code })
  }
}
