import {
  createHash,
  createHmac,
  createSecretKey,
  timingSafeEqual,
  type KeyObject,
} from 'node:crypto'

import { BaseError } from '../base/errors.ts'

/** An order's identity on chain: 32 bytes in lower-case hex. */
export type Reference = `0x${string}`

export type ReferenceSlot = {
  /** The address whose bitmap on chain the reference is stored under. */
  payer: `0x${string}`
  /** Counts the payer's orders from 0, whatever chain they are paid on. */
  counter: bigint
}

export type ReferenceSearch = {
  reference: Reference
  payer: `0x${string}`
  /** The first counter that is looked at; 0 by default. */
  from?: bigint
  /** The first counter that is not looked at, which bounds the search. */
  below: bigint
}

/**
 * Turns a payer's counter into the reference of an order, and back.
 *
 * The settlement contract keeps one bit per reference, in the word `reference >> 8`. The first 31
 * bytes of a reference are a keyed hash of the payer and the page (counter / 256), the last byte is
 * the counter's own, so 256 orders of a payer share a word and cost a third of what random
 * references do. To anyone without the key, a page says neither who pays nor how many came before.
 */
export type ReferenceCodec = {
  encode(slot: ReferenceSlot): Reference
  /** Whether the reference is the one of this payer and counter. */
  owns(claim: ReferenceSlot & { reference: Reference }): boolean
  /** The counter behind a reference, or undefined when it is not this payer's within the bound. */
  decode(search: ReferenceSearch): bigint | undefined
}

/** References that share one word of the contract's bitmap. */
export const REFERENCES_PER_PAGE = 256n

/** The hash sees the page as 8 bytes; SQL counts orders in 8 bytes with a sign, which is less. */
export const MAX_COUNTER = 2n ** 63n - 1n

/** A search costs one hash per page, so this many take a fraction of a second. */
export const MAX_SEARCH_PAGES = 16_384n

export function createReferenceCodec(key: Uint8Array): ReferenceCodec {
  if (key.length < MIN_KEY_BYTES) throw shortKey(key.length)
  // A copy, so that a caller who clears or reuses the buffer changes no reference. Given the bytes,
  // Node takes five times as long for each hash.
  const secret = createSecretKey(key)

  const encode = (slot: ReferenceSlot): Reference => {
    checkCounter(slot.counter)
    const prefix = pagePrefix(secret, {
      payer: payerBytes(slot.payer),
      page: slot.counter / REFERENCES_PER_PAGE,
    })
    return joinReference(prefix, Number(slot.counter % REFERENCES_PER_PAGE))
  }

  return {
    encode,
    owns: ({ reference, payer, counter }) =>
      timingSafeEqual(referenceBytes(reference), referenceBytes(encode({ payer, counter }))),
    decode: (search) => findCounter(secret, search),
  }
}

/**
 * The reference under which a settled order is refunded. It needs no key, since the one who refunds
 * is not the one who paid, and either can check it. Refunds of one page share a page again.
 */
export function refundReference(reference: Reference): Reference {
  const bytes = referenceBytes(reference)
  const prefix = bytes.subarray(0, PREFIX_BYTES)
  const refunded = firstNonZeroPrefix((round) =>
    createHash('sha256').update(REFUND_DOMAIN).update(prefix).update(byte(round)).digest(),
  )
  return joinReference(refunded, bytes[PREFIX_BYTES] ?? 0)
}

/**
 * The references under which one charge is paid: its own, and those that differ from it only in the
 * last byte. A payer can settle a reference once, and so needs another one for each further part.
 */
export function partReferences(reference: Reference): Reference[] {
  const bytes = referenceBytes(reference)
  const first = bytes[PREFIX_BYTES] ?? 0
  return Array.from({ length: 256 }, (_, part) =>
    joinReference(bytes.subarray(0, PREFIX_BYTES), (first + part) % 256),
  )
}

/**
 * The contract refuses the reference 0, which is the first of a page whose hash is all zeros. That
 * is as unlikely as guessing the key, but it would lose an order, so the page is then hashed again.
 */
export function firstNonZeroPrefix(hashOfRound: (round: number) => Uint8Array): Uint8Array {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const prefix = hashOfRound(round).subarray(0, PREFIX_BYTES)
    if (prefix.some((value) => value !== 0)) return prefix
  }
  throw new OrderReferenceError(
    'Every hash of a page of references is zero. The hash function is broken; pay nothing with it.',
    { code: 'reference_hash_broken' },
  )
}

