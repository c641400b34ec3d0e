import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { expect } from 'chai'

import { decodeTransaction, type TransactionRequest } from '../../../src/chain/proof/transaction.ts'
import { openSigners } from '../../../src/chain/signers/open-signers.ts'
import { addressOfKey } from '../../fixtures/chain/kms.ts'
import { expectFailure, failureOf } from '../../fixtures/errors.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const never = new AbortController().signal

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

const RING = 'projects/p/locations/global/keyRings/r/cryptoKeys'

const SERVICES = {
  'aws-kms': (name: string) => `arn:aws:kms:eu-central-1:111122223333:key/${name}`,
  'gcp-kms': (name: string) => `${RING}/${name}/cryptoKeyVersions/1`,
} as const

type Kind = keyof typeof SERVICES
const KINDS: readonly Kind[] = ['aws-kms', 'gcp-kms']
const SLOW = ['full', 'down', 'silent']

describe('keys in a key management service', () => {
  let program: ChildProcess
  let url = ''
  const before_ = { ...process.env }
  const open = (kind: Kind, ...names: string[]) =>
    openSigners(`${kind}:${url}#${names.map(SERVICES[kind]).join(',')}`, never)
  const failure = async (kind: Kind, name: string) => {
    const signers = await open(kind, name)
    const begun = performance.now()
    const error = await failureOf(() => signers.at(0).sign(request, never))
    return { error, tookMs: performance.now() - begun }
  }
  /** They take seconds, so all of them wait at one time, from the beginning on. */
  const failures = new Map<string, ReturnType<typeof failure>>()

  before(async () => {
    program = spawn(process.execPath, ['test/fixtures/chain/kms.ts'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = (await once(program.stdout!, 'data')) as [Buffer]
    url = line.toString().trim()
    Object.assign(process.env, {
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'of tests',
      GCE_METADATA_HOST: new URL(url).host,
      METADATA_SERVER_DETECTION: 'assume-present',
    })
    for (const kind of KINDS)
      for (const name of SLOW) failures.set(`${kind} ${name}`, failure(kind, name))
  })
  after(async () => {
    process.env = before_
    program.kill()
    await once(program, 'exit')
  })

  for (const kind of KINDS) {
    const keyCalled = SERVICES[kind]
    describe(kind, () => {
      it('sign, whichever s the service chose, and never leave it', async () => {
        const signers = await open(kind, 'one', 'two')
        expect([signers.kind, signers.count, signers.areHere]).to.deep.equal([kind, 2, false])
        for (const [place, name] of ['one', 'two', 'one', 'two', 'one'].entries()) {
          const signer = signers.at(place % 2)
          expect(signer.address).to.equal(addressOfKey(keyCalled(name)))
          const wanted = { ...request, nonce: place }
          const { raw, hash } = await signer.sign(wanted, never)
          const { address: from } = signer
          expect(decodeTransaction(raw)).to.deep.equal({ ...wanted, raw, hash, from })
        }
      })

      it('are more than a thousand, and new ones are taken up from their file', async () => {
        const folder = temporaryFolder()
        const path = join(folder.path, 'keys.txt')
        const names = Array.from({ length: 1_100 }, (_, place) => `key${place}`)
        await writeFile(path, `${names.map(keyCalled).join('\n')}\n`)
        const signers = await openSigners(`${kind}:${url}#@${path}`, never)
        expect(signers.count).to.equal(1_100)
        expect(signers.at(1_099).address).to.equal(addressOfKey(keyCalled('key1099')))
        await expectFailure(async () => signers.at(1_100), 'signer_missing')
        await appendFile(path, `${keyCalled('later')}\n`)
        await signers.refresh?.(never)
        expect(signers.at(1_100).address).to.equal(addressOfKey(keyCalled('later')))
        // What stands at a place stays there: a user never gets another address.
        await writeFile(path, `${keyCalled('other')}\n`)
        await expectFailure(async () => signers.refresh?.(never), 'signer_setting_wrong')
        expect(signers.at(0).address).to.equal(addressOfKey(keyCalled('key0')))
        folder.remove()
      })

      it('are asked again where the service limits its requests', async () => {
        const signers = await open(kind, 'busy')
        const { raw } = await signers.at(0).sign(request, never)
        expect(decodeTransaction(raw).from).to.equal(signers.at(0).address)
      })

      for (const [name, code] of Object.entries({
        p256: 'signer_key_wrong',
        ed25519: 'signer_key_wrong',
        missing: 'signer_failed',
      })) {
        it(`are refused at the start where one is ${name}`, async () => {
          const error = await expectFailure(() => open(kind, 'good', name), code)
          expect([error.retryable, error.message.includes(keyCalled(name))]).to.deep.equal([
            false,
            true,
          ])
        })
      }

      for (const [name, code, retryable] of [
        ['swapped', 'signer_key_wrong', false],
        ['garbled', 'signer_key_wrong', false],
        ['negative', 'signer_key_wrong', false],
        ['long', 'signer_key_wrong', false],
        ['zero', 'signer_key_wrong', false],
        ['full', 'signer_failed', true],
        ['down', 'signer_failed', true],
      ] as const) {
        it(`store nothing that is signed where the key is ${name}`, async () => {
          const { error } = await (failures.get(`${kind} ${name}`) ?? failure(kind, name))
          expect(error).to.include({ code, retryable })
        })
      }

      it('are given up where the service is silent', async () => {
        const { error, tookMs } = await failures.get(`${kind} silent`)!
        expect(error).to.include({ code: 'signer_failed', retryable: true })
        expect(tookMs).to.be.within(3_500, 6_000)
      })

      it('are named in one of the forms that the service has', async () => {
        for (const keys of ['', 'a b', `${keyCalled('x')},,`, `ftp://a#${keyCalled('x')}`]) {
          await expectFailure(() => openSigners(`${kind}:${keys}`, never), 'signer_setting_wrong')
        }
        await expectFailure(() => open(kind, 'same', 'same'), 'signer_setting_wrong')
      })
    })
  }
})
