import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import { encryptKeystoreJson, HDNodeWallet, Mnemonic } from 'ethers'
import { keccak256, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

import { decodeTransaction, type TransactionRequest } from '../../../src/chain/proof/transaction.ts'
import { decryptKeystore } from '../../../src/chain/signers/keystore.ts'
import { openSigners } from '../../../src/chain/signers/open-signers.ts'
import type { Signer } from '../../../src/chain/signers/signer.ts'
import { startWeb3Signer, type Web3SignerServer } from '../../fixtures/chain/web3signer.ts'
import { expectFailure } from '../../fixtures/errors.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const never = new AbortController().signal
const PHRASE = 'test test test test test test test test test test test junk'
const KEYS: Hex[] = [`0x${'11'.repeat(32)}`, `0x${'22'.repeat(32)}`]
const ADDRESSES = KEYS.map((key) => privateKeyToAccount(key).address)
const open = (setting: string) => openSigners(setting, never)

const request: TransactionRequest = {
  chainId: 31_337,
  nonce: 0,
  to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  value: 1n,
  data: '0x',
  gas: 21_000n,
  maxFeePerGas: 2n,
  maxPriorityFeePerGas: 1n,
}

const expectSigns = async (signer: Signer) => {
  const { raw, hash } = await signer.sign(request, never)
  expect(decodeTransaction(raw)).to.deep.equal({
    ...request,
    raw,
    hash,
    from: signer.address,
  })
}

describe('QUITTANCE_SIGNER', () => {
  let folder: ReturnType<typeof temporaryFolder>
  beforeEach(() => (folder = temporaryFolder()))
  afterEach(() => folder.remove())

  const file = (name: string, text: string): string => {
    const path = join(folder.path, name)
    writeFileSync(path, text)
    return path
  }
  /** Fast to open; wallets take parameters that cost a second. */
  const keystore = (key: Hex, password: string) =>
    encryptKeystoreJson({ address: privateKeyToAccount(key).address, privateKey: key }, password, {
      scrypt: { N: 1024, r: 8, p: 1 },
    })

  describe('with a seed', () => {
    it('derives the addresses that other wallets derive', async () => {
      const signers = await open(`seed:${PHRASE}`)
      expect(signers.kind).to.equal('seed')
      for (const index of [0, 1, 9, 1_000_000]) {
        const theirs = HDNodeWallet.fromPhrase(PHRASE, undefined, `m/44'/60'/0'/0/${index}`)
        expect(signers.at(index).address).to.equal(theirs.address)
      }
      await expectSigns(signers.at(3))
    })

    it('reads it from a file', async () => {
      const path = file('seed', `  ${PHRASE.replaceAll(' ', '\n')}\n`)
      const signers = await open(`seed-file:${path}`)
      expect(signers.at(0).address).to.equal('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
    })

    it('takes phrases of all lengths that ethers takes', async () => {
      for (const bytes of [16, 20, 24, 28, 32]) {
        const { phrase } = Mnemonic.fromEntropy(`0x${'5a'.repeat(bytes)}`)
        const theirs = HDNodeWallet.fromPhrase(phrase)
        expect((await open(`seed:${phrase}`)).at(0).address).to.equal(theirs.address)
      }
    })

    const wrong: ReadonlyArray<[string, string]> = [
      ['a word that is missing', PHRASE.replace('junk', '')],
      ['a word that is wrong', PHRASE.replace('junk', 'junkyard')],
      ['a word that is another', PHRASE.replace('junk', 'zoo')],
      ['a key', KEYS[0] ?? ''],
    ]
    for (const [name, phrase] of wrong) {
      it(`refuses ${name}, and repeats nothing of it`, async () => {
        const error = await expectFailure(() => open(`seed:${phrase}`), 'signer_seed_wrong')
        expect(JSON.stringify([error.message, error.details])).not.to.match(/test|junk|zoo|1111/)
      })
    }

    it('refuses an index that is none', async () => {
      const signers = await open(`seed:${PHRASE}`)
      for (const index of [-1, 0.5, 2 ** 31, Number.NaN]) {
        await expectFailure(() => signers.at(index), 'signer_missing')
      }
    })
  })

  describe('with keystores', () => {
    it('opens what ethers saved, with the password of a file', async () => {
      const paths = await Promise.all(
        KEYS.map(async (key, index) => file(`${index}.json`, await keystore(key, 'pässword'))),
      )
      const password = file('password', 'pässword\n')
      const signers = await open(`keystore:${paths.join(',')}#${password}`)
      expect([signers.kind, signers.count]).to.deep.equal(['keystore', 2])
      expect([signers.at(0).address, signers.at(1).address]).to.deep.equal(ADDRESSES)
      await expectSigns(signers.at(1))
      await expectFailure(() => signers.at(2), 'signer_missing')
    })

    it('opens the example of the standard, whose key is derived by pbkdf2', async () => {
      const key = await decryptKeystore({ json: STANDARD, password: 'testpassword' })
      expect(key).to.equal('0x7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d')
    })

    it('refuses a wrong password', async () => {
      const path = file('key.json', await keystore(KEYS[0] ?? '0x', 'right'))
      const password = file('password', 'wrong')
      const error = await expectFailure(
        () => open(`keystore:${path}#${password}`),
        'signer_password_wrong',
      )
      expect(error.message).not.to.include('wrong\n')
    })

    it('refuses a file that is damaged, of another kind, or too costly', async () => {
      const good = await keystore(KEYS[0] ?? '0x', 'pw')
      type Store = { address: string; version: number; Crypto: Record<string, unknown> }
      const changed = (change: (store: Store) => void): string => {
        const store = JSON.parse(good) as Store
        change(store)
        return JSON.stringify(store)
      }
      const params = (more: object) => (store: Store) =>
        Object.assign(store.Crypto['kdfparams'] as object, more)
      const bad = [
        'not json',
        '[]',
        '{}',
        changed((store) => (store.version = 1)),
        changed((store) => (store.Crypto['cipher'] = 'none')),
        changed((store) => (store.Crypto['kdf'] = 'md5')),
        changed((store) => (store.Crypto['mac'] = 'zz')),
        changed((store) => (store.Crypto['ciphertext'] = '00')),
        changed((store) => (store.address = '00'.repeat(20))),
        changed(params({ n: 2 ** 30 })),
        changed(params({ n: 1000 })),
        changed(params({ r: 0 })),
        changed(params({ dklen: 16 })),
        changed(params({ salt: '' })),
      ]
      for (const json of bad) {
        await expectFailure(
          () => decryptKeystore({ json, password: 'pw' }),
          'signer_keystore_unreadable',
        )
      }
      const swapped = changed((store) => (store.Crypto['ciphertext'] = '00'.repeat(32)))
      await expectFailure(
        () => decryptKeystore({ json: swapped, password: 'pw' }),
        'signer_password_wrong',
      )
    })

    it('refuses an account that is named twice', async () => {
      const path = file('key.json', await keystore(KEYS[0] ?? '0x', 'pw'))
      const password = file('password', 'pw')
      await expectFailure(
        () => open(`keystore:${path},${path}#${password}`),
        'signer_setting_wrong',
      )
    })
  })

  describe('with a Web3Signer', () => {
    let server: Web3SignerServer | undefined
    afterEach(async () => {
      await server?.stop()
      server = undefined
    })
    const start = async (distort?: Parameters<typeof startWeb3Signer>[0]['distort']) => {
      server = await startWeb3Signer({ keys: KEYS, ...(distort && { distort }) })
      return open(`web3signer:${server.url}#${ADDRESSES.toReversed().join(',')}`)
    }

    it('signs with the keys that it keeps', async () => {
      const signers = await start()
      expect([signers.kind, signers.count]).to.deep.equal(['web3signer', 2])
      expect(signers.at(0).address).to.equal(ADDRESSES[1])
      await expectSigns(signers.at(0))
      await expectSigns(signers.at(1))
      expect(server?.asked.map(({ data }) => data?.slice(0, 4))).to.deep.equal([
        undefined,
        '0x02',
        '0x02',
      ])
    })

    it('takes nothing that it signed otherwise than asked', async () => {
      const signers = await start(async (_, payload) => {
        const [, other] = KEYS.toReversed()
        return { text: await privateKeyToAccount(other ?? '0x').sign({ hash: keccak256(payload) }) }
      })
      await expectFailure(() => signers.at(0).sign(request, never), 'signature_wrong')
    })

    const failures: ReadonlyArray<[string, { status?: number; text: string }, boolean]> = [
      ['a page', { text: '<html>' }, false],
      ['nothing', { text: '' }, false],
      ['a refusal', { status: 404, text: 'Not Found' }, false],
      ['a failure', { status: 500, text: '' }, true],
    ]
    for (const [name, reply, retryable] of failures) {
      it(`fails when the answer is ${name}`, async () => {
        const signers = await start(() => reply)
        const error = await expectFailure(() => signers.at(0).sign(request, never), 'signer_failed')
        expect(error.retryable).to.equal(retryable)
      })
    }

    it('stops waiting when it is told to', async () => {
      const signers = await start(() => new Promise(() => undefined))
      const controller = new AbortController()
      const signing = signers.at(0).sign(request, controller.signal)
      controller.abort()
      await expectFailure(() => signing, 'signer_failed')
    })

    it('refuses an address that it has no key of', async () => {
      server = await startWeb3Signer({ keys: KEYS.slice(0, 1) })
      const { url } = server
      await expectFailure(
        () => open(`web3signer:${url}#${ADDRESSES.join(',')}`),
        'signer_key_missing',
      )
    })

    it('cannot be started while it does not answer', async () => {
      const setting = `web3signer:http://user:SECRET99@127.0.0.1:1/#${ADDRESSES[0]}`
      const error = await expectFailure(() => open(setting), 'signer_failed')
      expect([error.retryable, error.message.includes('SECRET99')]).to.deep.equal([true, false])
    })
  })

  const wrong = [
    PHRASE,
    'vault:secret',
    'keystore:/only/a/path',
    'keystore:#/password',
    'keystore:a#b#c',
    `web3signer:http://127.0.0.1:1`,
    `web3signer:ftp://127.0.0.1#${ADDRESSES[0]}`,
    `web3signer:http://127.0.0.1:1#${KEYS[0]}`,
    `web3signer:http://127.0.0.1:1#${ADDRESSES[0]?.replace('e7', 'E7')}`,
  ]
  for (const [index, setting] of wrong.entries()) {
    it(`refuses wrong form ${index + 1} and repeats no secret`, async () => {
      const error = await expectFailure(() => open(setting), 'signer_setting_wrong')
      expect(error.message).not.to.match(/junk|secret|1111/)
    })
  }

  it('names a file that cannot be read, unless it may be a phrase', async () => {
    const missing = await expectFailure(() => open('seed-file:/no/such'), 'signer_file_unreadable')
    expect(missing.message).to.include('/no/such')
    const phrase = await expectFailure(() => open(`seed-file:${PHRASE}`), 'signer_file_unreadable')
    expect(phrase.message).not.to.include('junk')
    const large = file('large', 'x'.repeat(5_000_000))
    await expectFailure(() => open(`seed-file:${large}`), 'signer_file_unreadable')
  })
})

/** A test vector of the Web3 Secret Storage definition. */
const STANDARD = JSON.stringify({
  version: 3,
  crypto: {
    cipher: 'aes-128-ctr',
    cipherparams: { iv: '6087dab2f9fdbbfaddc31a909735c1e6' },
    ciphertext: '5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46',
    kdf: 'pbkdf2',
    kdfparams: {
      c: 262_144,
      dklen: 32,
      prf: 'hmac-sha256',
      salt: 'ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd',
    },
    mac: '517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2',
  },
})
