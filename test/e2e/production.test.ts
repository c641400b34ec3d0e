import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import { encryptKeystoreJson } from 'ethers'
import type { Hex } from 'viem'
import { english, generateMnemonic, privateKeyToAccount } from 'viem/accounts'

import { startChain, type TestChain } from '../fixtures/chain/anvil.ts'
import { startFaultyProxy, type FaultyProxy } from '../fixtures/chain/faulty-proxy.ts'
import { startWeb3Signer, type Web3SignerServer } from '../fixtures/chain/web3signer.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { runProgram, runToEnd, type Program } from '../fixtures/program.ts'
import { createKeyedDraw } from '../fixtures/random.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'

const PUBLIC_PHRASE = 'test test test test test test test test test test test junk'
/** The first key of anvil, which every document of it prints. */
const PUBLIC_KEY: Hex = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const PUBLIC_ADDRESS = privateKeyToAccount(PUBLIC_KEY).address

describe('production', () => {
  const folder = temporaryFolder()
  const file = (name: string, text: string): string => {
    const path = join(folder.path, name)
    writeFileSync(path, text)
    return path
  }
  let chain: TestChain
  let second: FaultyProxy
  let web3signer: Web3SignerServer
  let program: Program | undefined
  let folders = 0

  before(async () => {
    chain = await startChain('--chain-id', '17000')
    // To the program another node, which says the same.
    second = await startFaultyProxy({ target: chain.url, random: createKeyedDraw(1) })
    web3signer = await startWeb3Signer({ keys: [PUBLIC_KEY] })
  })
  afterEach(async () => {
    program?.kill('SIGTERM')
    await program?.ended
    program = undefined
  })
  after(async () => {
    await web3signer.stop()
    await second.stop()
    await chain.stop()
    folder.remove()
  })

  const settings = (more: Record<string, string>): Record<string, string> => {
    folders += 1
    const data = join(folder.path, `data-${folders}`)
    fillDataFolder(data)
    return {
      QUITTANCE_ENVIRONMENT: 'production',
      QUITTANCE_DATA: data,
      ETH_RPC_URL: `${chain.url},${second.url}`,
      QUITTANCE_SIGNER: `seed:${generateMnemonic(english)}`,
      PORT: '0',
      ...more,
    }
  }
  const refuses = async (more: Record<string, string>): Promise<string> => {
    const { code, stderr } = await runToEnd(['up'], settings(more))
    expect(code).to.equal(2)
    expect(stderr.trim().split('\n')).to.have.length(1)
    return stderr
  }
  const readiness = async (more: Record<string, string>): Promise<unknown> => {
    const env = settings(more)
    program = runProgram(['up'], env)
    const { url } = await program.untilReady()
    const answer = (await (await fetchInTurn(`${url}/readyz`)).json()) as object
    const status = await runToEnd(['status'], env)
    expect(status.code).to.equal(0)
    return { ...answer, told: status.stdout }
  }

  const WELL_KNOWN: Record<string, () => Promise<string> | string> = {
    'the public phrase in a seed-file': () => `seed-file:${file('seed.txt', PUBLIC_PHRASE)}`,
    "anvil's first key in a keystore": async () => {
      const account = { address: PUBLIC_ADDRESS, privateKey: PUBLIC_KEY }
      const json = await encryptKeystoreJson(account, 'long', { scrypt: { N: 1024, r: 8, p: 1 } })
      return `keystore:${file('key.json', json)}#${file('password.txt', 'long')}`
    },
    "anvil's first address behind a Web3Signer": () =>
      `web3signer:${web3signer.url}#${PUBLIC_ADDRESS}`,
  }
  for (const [what, settingOf] of Object.entries(WELL_KNOWN)) {
    it(`does not start with ${what}`, async () => {
      const words = await refuses({ QUITTANCE_SIGNER: await settingOf() })
      expect(words).to.include('does not start on default secrets').and.include(PUBLIC_ADDRESS)
      expect(words).to.include('account 0 of the phrase of anvil').and.not.include('junk')
    })
  }

  it('does not start on one provider, under whatever names', async () => {
    const again = chain.url.replace('127.0.0.1', 'localhost')
    for (const one of [chain.url, `${chain.url},${again}/`, '']) {
      const words = await refuses({ ETH_RPC_URL: one })
      expect(words).to.include('two providers').and.include('QUITTANCE_TRUST_ONE_PROVIDER=yes')
    }
  })

  it('is ready with two, and warns of nothing', async () => {
    const two = await readiness({})
    expect(two).to.include({ status: 'ready' }).and.not.have.property('warnings')
  })

  it('is ready with one that the operator trusts, and says so', async () => {
    const one = await readiness({ ETH_RPC_URL: chain.url, QUITTANCE_TRUST_ONE_PROVIDER: 'yes' })
    expect(one).to.include({ status: 'ready' })
    expect(one).to.have.property('warnings').with.length(1)
    expect(one).to.have.nested.property('warnings[0]').that.includes(new URL(chain.url).port)
    expect(one).to.have.property('told').that.includes('No second provider')
  })
})
