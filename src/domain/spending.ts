import { BaseError } from '../base/errors.ts'
import { formatAmount, isCurrency, isSymbol, parseAmount, type Currency } from './money.ts'

/**
 * How money leaves: paid on the chain, minted for a wallet's money, withdrawn from a wallet to the
 * chain, paid to a bank by wire (Group A) or by a transfer (Group B), or refunded.
 */
export const WAYS_OUT = ['chain', 'mint', 'withdrawal', 'wire', 'transfer', 'refund'] as const

export type WayOut = (typeof WAYS_OUT)[number]

/** What each way takes. Each has limits of its own. */
export const CURRENCIES_OUT: Readonly<Record<WayOut, readonly Currency[]>> = {
  chain: ['ETH', 'USD'],
  mint: ['USD'],
  withdrawal: ['USD'],
  wire: ['USD'],
  transfer: ['USD'],
  refund: ['USD', 'EUR', 'GBP', 'ETH'],
}

/**
 * Limits and what is counted against them have the same decimals in every currency, so that no
 * token has to be known to be limited.
 */
export const SPEND_DECIMALS = 18

export function spendAmount({ amount, decimals }: { amount: bigint; decimals: number }): bigint {
  return amount * 10n ** BigInt(SPEND_DECIMALS - decimals)
}

/** What one payment may be, all of one day (UTC), and those of one day to one payee on a chain. */
export type SpendLimits = Record<SpendLimit, bigint | undefined>

export const SPEND_LIMITS = ['perTransaction', 'perDay', 'perPayee'] as const

export type SpendLimit = (typeof SPEND_LIMITS)[number]

/** Of each way, where an administrator has set nothing. A token has none until one is set. */
export function defaultLimitsOf(currency: string): SpendLimits {
  return (DEFAULTS as Readonly<Record<string, SpendLimits>>)[currency] ?? NONE
}

const NONE: SpendLimits = { perTransaction: undefined, perDay: undefined, perPayee: undefined }
const UNIT = 10n ** BigInt(SPEND_DECIMALS)
const ETHER = { ...NONE, perTransaction: 1_000n * UNIT, perDay: 10_000n * UNIT }
const MONEY = { ...NONE, perTransaction: 10_000_000n * UNIT, perDay: 100_000_000n * UNIT }
const DEFAULTS: Readonly<Record<Currency, SpendLimits>> = {
  ETH: ETHER,
  USD: MONEY,
  EUR: MONEY,
  GBP: MONEY,
}

/** A limit as an administrator writes it; unlike an amount it may be nothing. */
export function parseLimit(text: string): bigint {
  return /^0(\.0+)?$/.test(text) ? 0n : parseAmount({ text, decimals: SPEND_DECIMALS })
}

/** What is wrong with a setting, and with which part of it. */
export function problemOfSetting(setting: {
  way: WayOut
  currency: string
  perTransaction?: unknown
  perDay?: unknown
  perPayee?: unknown
}): { field: 'currency' | 'per_transaction' | 'per_payee'; message: string } | undefined {
  const { way, currency, perTransaction, perDay, perPayee } = setting
  const taken: readonly string[] = CURRENCIES_OUT[way]
  const isToken = way === 'chain' && isSymbol(currency) && !isCurrency(currency.toUpperCase())
  if (!taken.includes(currency) && !isToken) {
    return {
      field: 'currency',
      message: `This way out has limits in ${taken.join(', ')}. Use one of them.`,
    }
  }
  if (perPayee !== undefined && (way === 'wire' || way === 'transfer')) {
    return {
      field: 'per_payee',
      message: 'This way out pays to a bank and not to an address. Leave the limit out.',
    }
  }
  if ([perTransaction, perDay, perPayee].some((one) => one !== undefined)) return undefined
  return { field: 'per_transaction', message: 'Send at least one limit.' }
}

/** Whose spending it counts as, in which way. */
export type SpendKind = { spender: string; way: WayOut; currency: string }

/** One payment as it counts; without a payee where the payee is not an address. */
export type Spent = SpendKind & { payee: string | undefined; amount: bigint }

/** Nothing of the payment was stored. */
export class LimitReachedError extends BaseError {
  override readonly name = 'LimitReachedError'

  constructor(reached: {
    kind: Pick<SpendKind, 'way' | 'currency'>
    limit: SpendLimit
    most: bigint
    /** What counted before it. */
    used: bigint
    amount: bigint
  }) {
    const { kind, limit, most, used, amount } = reached
    const { way, currency } = kind
    const shown = (amount: bigint) => `${decimalOf(amount)} ${currency}`
    const { code, option, sentence } = LIMITS[limit]
    const said = sentence(NAMES[way], { most: shown(most), used: shown(used) })
    const needed = decimalOf(used + amount)
    super(
      `${said} ${used === 0n ? 'This is' : 'With this it would be'} ${needed} ${currency}. ` +
        `An administrator raises the limit with \`quittance limits set ${way} ${currency} ` +
        `${option} ${needed}\` (and \`--user NAME\` for one user), or with POST /api/admin/limits.`,
      { code, details: { way, currency, most, used, amount } },
    )
  }
}

/** Null where there is no limit. */
export function decimalOrNull(amount: bigint | undefined): string | null {
  return amount === undefined ? null : decimalOf(amount)
}

export function decimalOf(amount: bigint): string {
  return formatAmount({ amount, decimals: SPEND_DECIMALS })
}

const NAMES: Readonly<Record<WayOut, { one: string; many: string }>> = {
  chain: { one: 'payment on the chain', many: 'payments on the chain' },
  mint: { one: 'mint', many: 'mints' },
  withdrawal: { one: 'withdrawal', many: 'withdrawals' },
  wire: { one: 'wire', many: 'wires' },
  transfer: { one: 'transfer to a bank', many: 'transfers to a bank' },
  refund: { one: 'refund', many: 'refunds' },
}

type Told = { most: string; used: string }

const LIMITS: Readonly<
  Record<
    SpendLimit,
    {
      code: string
      option: string
      sentence: (name: { one: string; many: string }, told: Told) => string
    }
  >
> = {
  perTransaction: {
    code: 'limit_per_transaction',
    option: '--per-transaction',
    sentence: ({ one }, { most }) => `One ${one} can be at most ${most}.`,
  },
  perDay: {
    code: 'limit_per_day',
    option: '--per-day',
    sentence: ({ many }, { most, used }) =>
      `All ${many} of a user in one day (UTC) can be at most ${most}; ${used} are used today.`,
  },
  perPayee: {
    code: 'limit_per_payee',
    option: '--per-payee',
    sentence: ({ many }, { most, used }) =>
      `All ${many} of a user to one payee in one day (UTC) can be at most ${most}; ` +
      `${used} are used today.`,
  },
}
