import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

import { expect } from 'chai'

import { decodeTransaction, type TransactionRequest } from '../../../src/chain/proof/transaction.ts'
import { openSigners } from '../../../src/chain/signers/open-signers.ts'
import { addressOfKey } from '../../fixtures/chain/kms.ts'
import { expectFailure } from '../../fixtures/errors.ts'

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

describe('keys in a key management service', () => {
  let program: ChildProcess
  let url = ''
  const before_ = { ...process.env }

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
  })
  after(async () => {
    process.env = before_
    program.kill()
    await once(program, 'exit')
  })

  for (const [kind, keyCalled] of Object.entries(SERVICES)) {
    describe(kind, () => {
      const open = (...names: string[]) =>
        openSigners(`${kind}:${url}#${names.map(keyCalled).join(',')}`, never)

      it('sign, whichever s the service chose, and never leave it', async () => {
        const signers = await open('one', 'two')
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

      it('are opened by the hundred', async () => {
        const names = Array.from({ length: 120 }, (_, place) => `key${place}`)
        const signers = await open(...names)
        expect(signers.at(119).address).to.equal(addressOfKey(keyCalled('key119')))
      })

      for (const [name, code] of Object.entries({
        p256: 'signer_key_wrong',
        missing: 'signer_failed',
      })) {
        it(`are refused at the start where one is ${name}`, async () => {
          const error = await expectFailure(() => open('good', name), code)
          expect([error.retryable, error.message.includes(keyCalled(name))]).to.deep.equal([
            false,
            true,
          ])
        })
      }

      for (const [name, code, retryable] of [
        ['swapped', 'signer_key_wrong', false],
        ['garbled', 'signer_key_wrong', false],
        ['down', 'signer_failed', true],
      ] as const) {
        it(`store nothing that is signed where the key is ${name}`, async () => {
          const signers = await open(name)
          const error = await expectFailure(() => signers.at(0).sign(request, never), code)
          expect(error.retryable).to.equal(retryable)
        })
      }

      it('are given up where the service is silent', async () => {
        const signers = await open('silent')
        const begun = performance.now()
        const error = await expectFailure(() => signers.at(0).sign(request, never), 'signer_failed')
        expect(error.retryable).to.equal(true)
        expect(performance.now() - begun).to.be.within(3_500, 6_000)
      })

      it('are named in one of the forms that the service has', async () => {
        for (const keys of ['', 'a b', `${keyCalled('x')},,`, `ftp://a#${keyCalled('x')}`]) {
          await expectFailure(() => openSigners(`${kind}:${keys}`, never), 'signer_setting_wrong')
        }
        await expectFailure(() => open('same', 'same'), 'signer_setting_wrong')
      })
    })
  }
})
