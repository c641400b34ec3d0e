import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'

import type { Environment } from '../base/config.ts'

/** A new key. The text is shown once; the rest is what may be kept. */
export type NewApiKey = {
  text: string
  sha256: string
  /** `sk_sandbox_4fQz…9xYb`: enough to recognise it in a list. */
  shown: string
}

export type ApiKeyForm =
  { kind: 'key'; environment: Environment } | { kind: 'mistyped' } | { kind: 'other' }

/** Fills a buffer with randomness; passed in so that a test knows the result. */
export type RandomBytes = (size: number) => Uint8Array

/**
 * 256 random bits in 43 letters and digits, so that a double click selects the whole key, and a
 * checksum of 6, so that a mistyped key is refused without asking the database.
 */
export function createApiKey(options: {
  environment: Environment
  randomBytes: RandomBytes
}): NewApiKey {
  const bytes = options.randomBytes(32)
  const number = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  const unsigned = PREFIXES[options.environment] + toBase62(number, RANDOM_LENGTH)
  const text = unsigned + checksumOf(unsigned)
  return { text, sha256: hashOfKey(text), shown: shownOfKey(text) }
}

/** What the text alone shows, to anyone who has it. */
export function readApiKey(text: string): ApiKeyForm {
  const match = KEY_FORM.exec(text)
  if (!match) return text.startsWith('sk_') ? { kind: 'mistyped' } : { kind: 'other' }
  const [, unsigned = '', name, checksum] = match
  if (checksumOf(unsigned) !== checksum) return { kind: 'mistyped' }
  return { kind: 'key', environment: name === 'live' ? 'production' : 'sandbox' }
}

/** In hexadecimal, as the database keeps it. */
export function hashOfKey(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function shownOfKey(text: string): string {
  const end = text.indexOf('_', 3) + 1
  return `${text.slice(0, end + 4)}…${text.slice(-4)}`
}

const PREFIXES: Record<Environment, string> = { sandbox: 'sk_sandbox_', production: 'sk_live_' }
const RANDOM_LENGTH = 43
const CHECKSUM_LENGTH = 6
const KEY_FORM = /^(sk_(sandbox|live)_[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function checksumOf(text: string): string {
  return toBase62(BigInt(crc32(text)), CHECKSUM_LENGTH)
}

function toBase62(number: bigint, length: number): string {
  let rest = number
  let text = ''
  for (let place = 0; place < length; place++) {
    text = DIGITS.charAt(Number(rest % 62n)) + text
    rest /= 62n
  }
  return text
}
