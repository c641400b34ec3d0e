import { expect } from 'chai'
import * as fc from 'fast-check'
import type { Hex } from 'viem'

import { codeOf } from '../../../src/base/errors.ts'
import { decodeTransaction } from '../../../src/chain/proof/block-transaction.ts'
import { decodeHeader, headerOfBlock } from '../../../src/chain/proof/header.ts'
import { decodeReceipt, encodeReceipt } from '../../../src/chain/proof/receipt.ts'
import {
  bytesOf,
  decodeRlp,
  encodeRlp,
  listOf,
  type RlpItem,
} from '../../../src/chain/proof/rlp.ts'
import { buildListTrie, readProof } from '../../../src/chain/proof/trie.ts'
import { byteChange, changeByte } from '../../fixtures/chain/bytes.ts'
import { mainnetBlock } from '../../fixtures/chain/mainnet.ts'

const SEED = 11

const anyBytes = fc.uint8Array({ maxLength: 80 }).map(hexOf)
const { item: anyItem } = fc.letrec<{ item: RlpItem }>((tie) => ({
  item: fc.oneof(
    { maxDepth: 5 },
    anyBytes,
    // Lengths around those that RLP writes in another way.
    fc.constantFrom(54, 55, 56, 255, 256).map((length): Hex => `0x${'ab'.repeat(length)}`),
    fc.array(tie('item'), { maxLength: 6 }),
  ),
}))

/** What it reads, or undefined where it is refused in our words. Any other end is a crash. */
function readOrRefuse<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    expect(codeOf(error), String(error)).to.equal('encoding_invalid')
    return undefined
  }
}

describe('RLP', () => {
  it('reads back whatever was written, however it nests', () => {
    fc.assert(
      fc.property(anyItem, (item) => {
        expect(decodeRlp(encodeRlp(item))).to.deep.equal(item)
      }),
      { numRuns: 200, seed: SEED },
    )
  })

  it('has one text for each item: bytes are refused, or are what the item is written as', () => {
    const changed = fc
      .tuple(anyItem, byteChange)
      .map(([item, change]) => hexOf(changeByte(bytesOfHex(encodeRlp(item)), change)))
    let read = 0
    fc.assert(
      fc.property(fc.oneof(anyBytes, changed), (bytes) => {
        const item = readOrRefuse(() => decodeRlp(bytes))
        if (item === undefined) return
        read += 1
        expect(encodeRlp(item)).to.equal(bytes)
      }),
      { numRuns: 400, seed: SEED },
    )
    expect(read).to.be.greaterThan(20)
  })

  it('takes a list for a list and bytes for bytes, and refuses one for the other', () => {
    fc.assert(
      fc.property(anyItem, (item) => {
        const isList = typeof item === 'object'
        expect(readOrRefuse(() => listOf(item)) === undefined).to.equal(!isList)
        expect(readOrRefuse(() => bytesOf(item)) === undefined).to.equal(isList)
      }),
      { numRuns: 100, seed: SEED },
    )
  })
})

describe('what a block is made of', () => {
  const { block, receipts } = mainnetBlock()
  const encoded = receipts.map(encodeReceipt)
  const trie = buildListTrie(encoded)
  const header = headerOfBlock(block)

  it('is another header, or none, with any byte changed', () => {
    fc.assert(
      fc.property(byteChange, (change) => {
        const bytes = hexOf(changeByte(bytesOfHex(header.rlp), change))
        expect(readOrRefuse(() => decodeHeader(bytes))?.hash).not.to.equal(header.hash)
      }),
      { numRuns: 200, seed: SEED },
    )
  })

  it('has no proof of a receipt with any byte of any node changed', () => {
    const place = fc.nat({ max: encoded.length - 1 })
    fc.assert(
      fc.property(place, fc.nat(), byteChange, (index, which, change) => {
        const proof = trie.prove(index)
        const at = which % proof.length
        const node = hexOf(changeByte(bytesOfHex(proof[at] ?? '0x'), change))
        const forged = proof.with(at, node)
        const read = readOrRefuse(() => readProof({ root: trie.root, index, proof: forged }))
        expect(read).to.equal(undefined)
      }),
      { numRuns: 200, seed: SEED },
    )
  })

  it('is refused in our words, never by a crash, when it is any bytes', async () => {
    const damaged = fc
      .tuple(fc.constantFrom(...encoded.slice(0, 20)), byteChange)
      .map(([bytes, change]) => hexOf(changeByte(bytesOfHex(bytes), change)))
    const lists = anyItem.map((item) => encodeRlp(item))
    const typed = lists.map((bytes): Hex => `0x02${bytes.slice(2)}`)
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyBytes, lists, typed, damaged), async (bytes) => {
        readOrRefuse(() => decodeHeader(bytes))
        readOrRefuse(() => decodeReceipt(bytes))
        const failure = await decodeTransaction(bytes).catch((error: unknown) => error)
        if (failure instanceof Error) expect(codeOf(failure)).to.match(/^encoding_invalid$/)
      }),
      { numRuns: 300, seed: SEED },
    )
  })
})

function hexOf(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

function bytesOfHex(hex: Hex): Uint8Array {
  return Buffer.from(hex.slice(2), 'hex')
}
