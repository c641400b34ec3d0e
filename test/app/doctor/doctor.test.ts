import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'

import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { startAnvil, type EmbeddedChain } from '../../../src/chain/embedded/anvil.ts'
import { examine } from '../../../src/app/doctor/doctor.ts'
import type { DoctorFinding } from '../../../src/app/doctor/finding.ts'
import { callRpc } from '../../../src/chain/rpc/rpc.ts'
import { openDatabase } from '../../../src/store/database/database.ts'
import { claimInstallation } from '../../../src/store/database/installation.ts'
import { migrate } from '../../../src/store/database/migrate.ts'
import { startWeb3Signer } from '../../fixtures/chain/web3signer.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { emptyDatabaseUrl } from '../../fixtures/store/database.ts'

const MNEMONIC = 'test test test test test test test test test test test junk'

describe('the doctor', () => {
  const folder = temporaryFolder()
  const chains: EmbeddedChain[] = []

  before(async () => {
    for (const chainId of [31_337, 17_000]) {
      const at = `${folder.path}/chain-${chainId}`
      chains.push(await startAnvil({ folder: at, blockMs: 100, mnemonic: MNEMONIC, chainId }))
    }
  })
  after(async () => {
    for (const chain of chains) await chain.stop()
    folder.remove()
  })

  const look = (env: Record<string, string>, webhookUrl?: string): Promise<DoctorFinding[]> => {
    const full = { QUITTANCE_DATA: `${folder.path}/data`, ...env }
    return examine({ env: full, webhookUrl, signal: AbortSignal.timeout(20_000) })
  }
  const bad = (findings: readonly DoctorFinding[], part?: string): string[] =>
    findings
      .filter((one) => one.status === 'problem' && (part === undefined || one.part === part))
      .map(({ message }) => message)
  const urlOf = (chainId: number): string =>
    chains.find((chain) => chain.chainId === chainId)?.url ?? ''

  it('finds no problem in a sandbox that nothing is set for', async () => {
    const findings = await look({})
    expect(bad(findings)).to.deep.equal([])
    expect(findings.some((finding) => 'chain' in finding)).to.equal(false)
    expect(findings.find(({ part }) => part === 'webhooks')?.status).to.equal('skipped')
  })

  it('names every bad setting, and goes no further', async () => {
    const findings = await look({ PORT: 'x', QUITTANCE_SINGER: 'seed:a' })
    expect(findings.map(({ part, status }) => `${part} ${status}`)).to.deep.equal([
      'configuration problem',
      'configuration problem',
    ])
  })

  it('wants more of production than of a sandbox', async () => {
    const findings = await look({
      QUITTANCE_ENVIRONMENT: 'production',
      ETH_RPC_URL: urlOf(31_337),
    })
    expect(bad(findings, 'configuration').join(' '))
      .to.include('DATABASE_URL')
      .and.to.include('two providers')
    expect(bad(findings, 'signers')).to.deep.equal(['QUITTANCE_SIGNER is not set'])
  })

  it('says that a provider does not answer, and that two serve different chains', async () => {
    const silent = await look({ ETH_RPC_URL: `${urlOf(31_337)},http://127.0.0.1:1` })
    expect(bad(silent, 'chain')).to.have.length(1)
    expect(bad(silent, 'chain')[0]).to.include('127.0.0.1:1 does not answer')
    const apart = await look({ ETH_RPC_URL: `${urlOf(31_337)},${urlOf(17_000)}` })
    expect(bad(apart, 'chain')[0]).to.include('different chains')
  })

  it('names the one provider that serves another chain than the others', async () => {
    const url = urlOf(31_337)
    const twice = `${url},${url.replace('127.0.0.1', 'localhost')}`
    const findings = await look({ ETH_RPC_URL: `${twice},${urlOf(17_000)}` })
    expect(bad(findings, 'chain')).to.have.length(1)
    expect(bad(findings, 'chain')[0]).to.include('serves chain 17000')
  })

  it('looks at each chain of a file by itself', async () => {
    const file = join(folder.path, 'chains.json')
    const write = (chains: object[]): void => writeFileSync(file, JSON.stringify(chains))
    const one = { name: 'one', id: 31_337, providers: [urlOf(31_337)] }
    const two = { name: 'two', id: 17_000, providers: [urlOf(17_000)], finality: 1 }
    write([one, two])
    const findings = await look({ QUITTANCE_CHAINS: file, QUITTANCE_SIGNER: `seed:${MNEMONIC}` })
    for (const part of ['chain', 'contracts', 'signers', 'clock']) {
      const of = findings.filter((finding) => finding.part === part)
      expect(new Set(of.map(({ chain }) => chain)), part).to.deep.equal(new Set(['one', 'two']))
    }
    const said = findings.filter(({ chain }) => chain === 'two').map(({ message }) => message)
    expect(said.join('\n')).to.match(/block \d+ is final \(1 confirmations\)/)
    // What everybody knows is for the chain of a sandbox alone.
    const known = findings.filter(({ message }) => message.includes('everyone can sign'))
    expect(known.map(({ chain }) => chain)).to.deep.equal(['two'])
    write([one, { ...two, id: 17_001 }])
    const wrong = await look({ QUITTANCE_CHAINS: file })
    expect(bad(wrong, 'chain')).to.have.length(1)
    expect(bad(wrong, 'chain')[0]).to.include('serves chain 17000, and two is chain 17001')
    write([one, { ...two, providers: ['http://127.0.0.1:1'] }])
    const away = await look({ QUITTANCE_CHAINS: file })
    expect(away.find(({ status }) => status === 'problem')).to.include({ chain: 'two' })
    expect(away.some(({ chain, part }) => chain === 'one' && part === 'contracts')).to.equal(true)
  })

  it('warns of a provider that lags', async () => {
    await callRpc({ url: urlOf(31_337), method: 'anvil_mine', params: ['0x20'] })
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const { id, method } = (await json(request)) as { id: number; method: string }
      const block = { number: '0x1', timestamp: '0x1' }
      const result = method === 'eth_chainId' ? '0x7a69' : block
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    }
    const lagging = createHttpServer((request, response) => void answer(request, response))
    await new Promise<void>((done) => lagging.listen(0, '127.0.0.1', done))
    const { port } = lagging.address() as { port: number }
    const findings = await look({ ETH_RPC_URL: `${urlOf(31_337)},http://127.0.0.1:${port}` })
    lagging.close()
    const warnings = findings.filter(({ part, status }) => part === 'chain' && status === 'warning')
    expect(warnings.map(({ message }) => message).join()).to.match(/:\d+ is \d+ blocks behind/)
  })

  it('says that a contract is not where the settings say', async () => {
    const findings = await look({
      ETH_RPC_URL: urlOf(31_337),
      SETTLEMENT_ADDRESS: '0x00000000000000000000000000000000000000AA',
    })
    expect(bad(findings, 'contracts')[0]).to.include('no contract')
  })

  it('has a remote signer sign, and looks at what its address has', async () => {
    const key = generatePrivateKey()
    const { address } = privateKeyToAccount(key)
    const signer = await startWeb3Signer({ keys: [key] })
    const env = {
      ETH_RPC_URL: urlOf(17_000),
      QUITTANCE_SIGNER: `web3signer:${signer.url}#${address}`,
    }
    expect(bad(await look(env), 'signers')).to.deep.equal([
      `${address} has 0 ETH, so it cannot pay gas`,
    ])
    expect(signer.asked.some(({ path }) => path.includes('/sign/'))).to.equal(true)
    await callRpc({
      url: urlOf(17_000),
      method: 'anvil_setBalance',
      params: [address, '0xde0b6b3a7640000'],
    })
    expect(bad(await look(env), 'signers')).to.deep.equal([])
    await signer.stop()
    expect(bad(await look(env), 'signers')).to.have.length(1)
  })

  it('refuses a seed that everyone knows on a chain of others', async () => {
    const findings = await look({
      ETH_RPC_URL: urlOf(17_000),
      QUITTANCE_SIGNER: `seed:${MNEMONIC}`,
    })
    expect(bad(findings, 'signers').join()).to.include('everyone can sign with it')
  })

  it('says that the clock is behind the chain', async () => {
    const url = urlOf(17_000)
    const later = Math.floor(Date.now() / 1000) + 3600
    await callRpc({ url, method: 'evm_setNextBlockTimestamp', params: [later] })
    await callRpc({ url, method: 'evm_mine' })
    const findings = await look({ ETH_RPC_URL: url })
    expect(bad(findings, 'clock')[0]).to.match(/clock of this machine is 3\d\d\d s behind/)
  })

  it('connects to a receiver of webhooks, and says when it cannot', async () => {
    const receiver = createServer().listen(0, '127.0.0.1')
    await new Promise((done) => receiver.once('listening', done))
    const { port } = receiver.address() as { port: number }
    const ways = (findings: DoctorFinding[]) =>
      findings.find(({ part }) => part === 'webhooks')?.status
    expect(ways(await look({}, `http://127.0.0.1:${port}/hook`))).to.equal('ok')
    receiver.close()
    expect(ways(await look({}, `http://127.0.0.1:${port}/hook`))).to.equal('problem')
    expect(ways(await look({}, 'http://10.0.0.1/hook'))).to.equal('problem')
  })

  if (process.env['DATABASE_URL'] !== undefined) {
    it('asks a database server for its schema', async () => {
      const url = (await emptyDatabaseUrl()) ?? ''
      const findings = await look({ DATABASE_URL: url, ETH_RPC_URL: urlOf(31_337) })
      expect(bad(findings, 'database')).to.have.length(1)
      expect(bad(findings, 'database')[0]).to.include('migrations are pending')
    })

    it('says that a database belongs to another chain, or another environment', async () => {
      const url = (await emptyDatabaseUrl()) ?? ''
      const database = await openDatabase({ url, connections: 1 })
      await migrate(database.db)
      await claimInstallation(database.db, { environment: 'sandbox', chainId: 17_000 })
      await database.close()
      const env = { DATABASE_URL: url, ETH_RPC_URL: urlOf(31_337) }
      expect(bad(await look(env), 'database').join()).to.include('belongs to chain 17000')
      const production = await look({ ...env, QUITTANCE_ENVIRONMENT: 'production' })
      expect(bad(production, 'database').join()).to.include('belongs to sandbox')
      expect(bad(await look({ ...env, ETH_RPC_URL: urlOf(17_000) }), 'database')).to.deep.equal([])
    })

    it('says that a database server does not answer', async () => {
      const findings = await look({ DATABASE_URL: 'postgres://a:b@127.0.0.1:1/c' })
      expect(bad(findings, 'database')).to.have.length(1)
    })
  }
})