const PREFIX_BYTES = 31
const MIN_KEY_BYTES = 32
const MAX_ROUNDS = 4
const PAGE_DOMAIN = 'quittance reference 1'
const REFUND_DOMAIN = 'quittance refund 1'

type Page = { payer: Uint8Array; page: bigint }

function pagePrefix(secret: KeyObject, { payer, page }: Page): Uint8Array {
  const pageBytes = Buffer.alloc(8)
  pageBytes.writeBigUInt64BE(page)
  // Every part has a fixed length, so no two inputs run together into the same bytes.
  return firstNonZeroPrefix((round) =>
    createHmac('sha256', secret)
      .update(PAGE_DOMAIN)
      .update(payer)
      .update(pageBytes)
      .update(byte(round))
      .digest(),
  )
}

function findCounter(secret: KeyObject, search: ReferenceSearch): bigint | undefined {
  const { from = 0n, below } = search
  if (from >= below) return undefined
  checkCounter(from)
  checkCounter(below - 1n)
  const firstPage = from / REFERENCES_PER_PAGE
  const lastPage = (below - 1n) / REFERENCES_PER_PAGE
  if (lastPage - firstPage >= MAX_SEARCH_PAGES) throw wideSearch({ from, below })

  const bytes = referenceBytes(search.reference)
  const wanted = bytes.subarray(0, PREFIX_BYTES)
  const payer = payerBytes(search.payer)
  for (let page = firstPage; page <= lastPage; page++) {
    if (!timingSafeEqual(wanted, pagePrefix(secret, { payer, page }))) continue
    const counter = page * REFERENCES_PER_PAGE + BigInt(bytes[PREFIX_BYTES] ?? 0)
    return counter >= from && counter < below ? counter : undefined
  }
  return undefined
}

function joinReference(prefix: Uint8Array, last: number): Reference {
  return `0x${Buffer.from(prefix).toString('hex')}${byte(last).toString('hex')}`
}

function byte(value: number): Buffer {
  return Buffer.of(value)
}

/** The case of an address is a checksum and no part of its identity. */
function payerBytes(payer: string): Uint8Array {
  if (!/^0x[0-9a-fA-F]{40}$/.test(payer)) {
    throw new OrderReferenceError(
      `A payer is an address of 20 bytes, but ${payer} is not. Pass 0x and 40 hexadecimal digits.`,
      { code: 'reference_payer_invalid', details: { payer } },
    )
  }
  return Buffer.from(payer.slice(2), 'hex')
}

function referenceBytes(reference: string): Uint8Array {
  if (!/^0x[0-9a-fA-F]{64}$/.test(reference)) {
    throw new OrderReferenceError(
      `A reference is 32 bytes, but ${reference} is not. Pass 0x and 64 hexadecimal digits.`,
      { code: 'reference_invalid', details: { reference } },
    )
  }
  return Buffer.from(reference.slice(2), 'hex')
}

function checkCounter(counter: bigint): void {
  if (counter >= 0n && counter <= MAX_COUNTER) return
  throw new OrderReferenceError(
    `The counter ${counter} is out of range. Pass a number from 0 to ${MAX_COUNTER}.`,
    {
      code: 'reference_counter_out_of_range',
      details: { counter: String(counter), maximum: String(MAX_COUNTER) },
    },
  )
}

function shortKey(length: number): OrderReferenceError {
  return new OrderReferenceError(
    `The reference key has ${length} bytes, too few to keep a secret. Pass at least ${MIN_KEY_BYTES} random bytes.`,
    { code: 'reference_key_too_short', details: { length, minimum: MIN_KEY_BYTES } },
  )
}

function wideSearch({ from, below }: { from: bigint; below: bigint }): OrderReferenceError {
  const widest = MAX_SEARCH_PAGES * REFERENCES_PER_PAGE
  return new OrderReferenceError(
    `A search from counter ${from} to ${below} is too wide. Search at most ${widest} counters at a time.`,
    {
      code: 'reference_search_too_wide',
      details: { from: String(from), below: String(below), widest: String(widest) },
    },
  )
}

export class OrderReferenceError extends BaseError {
  override readonly name = 'OrderReferenceError'
}
