import { expect } from 'chai'
import { keccak256, numberToHex, serializeTransaction, type Hex } from 'viem'

import {
  decodeTransaction,
  encodeTransaction,
  UnknownTransactionTypeError,
} from '../../../src/chain/proof/block-transaction.ts'
import { account } from '../../fixtures/chain/deployment.ts'
import { expectFailure } from '../../fixtures/errors.ts'

const HASH: Hex = `0x01${'ab'.repeat(31)}`

describe('a transaction of a block', () => {
  it('that carries blobs has the bytes that were signed', async () => {
    const signer = account(1)
    const request = {
      type: 'eip4844' as const,
      chainId: 1,
      nonce: 3,
      gas: 21_000n,
      to: signer.address,
      value: 7n,
      maxFeePerGas: 9n,
      maxPriorityFeePerGas: 2n,
      maxFeePerBlobGas: 5n,
      blobVersionedHashes: [HASH],
    }
    const hash = keccak256(serializeTransaction(request))
    const { r, s, yParity } = parts(await signer.sign({ hash }))
    const raw = serializeTransaction(request, { r, s, yParity })
    const shown = {
      type: '0x3',
      chainId: '0x1',
      nonce: '0x3',
      gas: numberToHex(request.gas),
      to: signer.address,
      value: '0x7',
      input: '0x',
      maxFeePerGas: '0x9',
      maxPriorityFeePerGas: '0x2',
      maxFeePerBlobGas: '0x5',
      blobVersionedHashes: [HASH],
      accessList: [],
      yParity: numberToHex(yParity),
      r,
      s,
    }
    expect(encodeTransaction(shown)).to.equal(raw)
    const decoded = await decodeTransaction(raw)
    expect(decoded).to.include({ type: 3, chainId: 1n, nonce: 3n, value: 7n })
    expect(decoded.from).to.equal(signer.address.toLowerCase())
  })

  it('of an unknown type, or cut short, is refused', async () => {
    expect(() => encodeTransaction({ type: '0x64' })).to.throw(UnknownTransactionTypeError)
    for (const raw of ['0x', '0x02', '0x02c0', '0xc0', '0x64c0', '0xff'] as const) {
      await expectFailure(() => decodeTransaction(raw), 'encoding_invalid')
    }
  })
})

function parts(signature: Hex): { r: Hex; s: Hex; yParity: number } {
  const digits = signature.slice(2)
  return {
    r: `0x${digits.slice(0, 64)}`,
    s: `0x${digits.slice(64, 128)}`,
    yParity: Number.parseInt(digits.slice(128), 16) - 27,
  }
}
