import { expect } from 'chai'
import { toHex, type Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'

import { createSeedSigners } from '../../../src/chain/signers/seed.ts'
import { createKeySigner, listSigners } from '../../../src/chain/signers/signer.ts'
import {
  PHRASE_ACCOUNTS,
  SMALL_KEY_ACCOUNTS,
} from '../../../src/chain/signers/well-known-addresses.ts'
import { findWellKnownSigner } from '../../../src/chain/signers/well-known-signers.ts'

const own: Hex = `0x${'5a'.repeat(32)}`
const seedOfAnvil = createSeedSigners('test test test test test test test test test test test junk')

const PHRASES = {
  'the phrase of anvil and Hardhat': `${'test '.repeat(11)}junk`,
  "Ganache's deterministic phrase":
    'myth like bonus scare over problem client lizard pioneer submit female collect',
  "Truffle's phrase": 'candy maple cake sugar pudding cream honey rich smooth crumble sweet treat',
  'the all-zero phrase of BIP-39': `${'abandon '.repeat(11)}about`,
}

describe('findWellKnownSigner', () => {
  it("finds nothing in keys of one's own", () => {
    expect(findWellKnownSigner(listSigners('keystore', [createKeySigner(own)]))).to.equal(undefined)
    const phrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
    expect(findWellKnownSigner(createSeedSigners(phrase))).to.equal(undefined)
  })

  it('knows the seeds of the development tools, from whatever file they came', () => {
    for (const phrase of Object.values(PHRASES)) {
      expect(findWellKnownSigner(createSeedSigners(phrase))).to.include('signer 0 (seed, 0x')
    }
  })

  it('knows the addresses that follow from the phrases and the small keys, and no others', () => {
    const derived = Object.entries(PHRASES).map(([name, phrase]) => {
      const signers = createSeedSigners(phrase)
      const accounts = Array.from({ length: 20 }, (_, at) => signers.at(at).address.toLowerCase())
      return [name, accounts]
    })
    expect(PHRASE_ACCOUNTS).to.deep.equal(Object.fromEntries(derived))
    const small = Array.from({ length: 16 }, (_, at) =>
      privateKeyToAddress(toHex(at + 1, { size: 32 })).toLowerCase(),
    )
    expect(SMALL_KEY_ACCOUNTS).to.deep.equal(small)
  })

  it('knows their accounts behind a keystore or a Web3Signer, at any place', () => {
    for (const kind of ['keystore', 'web3signer'] as const) {
      for (const index of [0, 19]) {
        const known = seedOfAnvil.at(index)
        const signers = listSigners(kind, [createKeySigner(own), known])
        const found = findWellKnownSigner(signers)
        expect(found).to.include(`signer 1 (${kind}, ${known.address})`)
        expect(found).to.include(`account ${index} of the phrase of anvil and Hardhat`)
      }
    }
  })

  it('knows the keys that are small numbers, and those that clients publish', () => {
    for (const number of [1, 16]) {
      const key: Hex = `0x${number.toString(16).padStart(64, '0')}`
      const found = findWellKnownSigner(listSigners('keystore', [createKeySigner(key)]))
      expect(found).to.include(`the private key ${number}`)
    }
    const besu: Hex = `0x8f2a55949038a9610f50fb23b5883af3b4ecb3c3bb792cbcefbd1542c692be63`
    expect(privateKeyToAddress(besu).toLowerCase()).to.equal(
      '0xfe3b557e8fb62b89f4916b721be55ceb828dbd73',
    )
    const found = findWellKnownSigner(listSigners('web3signer', [createKeySigner(besu)]))
    expect(found).to.include('Besu')
  })
})
