import {
  GATEWAYS,
  isBuiltInGateway,
  type Amounts,
  type GatewayKind,
  type Payer,
} from '../base/parties.ts'
import type { INSTITUTION_KINDS } from '../base/rails-config.ts'
import { CURRENCY_DECIMALS, isCurrency, STABLECOIN_DECIMALS, type Currency } from './money.ts'

export type InstitutionKind = (typeof INSTITUTION_KINDS)[number]

/** A way in or out for money, by the id under which requests choose it. */
export type Gateway = { id: number; kind: string; payer: Payer } & Terms
export type Institution = {
  id: number
  kind: InstitutionKind
  /** The name of the bank behind it; undefined for the usual one. */
  bank: string | undefined
} & Terms

/** What it takes; in the smallest unit of each currency. */
export type Terms = {
  currencies: readonly Currency[]
  min: Readonly<Partial<Record<Currency, bigint>>>
  max: Readonly<Partial<Record<Currency, bigint>>>
}

/** Dollars arrive at the crypto checkout as a token, which has more decimals than a dollar. */
export function receivedDecimals(charge: { kind: string; currency: Currency }): number {
  const isToken = charge.kind === 'crypto_checkout' && charge.currency !== 'ETH'
  return isToken ? STABLECOIN_DECIMALS : CURRENCY_DECIMALS[charge.currency]
}

/** What an amount is on the chain: in wei, in millionths of the dollar token, or a token's own. */
export function dueOf({ amount, currency }: { amount: bigint; currency: string }): bigint {
  if (currency === 'ETH' || !isCurrency(currency)) return amount
  return amount * 10n ** BigInt(STABLECOIN_DECIMALS - CURRENCY_DECIMALS[currency])
}

/**
 * Whether the amount is so small compared with what is due that it says nothing. Anyone can send it
 * to a charge, at the cost of sending it.
 */
export function isDust({ amount, due }: { amount: bigint; due: bigint }): boolean {
  return amount * DUST_PART < due
}

export const DUST_PART = 256n

/**
 * The most that can go back, in the smallest unit of the currency. What a token has brought below
 * that unit has no name in the currency, and stays.
 */
export function refundableOf(charge: {
  kind: string
  currency: Currency
  amount: bigint
  received: bigint | undefined
}): bigint {
  const { kind, currency, amount, received = 0n } = charge
  if (kind !== 'crypto_checkout') return amount
  return received / 10n ** BigInt(receivedDecimals(charge) - CURRENCY_DECIMALS[currency])
}

export function termsOf(kind: GatewayKind): Terms {
  return termsIn(GATEWAYS[kind].amounts)
}

/** What the answer to a payment tells the payer, also of a kind that is no longer configured. */
export function payerOf(gateways: readonly Gateway[], kind: string): Payer {
  if (isBuiltInGateway(kind)) return GATEWAYS[kind].payer
  return gateways.find((one) => one.kind === kind)?.payer ?? {}
}

const DOLLARS = 100n

export const INSTITUTION_TERMS: Readonly<Record<InstitutionKind, Terms>> = {
  // Same-day transfers end at a million dollars.
  ach: termsIn({ USD: [1n, 1_000_000n * DOLLARS] }),
  wire: termsIn({ USD: [1n, 10_000_000n * DOLLARS] }),
}

export function termsIn(ranges: Amounts): Terms {
  const entries = Object.entries(ranges) as Array<[Currency, readonly [bigint, bigint]]>
  return {
    currencies: entries.map(([currency]) => currency),
    min: Object.fromEntries(entries.map(([currency, [min]]) => [currency, min])),
    max: Object.fromEntries(entries.map(([currency, [, max]]) => [currency, max])),
  }
}
