import type { Hex } from './orders.ts'

/** What an address signs. */
export const SIGNER_PURPOSES = ['mints', 'withdrawals', 'refunds', 'payments', 'redeems'] as const

export type SignerPurpose = (typeof SIGNER_PURPOSES)[number]

/**
 * What an operator has to mend before the platform can pay again. `signer_funds_low`: its balance
 * is below what its next hundred payments cost. The others: the token lets it mint nothing, or less
 * than was asked for. `signer_frozen`: the token has frozen it.
 */
export const SIGNER_ALERT_KINDS = [
  'signer_funds_low',
  'minter_missing',
  'mint_allowance_used_up',
  'mint_allowance_exceeded',
  'signer_frozen',
] as const

export type SignerAlertKind = (typeof SIGNER_ALERT_KINDS)[number]

export type SignerAlert = { kind: SignerAlertKind; openedAt: Date }

/** What a token lets an address mint, in its smallest unit. */
export type MintRight = { isMinter: boolean; allowance: bigint }

/** An address that signs. What nobody could say at the moment is undefined. */
export type SignerFacts = {
  address: Hex
  purposes: readonly SignerPurpose[]
  /** In wei. */
  balance: bigint | undefined
  nextNonce: bigint | undefined
  /** How many of its transactions are not decided yet. */
  onItsWay: number
  /** What the transactions of the orders accepted today (UTC) have cost in gas, in wei. */
  gasToday: bigint
  /** Cost of its next hundred payments in gas, in wei. */
  needed: bigint | undefined
  mint: MintRight | undefined
  /** Whether the token has frozen it. */
  isFrozen: boolean | undefined
  alerts: readonly SignerAlert[]
}

/** The address of a user. */
export type UserSigner = SignerFacts & { userId: number; username: string }

/** The dollar token that is configured, and what may change of it. */
export type StablecoinFacts = {
  address: Hex
  /** Null where it is nothing that a person could read. */
  symbol: string | null
  decimals: number
  /** Ours, which names the order of a mint; one with the functions of USDC; or a plain one. */
  profile: (typeof STABLECOIN_PROFILES)[number]
  /** Undefined where the token knows no pause, or nobody says at the moment. */
  isPaused: boolean | undefined
}

export const STABLECOIN_PROFILES = ['memo', 'fiat_token', 'erc20'] as const

/** Whether it can pay its next hundred payments; undefined while nobody can say. */
export function isShort({
  balance,
  needed,
}: Pick<SignerFacts, 'balance' | 'needed'>): boolean | undefined {
  return balance === undefined || needed === undefined ? undefined : balance < needed
}
