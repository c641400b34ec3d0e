import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { settlementAddress } from '../../src/bindings/addresses.ts'
import { startChain, type TestChain } from '../fixtures/chain/anvil.ts'
import { runHardhat } from '../fixtures/contracts/hardhat.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

/** Of nobody's seed: a key that everybody knows is refused. */
const KEY = generatePrivateKey().slice(2)
const OWN = privateKeyToAccount(`0x${KEY}`).address

describe('the deployment by Hardhat', () => {
  let chain: TestChain
  let folder: ReturnType<typeof temporaryFolder>

  before(async () => {
    chain = await startChain('--chain-id', '11155111')
    await chain.client.setBalance({ address: OWN, value: 10n ** 18n })
    folder = temporaryFolder()
  })
  after(async () => {
    await chain.stop()
    folder.remove()
  })

  it('deploys one contract alone, both with a key, and nothing twice', async () => {
    const alone = await runScript({ ONLY: 'settlement' })
    expect(alone).to.include('Settlement: done').and.not.include('ReferenceDollar')
    expect(await sent()).to.equal(1)
    const first = await runScript()
    expect(first).to.include('ReferenceDollar: done')
    expect((await chain.client.getCode({ address: settlementAddress }))?.length).to.be.above(1000)
    expect(await sent()).to.equal(2)

    expect(await runScript()).to.include('Nothing was changed')
    expect(await sent()).to.equal(2)
  })

  const sent = () => chain.client.getTransactionCount({ address: OWN })

  async function runScript(environment: Record<string, string> = {}): Promise<string> {
    const args = ['--network', 'sepolia', 'run', '--no-compile', 'scripts/deploy.ts']
    const { code, output } = await runHardhat(args, {
      PATH: process.env['PATH'],
      HOME: folder.path,
      QUITTANCE_DATA: folder.path,
      QUITTANCE_DEPLOYER_KEY: KEY,
      SEPOLIA_RPC_URL: chain.url,
      ...environment,
    })
    expect(code, output).to.equal(0)
    return output
  }
})
