import { expect } from 'chai'
import { constantFrom, assert, asyncProperty, bigInt, nat, record, uint8Array } from 'fast-check'
import {
  getAddress,
  keccak256,
  parseSignature,
  parseTransaction,
  recoverAddress,
  recoverTransactionAddress,
  toBytes,
  toHex,
  type Hex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

import {
  assemble,
  decodeTransaction,
  firstDifference,
  payloadOf,
  type TransactionRequest,
} from '../../../src/chain/proof/transaction.ts'
import {
  recoverSigner,
  signDigest,
  type SignatureNumbers,
} from '../../../src/chain/signers/secp256k1.ts'
import { createKeySigner } from '../../../src/chain/signers/signer.ts'
import { expectFailure } from '../../fixtures/errors.ts'

const never = new AbortController().signal
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const KEY: Hex = `0x${'11'.repeat(32)}`
const account = privateKeyToAccount(KEY)
const request: TransactionRequest = {
  chainId: 31_337,
  nonce: 7,
  to: getAddress('0x70997970c51812dc3a010c7d01b50e0d17dc79c8'),
  value: 10n ** 18n,
  data: '0x1234',
  gas: 21_000n,
  maxFeePerGas: 3_000_000_000n,
  maxPriorityFeePerGas: 1_000_000_000n,
}

describe('a transaction', () => {
  const anyRequest = record({
    chainId: constantFrom(1, 31_337, 11_155_111),
    nonce: nat(2 ** 31 - 1),
    to: uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => getAddress(toHex(bytes))),
    value: bigInt(0n, 2n ** 256n - 1n),
    data: uint8Array({ maxLength: 300 }).map((bytes): Hex => toHex(bytes)),
    gas: bigInt(0n, 30_000_000n),
    maxPriorityFeePerGas: bigInt(0n, 10n ** 12n),
    tip: bigInt(0n, 10n ** 12n),
  }).map(({ tip, ...rest }) => ({ ...rest, maxFeePerGas: rest.maxPriorityFeePerGas + tip }))

  it('says after signing exactly what was asked for, whatever that is', async () => {
    const signer = createKeySigner(KEY)
    await assert(
      asyncProperty(anyRequest, async (asked) => {
        const { raw, hash } = await signer.sign(asked, never)
        const decoded = decodeTransaction(raw)
        expect(decoded).to.deep.equal({ ...asked, raw, hash, from: account.address })
        expect(hash).to.equal(keccak256(raw))
        expect(firstDifference(decoded, asked)).to.equal(undefined)
        expect(decodeTransaction(raw), 'decoded once').to.equal(decoded)
      }),
      { numRuns: 60 },
    )
  })

  it('is read as viem reads it', async () => {
    const { raw } = await createKeySigner(KEY).sign(request, never)
    const theirs = parseTransaction(raw as `0x02${string}`)
    expect(theirs).to.deep.include({
      nonce: 7,
      value: request.value,
      data: '0x1234',
      gas: 21_000n,
      chainId: 31_337,
    })
    const from = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })
    expect(from).to.equal(account.address)
  })

  it('is signed with the bytes that viem signs, its signer found as viem finds it', async () => {
    await assert(
      asyncProperty(anyRequest, bigInt(1n, CURVE_ORDER - 1n), async (asked, number) => {
        const key = toHex(number, { size: 32 })
        const theirs = privateKeyToAccount(key)
        const digest = keccak256(payloadOf(asked))
        const signature = await theirs.sign({ hash: digest })
        expect(signDigest(digest, toBytes(key))).to.equal(signature)
        const { r, s, yParity } = parseSignature(signature)
        expect(recoverSigner(digest, { r, s, yParity })).to.equal(theirs.address)
        for (const wrong of [
          { digest, r, s, yParity: 1 - yParity },
          { digest, r: s, s: r, yParity },
          { digest: keccak256(digest), r, s, yParity },
        ]) {
          const { digest: hash, ...numbers } = wrong
          const signer = recoverSigner(hash, numbers)
          expect(signer).to.not.equal(theirs.address)
          expect(signer).to.equal(await viemsSigner(hash, numbers))
        }
      }),
      { numRuns: 40 },
    )
  })

  it('is nobody’s where its numbers are none of the curve’s', () => {
    const digest = keccak256('0x01')
    const one = toHex(1n, { size: 32 })
    // The curve has no point with x = 5.
    for (const r of [0n, 5n, CURVE_ORDER, 2n ** 256n - 1n]) {
      expect(recoverSigner(digest, { r: toHex(r, { size: 32 }), s: one, yParity: 0 })).to.equal(
        undefined,
      )
    }
    expect(recoverSigner(digest, { r: one, s: toHex(0n, { size: 32 }), yParity: 0 })).to.equal(
      undefined,
    )
  })

  for (const field of ['chainId', 'nonce', 'value', 'gas', 'maxFeePerGas'] as const) {
    it(`differs where its ${field} does`, () => {
      const other = { ...request, [field]: BigInt(request[field]) + 1n }
      expect(firstDifference(other, request)).to.equal(field)
    })
  }

  describe('is refused', () => {
    const sign = async () => account.sign({ hash: keccak256(payloadOf(request)) })
    const put = (signature: Hex, address = account.address) =>
      assemble({ request, signature, address })

    it('when another account signed it', async () => {
      const other = privateKeyToAccount(`0x${'22'.repeat(32)}`)
      const signature = await other.sign({ hash: keccak256(payloadOf(request)) })
      const error = await expectFailure(() => put(signature), 'signature_wrong')
      expect(error.details['from']).to.equal(other.address)
    })

    it('when another transaction was signed', async () => {
      const payload = payloadOf({ ...request, value: request.value + 1n })
      const signature = await account.sign({ hash: keccak256(payload) })
      await expectFailure(() => put(signature), 'signature_wrong')
    })

    it('when its signature is the twin that nodes refuse', async () => {
      const signature = await sign()
      const s = toHex(CURVE_ORDER - BigInt(`0x${signature.slice(66, 130)}`), { size: 32 }).slice(2)
      const v = signature.endsWith('1b') ? '1c' : '1b'
      const twin = `${signature.slice(0, 66)}${s}${v}` as Hex
      await expectFailure(() => put(twin), 'signature_wrong')
    })

    it('when its signature is none', async () => {
      const signature = await sign()
      const nothings: Hex[] = [
        '0x',
        `0x${'00'.repeat(65)}`,
        `${signature}00`,
        `0x${'ff'.repeat(65)}`,
      ]
      for (const nothing of nothings) await expectFailure(() => put(nothing), 'signature_wrong')
    })

    it('when its bytes are no signed EIP-1559 transaction in its one accepted form', async () => {
      const { raw } = await createKeySigner(KEY).sign(request, never)
      const wrong: Hex[] = ['0x', '0x02', '0x1234', `${raw}00`, raw.slice(0, -2) as Hex]
      wrong.push(payloadOf(request), `0x01${raw.slice(4)}`)
      for (const bytes of wrong) {
        await expectFailure(() => decodeTransaction(bytes), 'transaction_unreadable')
      }
    })
  })
})

async function viemsSigner(hash: Hex, signature: SignatureNumbers) {
  try {
    return await recoverAddress({ hash, signature })
  } catch {
    return undefined
  }
}
