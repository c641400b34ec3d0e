import { readFileSync } from 'node:fs'

import { expect } from 'chai'
import { keccak256, type Hex } from 'viem'

import { decodeTransaction, encodeTransaction } from '../../../src/chain/proof/block-transaction.ts'
import { hasUnknownFields, headerOfBlock } from '../../../src/chain/proof/header.ts'
import { decodeReceipt, encodeReceipt } from '../../../src/chain/proof/receipt.ts'

type Shown = Record<string, unknown>

// What the OP stack has beyond Ethereum
// ├── a header since Isthmus hashes to the block's own hash
// ├── a deposit hashes to its own hash, with money from L1 and without
// └── a deposit's receipt has its nonce in the bytes only with a version
describe('a block of the OP stack', () => {
  it('has the hash of its header, with the fields of Isthmus', () => {
    const block = read<Shown>('block.json')
    expect(headerOfBlock(block)).to.include({ hash: block['hash'], number: 151_534_212n })
    expect(hasUnknownFields(block)).to.equal(false)
    for (const name of ['requestsHash', 'withdrawalsRoot']) {
      const other = { ...block, [name]: block['parentHash'] }
      expect(headerOfBlock(other).hash, name).not.to.equal(block['hash'])
    }
  })

  it('has deposits, whose hash is that of their bytes', async () => {
    const deposits = read<Shown[]>('deposits.json')
    expect(deposits).to.have.length(3)
    for (const deposit of deposits) {
      const raw = encodeTransaction(deposit)
      expect(keccak256(raw)).to.equal(deposit['hash'])
      const { hash, from, type, value } = await decodeTransaction(raw)
      expect({ hash, from, type }).to.deep.equal({
        hash: deposit['hash'],
        from: deposit['from'],
        type: 0x7e,
      })
      expect(value).to.equal(BigInt(String(deposit['value'])))
    }
  })

  it('has receipts of deposits, with their nonce since Canyon and without it before', () => {
    const shown = {
      type: '0x7e',
      status: '0x1',
      cumulativeGasUsed: '0xb741',
      logsBloom: BLOOM,
      logs: [],
      depositNonce: '0x3d3bbf',
    }
    const canyon: Hex = `0x7ef9010d0182b741b90100${BLOOM.slice(2)}c0833d3bbf01`
    expect(encodeReceipt({ ...shown, depositReceiptVersion: '0x1' })).to.equal(canyon)
    expect(decodeReceipt(canyon)).to.deep.include({ type: 0x7e, cumulativeGasUsed: 46_913n })
    // Nodes show the nonce of a receipt from before as well, whose bytes have none.
    const regolith: Hex = `0x7ef901080182b741b90100${BLOOM.slice(2)}c0`
    expect(encodeReceipt(shown)).to.equal(regolith)
    expect(encodeReceipt({ ...shown, depositReceiptVersion: null })).to.equal(regolith)
  })
})

/** The receipt with the version is a test vector of alloy-rs/op-alloy (MIT or Apache-2.0). */
const BLOOM: Hex = `0x${'00'.repeat(256)}`

function read<T>(name: string): T {
  return JSON.parse(readFileSync(`test/data/op-stack/${name}`, 'utf8')) as T
}
