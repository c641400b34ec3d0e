import { expect } from 'chai'
import * as fc from 'fast-check'
import { concat, keccak256, toRlp, type Hex } from 'viem'

import { headerOfBlock, decodeHeader } from '../../../src/chain/proof/header.ts'
import { decodeReceipt, encodeReceipt } from '../../../src/chain/proof/receipt.ts'
import { buildListTrie, readProof } from '../../../src/chain/proof/trie.ts'
import { mainnetBlock } from '../../fixtures/chain/mainnet.ts'
import { expectFailure } from '../../fixtures/errors.ts'

describe('the real mainnet block', () => {
  const { block, receipts } = mainnetBlock()
  const encoded = receipts.map(encodeReceipt)
  const trie = buildListTrie(encoded)

  it('hashes to its hash', () => {
    const header = headerOfBlock(block)
    expect(header.hash).to.equal(block.hash)
    expect(decodeHeader(header.rlp)).to.deep.equal(header)
  })

  it('has receipts that rebuild its root', () => {
    expect(trie.root).to.equal(block.receiptsRoot)
  })

  it('gives each of its 202 receipts a proof that reads back as that receipt', () => {
    expect(receipts).to.have.length(202)
    for (const [index, bytes] of encoded.entries()) {
      expect(readProof({ root: trie.root, index, proof: trie.prove(index) })).to.equal(bytes)
    }
  })

  it('reads back what a node showed of each receipt', () => {
    for (const [index, bytes] of encoded.entries()) {
      const receipt = decodeReceipt(bytes)
      const shown = receipts[index]
      expect(receipt.succeeded).to.equal(shown?.status === '0x1')
      expect(receipt.logs).to.deep.equal(
        shown?.logs.map(({ address, topics, data }) => ({ address, topics, data })),
      )
    }
  })

  it('refuses a proof at another place, with a node less, more, or changed', async () => {
    const [root, proof] = [trie.root, trie.prove(7)]
    const wrong: ReadonlyArray<{ index: number; proof: Hex[] }> = [
      { index: 8, proof },
      { index: 7, proof: proof.slice(0, -1) },
      { index: 7, proof: [...proof, ...proof.slice(-1)] },
      { index: 7, proof: [] },
      { index: 7, proof: [...proof.slice(0, -1), ...trie.prove(8).slice(-1)] },
    ]
    for (const options of wrong) {
      await expectFailure(() => readProof({ root, ...options }), 'encoding_invalid')
    }
  })
})

const valueOf = (at: number): Hex => `0x${String(at).padStart(80, '0')}`

describe('a list trie', () => {
  it('proves every place of lists of any length, with small and large values', () => {
    const values = fc.array(
      fc
        .uint8Array({ minLength: 1, maxLength: 60 })
        .map((bytes): Hex => `0x${Buffer.from(bytes).toString('hex')}`),
      { minLength: 1, maxLength: 300 },
    )
    fc.assert(
      fc.property(values, (list) => {
        const trie = buildListTrie(list)
        for (const [index, value] of list.entries()) {
          const read = readProof({ root: trie.root, index, proof: trie.prove(index) })
          if (read !== value) return false
        }
        return true
      }),
      { numRuns: 40 },
    )
  })

  it('reads no proof at another place, whose nodes lead elsewhere', async () => {
    const one = buildListTrie(['0x1234'])
    expect(readProof({ root: one.root, index: 0, proof: one.prove(0) })).to.equal('0x1234')
    const moved = { root: one.root, index: 1, proof: one.prove(0) }
    await expectFailure(() => readProof(moved), 'encoding_invalid')
  })

  it('is built once for a list that comes again, and anew where any value differs', () => {
    const list: Hex[] = Array.from({ length: 40 }, (_, at) => valueOf(at))
    const trie = buildListTrie(list)
    expect(buildListTrie([...list])).to.equal(trie)
    for (const changed of [list.with(39, '0xff'), list.slice(1), [...list, list[0]!]]) {
      expect(buildListTrie(changed).root).not.to.equal(trie.root)
    }
    list[0] = '0xff'
    expect(buildListTrie(list).root).not.to.equal(trie.root)
    for (let other = 0; other < 5; other++) buildListTrie([`0x0${other}`])
    list[0] = valueOf(0)
    expect(buildListTrie(list)).to.deep.include({ root: trie.root }).and.not.to.equal(trie)
  })

  it('reads a path in one form only', async () => {
    const read = (flags: Hex): Hex => {
      // A leaf at place 0, whose key is 0x80.
      const node = toRlp([concat([flags, '0x80']), '0x1234'])
      return readProof({ root: keccak256(node), index: 0, proof: [node] })
    }
    expect(read('0x20')).to.equal('0x1234')
    for (const flags of ['0x21', '0x2f', '0x40', '0x60'] as const) {
      await expectFailure(() => read(flags), 'encoding_invalid')
    }
  })

  it('has the root of nothing for an empty list', () => {
    expect(buildListTrie([]).root).to.equal(
      '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421',
    )
  })
})
