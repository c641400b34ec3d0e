import { ImpossibleError } from '../base/errors.ts'

/** What a public id names: a transaction, a transfer, a reference at a gateway or bank, a batch. */
export type IdPrefix = 'TX' | 'TRF' | 'REF' | 'BAT'

/** That many bytes nobody can foresee. Passed in, so that a test can hold it still. */
export type RandomBytes = (size: number) => Uint8Array

/**
 * A prefix and 20 random digits: 66 bits, so that an id can neither be guessed nor counted, and two
 * of a billion meet once in two hundred.
 */
export function createId(prefix: IdPrefix, randomBytes: RandomBytes): string {
  let digits = ''
  for (let round = 0; round < MAX_ROUNDS && digits.length < DIGITS; round++) {
    for (const byte of randomBytes(DIGITS)) digits += digitOf(byte)
  }
  if (digits.length < DIGITS) throw new ImpossibleError('the source of random bytes repeats itself')
  return prefix + digits.slice(0, DIGITS)
}

const DIGITS = 20

/** One byte in forty is thrown away, so twenty new ones are asked for at most a few times. */
const MAX_ROUNDS = 64

/**
 * 250 bytes stand for each digit 25 times. The other six would make 0 to 5 likelier than 6 to 9.
 */
function digitOf(byte: number): string {
  return byte < 250 ? String(byte % 10) : ''
}
