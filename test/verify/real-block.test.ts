import { expect } from 'chai'
import type { Hex } from 'viem'

import { decodeTransaction, encodeTransaction } from '../../src/chain/proof/block-transaction.ts'
import { decodeHeader, headerOfBlock } from '../../src/chain/proof/header.ts'
import { decodeReceipt, encodeReceipt } from '../../src/chain/proof/receipt.ts'
import { buildListTrie, readProof } from '../../src/chain/proof/trie.ts'
import { readRealBlock, type RealBlock } from '../fixtures/chain/mainnet-rlp.ts'

const USDC: Hex = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const HASH: Hex = '0x50985684c5e97edaf7a3f7e67ab3a74e21bcf18555ec7bfe4cef50f5464f63b5'

describe('a real block with transactions of all five types', () => {
  let block: RealBlock

  before(() => {
    block = readRealBlock()
  })

  it('hashes to its hash, from what a node shows of it', () => {
    const header = headerOfBlock(block.shown('hashes'))
    expect(header.rlp).to.equal(block.header)
    expect(header.hash).to.equal(HASH)
    expect(header.number).to.equal(22_869_878n)
    expect(decodeHeader(header.rlp)).to.deep.equal(header)
  })

  it('has 301 transactions, which another library reads alike', async () => {
    const types = [0, 0, 0, 0, 0]
    for (const { raw, hash, from, shown } of block.transactions) {
      expect(encodeTransaction(shown)).to.equal(raw)
      const transaction = await decodeTransaction(raw)
      expect(transaction).to.include({ hash, from })
      types[transaction.type] = (types[transaction.type] ?? 0) + 1
    }
    expect(types).to.deep.equal([56, 4, 237, 2, 2])
  })

  it('has the roots of its transactions and receipts, which prove each of the 602', () => {
    const { transactionsRoot, receiptsRoot } = headerOfBlock(block.shown('hashes'))
    const lists = [
      { root: transactionsRoot, values: block.transactions.map(({ raw }) => raw) },
      { root: receiptsRoot, values: block.receipts.map(encodeReceipt) },
    ]
    let proven = 0
    for (const { root, values } of lists) {
      const trie = buildListTrie(values)
      expect(trie.root).to.equal(root)
      for (const [index, value] of values.entries()) {
        expect(readProof({ root, index, proof: trie.prove(index) })).to.equal(value)
        proven += 1
      }
    }
    expect(proven).to.equal(602)
  })

  it('has two receipts of failure, and 43 logs of USDC in the others', () => {
    const receipts = block.receipts.map((shown) => decodeReceipt(encodeReceipt(shown)))
    expect(receipts.filter(({ succeeded }) => succeeded === false)).to.have.length(2)
    const logs = receipts.flatMap((receipt) => receipt.logs)
    expect(logs.filter(({ address }) => address === USDC)).to.have.length(43)
  })
})
