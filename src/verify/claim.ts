import { BaseError } from '../base/errors.ts'
import { parseAddress, parseHash, type Hex } from '../chain/hex.ts'
import { neededOf, type Finality } from '../chain/quorum.ts'
import type { Provider } from '../chain/rpc/provider.ts'
import { PROFILES, type Profile, type ProfileName } from './profiles.ts'

/** When something must have happened, both ends included. */
export type TimeWindow = { from?: Date; to?: Date }

/** What every record of a payment may say. What it does not say is not checked. */
export type BaseClaim = {
  chainId: bigint | number
  /** In the smallest unit: wei, or millionths of a dollar. */
  amount?: bigint | undefined
  /** The block in which the record saw the transaction. */
  blockHash?: string | undefined
  window?: TimeWindow | undefined
}

/** Who must be asked, and when their answer is enough. */
export type VerifyOptions = {
  /** Independent nodes. One alone is believed on which block has a number; two are compared. */
  providers: readonly Provider[]
  /** Blocks until a payment is final, its own included, or the tag of the chain. 12 by default. */
  confirmations?: Finality | undefined
  /** How many must name the same block; two by default, or one where there is only one. */
  agreement?: number | undefined
  /** The hash of the transaction's block, from a source that is trusted; counts as a provider. */
  checkpoint?: string | undefined
  /** A node whose newest block is older than this cannot know what is missing. */
  maxHeadAgeMs?: number | undefined
  /** The time in milliseconds, for tests. */
  now?: (() => number) | undefined
  signal?: AbortSignal | undefined
}

export type CheckedOptions = {
  providers: readonly Provider[]
  confirmations: Finality
  agreement: number
  /** The same where the checkpoint is not a source: how many providers must agree. */
  needed: number
  checkpoint: Hex | undefined
  maxHeadAgeMs: number
  now: () => number
  signal: AbortSignal | undefined
}

/** Throws for options that make no sense, which is a mistake in the calling program. */
export function checkOptions(options: VerifyOptions): CheckedOptions {
  const { providers, confirmations = DEFAULT_CONFIRMATIONS, checkpoint } = options
  const names = new Set(providers.map(({ name }) => name))
  if (providers.length === 0) throw invalid('providers', 'must name at least one provider')
  if (providers.length > MAX_PROVIDERS) throw invalid('providers', 'are too many')
  if (names.size < providers.length) throw invalid('providers', 'must have names that differ')
  const sources = providers.length + (checkpoint === undefined ? 0 : 1)
  const agreement = options.agreement ?? neededOf(sources)
  if (!Number.isInteger(agreement) || agreement < 1 || agreement > sources) {
    throw invalid('agreement', `must be a whole number from 1 to ${sources}`)
  }
  return {
    providers,
    confirmations: confirmationsField(confirmations),
    agreement,
    needed: neededOf(providers.length, agreement),
    checkpoint: checkpoint === undefined ? undefined : hashField('checkpoint', checkpoint),
    maxHeadAgeMs: options.maxHeadAgeMs ?? DEFAULT_MAX_HEAD_AGE_MS,
    now: options.now ?? Date.now,
    signal: options.signal,
  }
}

export function confirmationsField(value: Finality): Finality {
  if (value === 'finalized' || value === 'safe' || (Number.isSafeInteger(value) && value >= 1))
    return value
  throw invalid('confirmations', 'must be a whole number from 1, finalized or safe')
}

export const DEFAULT_CONFIRMATIONS = 12
const DEFAULT_MAX_HEAD_AGE_MS = 10 * 60 * 1000
const MAX_PROVIDERS = 16

export function chainIdField(value: bigint | number): bigint {
  const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value)
  if (!isWhole || BigInt(value) <= 0n) throw invalid('chainId', 'must be a whole number above 0')
  return BigInt(value)
}

export function hashField(name: string, value: unknown): Hex {
  const hash = parseHash(value)
  if (hash === undefined) throw invalid(name, 'must be 0x and 64 hexadecimal digits')
  return hash
}

export function addressField(name: string, value: unknown): Hex {
  const address = parseAddress(value)
  if (address === undefined) throw invalid(name, 'must be an address with a valid checksum')
  return address
}

export function optional<Value, Result>(
  value: Value | undefined,
  parse: (value: Value) => Result,
): Result | undefined {
  return value === undefined ? undefined : parse(value)
}

export function amountField(value: unknown): bigint {
  if (typeof value !== 'bigint' || value < 0n) throw invalid('amount', 'must be a bigint from 0')
  return value
}

export function logField(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number
  throw invalid('log', 'must be a whole number from 0')
}

/** Rails with hashed references take any length of bytes; all others take 32. */
export function referenceField(value: unknown): Hex {
  const isBytes = typeof value === 'string' && /^0x([0-9a-fA-F]{2}){1,1024}$/.test(value)
  if (!isBytes) throw invalid('reference', 'must be 0x and an even number of hexadecimal digits')
  return value.toLowerCase() as Hex
}

export function profileField(name: ProfileName): Profile {
  if (!Object.hasOwn(PROFILES, name)) {
    throw invalid('profile', `must be one of ${Object.keys(PROFILES).join(', ')}`)
  }
  return PROFILES[name]
}

export function windowField({ from, to }: TimeWindow): TimeWindow {
  for (const [name, date] of Object.entries({ from, to })) {
    if (date !== undefined && Number.isNaN(date.getTime())) {
      throw invalid(`window.${name}`, 'must be a valid time')
    }
  }
  if (from && to && from > to) throw invalid('window', 'must not end before it starts')
  return { ...(from ? { from } : {}), ...(to ? { to } : {}) }
}

export function invalid(field: string, rule: string): ClaimError {
  return new ClaimError(`${field} ${rule}. Correct the call; the chain was not asked.`, {
    code: 'claim_invalid',
    details: { field },
  })
}

/**
 * The caller's mistake; a fact about the chain is a verdict and never thrown.
 *
 * @example
 *   ```ts
 *   import { check, ClaimError } from 'quittance/verify'
 *
 *   const asked = check('{}', { trustedBlockHash: 'not a hash' })
 *   await asked.catch((error: unknown) => console.log(error instanceof ClaimError))
 *   ```
 */
export class ClaimError extends BaseError {
  override readonly name = 'ClaimError'
}
