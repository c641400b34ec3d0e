import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { expect } from 'chai'
import { JsonRpcProvider } from 'ethers'
import { pad, parseEther } from 'viem'

import { generateBindings } from '../../scripts/bindings.ts'
import { ReferenceDollar__factory, Settlement__factory } from '../../src/bindings/ethers.ts'
import {
  addressesByChain,
  referenceDollarAbi,
  settlementAbi,
  settlementAddress,
} from '../../src/bindings/index.ts'
import { NETWORKS } from '../../src/deploy/networks.ts'
import { startChain, type TestChain } from '../fixtures/chain/anvil.ts'
import { account, deployerOn, forgetfulRecords } from '../fixtures/chain/deployment.ts'
import { buildContracts } from '../fixtures/contracts/hardhat.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const COMMITTED = path.join(ROOT, 'src/bindings')
const WRITTEN_BY_HAND: readonly string[] = ['ethers.ts', 'index.ts', 'README.md']

describe('the committed bindings', () => {
  let fresh: string

  before('compile the contracts and generate anew', async () => {
    await buildContracts()
    fresh = await mkdtemp(path.join(tmpdir(), 'quittance-bindings-'))
    await generateBindings({ artifacts: path.join(ROOT, 'artifacts'), out: fresh })
  })
  after(() => rm(fresh, { recursive: true, force: true }))

  it('are what the contracts make today; else run the generator', async () => {
    const files = (await filesIn(COMMITTED)).filter((file) => !WRITTEN_BY_HAND.includes(file))
    expect(files).to.deep.equal(await filesIn(fresh))
    for (const file of files) {
      const [committed, generated] = await Promise.all(
        [COMMITTED, fresh].map((folder) => readFile(path.join(folder, file), 'utf8')),
      )
      // Not compared by the assertion, which would print a hundred kilobytes of difference.
      expect(committed === generated, `${file} has drifted`).to.equal(true)
    }
  })

  it('name one address for every network that we know', () => {
    const known = Object.values(NETWORKS).flatMap(({ chainId }) => chainId ?? [])
    expect(Object.keys(addressesByChain).map(Number)).to.have.members(known)
    for (const { settlement } of Object.values(addressesByChain)) {
      expect(settlement).to.equal(settlementAddress)
    }
  })
})

describe('a contract', () => {
  let chain: TestChain
  let dollar: `0x${string}`
  let provider: JsonRpcProvider

  before(async () => {
    chain = await startChain()
    const options = {
      records: forgetfulRecords,
      minter: { address: account(0).address, allowance: 9n },
    }
    const { addresses } = await deployerOn(chain, options).execute()
    dollar = addresses.ReferenceDollar
    provider = new JsonRpcProvider(chain.url, undefined, { cacheTimeout: -1 })
  })
  after(async () => {
    provider.destroy()
    await chain.stop()
  })

  it('is paid through viem and read through ethers', async () => {
    const orderReference = pad('0x0102')
    await chain.client.writeContract({
      address: settlementAddress,
      abi: settlementAbi,
      functionName: 'settle',
      args: [orderReference, account(2).address],
      value: parseEther('1'),
      account: account(0),
      chain: null,
    })
    const settlement = Settlement__factory.connect(settlementAddress, provider)
    expect(await settlement.isSettled(account(0).address, orderReference)).to.equal(true)
    const [event] = await settlement.queryFilter(settlement.filters.Settled(orderReference))
    expect(event?.args.amount).to.equal(parseEther('1'))
    expect(event?.args.payee).to.equal(account(2).address)
  })

  it('is paid through ethers and read through viem', async () => {
    const signer = await provider.getSigner(account(0).address)
    const token = ReferenceDollar__factory.connect(dollar, signer)
    await (await token.mintWithMemo(account(4).address, 5n, pad('0x0a'))).wait()
    const balance = await chain.client.readContract({
      address: dollar,
      abi: referenceDollarAbi,
      functionName: 'balanceOf',
      args: [account(4).address],
    })
    expect(balance).to.equal(5n)
  })
})

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .toSorted()
}
