import * as fc from 'fast-check'

/** What changes one byte: where, as a part of the length, and into what. */
export const byteChange = fc.record({
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  by: fc.integer({ min: 1, max: 255 }),
})

/** The bytes with one of them changed to another value; nothing can be changed in no bytes. */
export function changeByte(
  bytes: Uint8Array,
  { at, by }: { at: number; by: number },
): Uint8Array<ArrayBuffer> {
  const changed = Uint8Array.from(bytes)
  const place = Math.floor(at * changed.length)
  changed[place] = (changed[place] ?? 0) ^ by
  return changed
}

/** Any text, halves of characters too. Strings by Unicode's tables take a second to set up. */
export const anyText = fc
  .uint16Array({ maxLength: 20 })
  .map((units) => String.fromCharCode(...units))
