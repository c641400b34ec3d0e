import { createKeccak } from 'hash-wasm'

import { hashOfBytes, type Hex } from '../../chain/hex.ts'

const keccak = await createKeccak(256)

/** The same hash as everywhere, in WebAssembly: for those who make a million in a run. */
export function fastHashOf(bytes: Hex): Hex {
  const read = Buffer.from(bytes.slice(2), 'hex')
  // Node stops reading at what is no byte.
  if (2 + 2 * read.length !== bytes.length) return hashOfBytes(bytes)
  return `0x${keccak.init().update(read).digest('hex')}`
}
