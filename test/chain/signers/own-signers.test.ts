import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'
import { privateKeyToAccount } from 'viem/accounts'

import { decodeTransaction } from '../../../src/chain/proof/transaction.ts'
import { openOwnSigners, type OwnSigner } from '../../../src/chain/signers/own-signers.ts'
import { failureOf } from '../../fixtures/errors.ts'

const { signal } = new AbortController()
const KEYS = [1, 2, 3].map((n) => `0x${String(n).padStart(64, '0')}` as const)
const REQUEST = {
  chainId: 31337,
  nonce: 0,
  to: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  value: 1n,
  data: '0x',
  gas: 21_000n,
  maxFeePerGas: 2n,
  maxPriorityFeePerGas: 1n,
} as const

function ownSigner(place: number, by = place): OwnSigner {
  const { address } = privateKeyToAccount(KEYS[place]!)
  return { address, sign: ({ digest }) => privateKeyToAccount(KEYS[by]!).sign({ hash: digest }) }
}

describe('your own signers', () => {
  it('sign transactions and typed data, each for the digest of its payload', async () => {
    const signers = await openOwnSigners([ownSigner(0), ownSigner(1)], signal)
    const { raw } = await signers.at(1).sign(REQUEST, signal)
    expect(decodeTransaction(raw)).to.include({ from: ownSigner(1).address, value: 1n })
    const typed = await signers.at(0).signTyped(`0x1901${'00'.repeat(64)}`, signal)
    expect(typed).to.include.keys('r', 's', 'yParity')
    expect(signers).to.include({ kind: 'own', areHere: false, count: 2 })
    expect((await failureOf(async () => signers.at(2))).message).to.include('startApp')
  })

  it('are not believed in a signature of another account, or of no account', async () => {
    for (const answer of [ownSigner(0, 1).sign, async () => '0x12', async () => undefined]) {
      const sign = answer as OwnSigner['sign']
      const signers = await openOwnSigners([{ ...ownSigner(0), sign }], signal)
      const { code } = await failureOf(() => signers.at(0).sign(REQUEST, signal))
      expect(code).to.equal('signature_wrong')
    }
  })

  it('fail when they throw or do not answer in time, and can be asked again', async () => {
    for (const sign of [
      () => Promise.reject(new Error('the vault is sealed')),
      () => new Promise<never>(() => undefined),
    ]) {
      const signers = await openOwnSigners([{ ...ownSigner(0), sign }], signal)
      const waits = sleep(15_000, undefined, { ref: false })
      const signed = () => Promise.race([signers.at(0).sign(REQUEST, signal), waits])
      const error = await failureOf(signed)
      expect(error).to.include({ code: 'signer_failed', retryable: true })
    }
  })

  const mistakes: ReadonlyArray<[string, unknown, string]> = [
    ['an address that is none', [{ ...ownSigner(0), address: '0x12' }], 'signers[0]'],
    [
      'an address whose checksum is wrong',
      [ownSigner(0), { ...ownSigner(1), address: REQUEST.to.replace('aA', 'aa') }],
      'signers[1]',
    ],
    ['an account twice', [ownSigner(0), ownSigner(1), ownSigner(0)], 'signers[0] and signers[2]'],
    ['no function', [{ address: ownSigner(0).address }], 'no function sign'],
    ['nothing', [], 'empty'],
    ['no list', () => Promise.resolve('0x'), 'not a list'],
  ]
  for (const [name, list, words] of mistakes) {
    it(`are refused with ${name}`, async () => {
      const error = await failureOf(() => openOwnSigners(list as never, signal))
      expect(error.code).to.equal('signers_wrong')
      expect(error.message).to.include(words)
    })
  }

  it('are listed again when one is missing, and grow at the end alone', async () => {
    let list = [ownSigner(0)]
    const signers = await openOwnSigners(async () => list, signal)
    list = [ownSigner(0), ownSigner(1)]
    await signers.refresh?.(signal)
    expect(signers.count).to.equal(2)
    list = [ownSigner(1), ownSigner(0)]
    const { message } = await failureOf(async () => signers.refresh?.(signal))
    expect(message).to.include('signers[0] is no longer')
    expect(signers.at(0).address).to.equal(ownSigner(0).address)
  })
})
