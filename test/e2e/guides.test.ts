import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import { english, generateMnemonic, generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { startAnvil, type EmbeddedChain } from '../../src/chain/embedded/anvil.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { startFaultyProxy } from '../fixtures/chain/faulty-proxy.ts'
import { payByCheckout, placeUsdcAt, USDC_ON_SEPOLIA, usdcOf } from '../fixtures/books/usdc.ts'
import { startWeb3Signer } from '../fixtures/chain/web3signer.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { blocksOf, createReader, type Reader } from '../fixtures/guides.ts'
import { createKeyedDraw } from '../fixtures/random.ts'
import { emptyDatabaseUrl } from '../fixtures/store/database.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'

const PAYEE = '0x00000000000000000000000000000000000000aa'
const ETHER = 10n ** 18n
const QUICK = { QUITTANCE_BLOCK_MS: '100', QUITTANCE_CONFIRMATIONS: '2' }

/** A newcomer types what the guides say, and gets what they promise. */
describe('the guides', () => {
  let folder: ReturnType<typeof temporaryFolder>
  const readers: Reader[] = []
  const others: { stop: () => Promise<unknown> }[] = []

  before(() => (folder = temporaryFolder()))
  after(async () => {
    for (const reader of readers) await reader.stop()
    for (const other of others) await other.stop()
    folder.remove()
  })

  const newcomer = (name: string, env: Record<string, string>): Reader => {
    const reader = createReader(join(folder.path, name), { ...QUICK, ...env })
    readers.push(reader)
    return reader
  }
  const testnet = async (chainId: number): Promise<EmbeddedChain> => {
    const mnemonic = generateMnemonic(english)
    const at = join(folder.path, `chain-${chainId}`)
    const chain = await startAnvil({ folder: at, blockMs: 100, mnemonic, chainId })
    others.push(chain)
    return chain
  }
  const give = async (chain: EmbeddedChain, address: string, wei: bigint): Promise<void> => {
    const params = [address, `0x${wei.toString(16)}`]
    await callRpc({ url: chain.url, method: 'anvil_setBalance', params })
  }
  const received = async (url: string): Promise<bigint> =>
    BigInt(String(await callRpc({ url, method: 'eth_getBalance', params: [PAYEE, 'latest'] })))

  it('are the five that the README names, and every one has commands', () => {
    const readme = readFileSync('README.md', 'utf8')
    const guides = readdirSync('guides')
    expect(guides).to.have.length(5)
    for (const name of guides) {
      expect(readme).to.include(`(guides/${name})`)
      expect(blocksOf(readFileSync(join('guides', name), 'utf8'))).not.to.have.length(0)
    }
  })

  describe('to a first payment, and to a platform that exists', () => {
    let first: Reader

    it('settle a payment, and prove it', async () => {
      first = newcomer('first', {})
      fillDataFolder(join(first.folder, '.quittance'))
      await first.follow('guides/first-payment.md')
      expect(await received(first.ready().rpcUrl)).to.equal(ETHER / 4n)
      expect(first.json('transaction.json')).to.include({ status: 'completed' })
      expect(first.json('quittance.json')).to.have.nested.property('payment.payee', PAYEE)
    })

    it('reconcile that payment from outside', async () => {
      const { url = '', rpcUrl, groupB } = first.ready()
      const auditor = newcomer('auditor', {
        PLATFORM_URL: url,
        QUITTANCE_SOURCE_KEY: groupB?.apiKey ?? '',
        ETH_RPC_URL: rpcUrl,
      })
      await auditor.follow('guides/reconcile-a-platform.md')
      expect(auditor.json('report/report.json'))
        .to.have.property('summary')
        .that.includes({ records: 1, breaks: 0 })
      await first.stop()
    })
  })

  it('to a testnet put the contracts there, pay through them, mint and redeem', async () => {
    const chain = await testnet(11_155_111)
    const deployer = generatePrivateKey()
    await give(chain, privateKeyToAccount(deployer).address, ETHER)
    const env = { ETH_RPC_URL: chain.url, QUITTANCE_DEPLOYER_KEY: deployer }
    const reader = newcomer('testnet', env)
    fillDataFolder(join(reader.folder, '.quittance'))
    writeFileSync(join(reader.folder, 'seed.txt'), generateMnemonic(english), { mode: 0o600 })
    const faucet = async () => {
      const { groupB, signers = [] } = reader.ready()
      const addresses = [groupB?.address ?? '', ...signers.map(({ address }) => address)]
      for (const address of addresses) await give(chain, address, ETHER / 100n)
    }
    await reader.follow('guides/deploy-to-a-testnet.md', { faucet })
    expect(await received(chain.url)).to.equal(ETHER / 1000n)
    expect(reader.ready()).to.include({ chainId: 11_155_111 })
    expect(reader.json('minted.json')).to.have.nested.property('data.status', 'complete')
    expect(reader.json('redeemed.json')).to.have.nested.property('data.status', 'complete')
    await reader.stop()
  })

  it('to USDC on a testnet take it at the checkout and send it back', async () => {
    const chain = await testnet(11_155_111)
    const [deployer, customer] = [generatePrivateKey(), generatePrivateKey()]
    const payer = privateKeyToAccount(customer).address
    for (const one of [privateKeyToAccount(deployer).address, payer]) await give(chain, one, ETHER)
    await placeUsdcAt(chain, { address: USDC_ON_SEPOLIA, holder: payer, amount: 20_000_000n })
    const reader = newcomer('usdc', {
      ETH_RPC_URL: chain.url,
      QUITTANCE_DEPLOYER_KEY: deployer,
      CUSTOMER: payer,
    })
    fillDataFolder(join(reader.folder, '.quittance'))
    writeFileSync(join(reader.folder, 'seed.txt'), generateMnemonic(english), { mode: 0o600 })
    const faucet = async () => {
      for (const { address } of reader.ready().signers ?? []) {
        await give(chain, address, ETHER / 10n)
      }
    }
    const wallet = () => payByCheckout(chain, { key: customer, page: reader.text('page.html') })
    await reader.follow('guides/take-usdc.md', { faucet, wallet })
    expect(reader.ready().token).to.include({ symbol: 'USDC', profile: 'fiat_token' })
    expect(reader.json('paid.json')).to.include({ status: 'completed', received_decimal: '12.5' })
    expect(reader.json('refunded.json')).to.include({ status: 'refunded' })
    expect(await usdcOf(chain, payer)).to.equal(20_000_000n)
    await reader.stop()
  })

  if (process.env['DATABASE_URL'] !== undefined) {
    it('to production pay with the keys of a Web3Signer', async () => {
      const keys = [generatePrivateKey(), generatePrivateKey()]
      const addresses = keys.map((key) => privateKeyToAccount(key).address)
      const chain = await testnet(17_000)
      for (const address of addresses) await give(chain, address, ETHER)
      const signer = await startWeb3Signer({ keys })
      // To the program another node, which says the same.
      const second = await startFaultyProxy({ target: chain.url, random: createKeyedDraw(1) })
      others.push(signer, second)
      const reader = newcomer('live', {
        DATABASE_URL: (await emptyDatabaseUrl()) ?? '',
        ETH_RPC_URL: `${chain.url},${second.url}`,
        WEB3SIGNER_URL: signer.url,
        SIGNER_ADDRESSES: addresses.join(','),
      })
      await reader.follow('guides/go-live.md')
      await reader.stop()
      expect(await received(chain.url)).to.equal(ETHER / 1000n)
      expect(signer.asked.some(({ path }) => path.includes('/sign/'))).to.equal(true)
    })
  }
})
