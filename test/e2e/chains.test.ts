import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { startAnvil, type EmbeddedChain } from '../../src/chain/embedded/anvil.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { plainProvider } from '../../src/chain/rpc/provider.ts'
import { check } from '../../src/verify/check.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { runProgram, type Program } from '../fixtures/program.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

type Wire = Record<string, unknown>
type Answer = { status: number; body: Wire }

/** Asks as the user of the sandbox, as Group A's account, or as the administrator. */
function asker(facts: ReadyFacts) {
  const ask = async (key: string | undefined, path: string, body?: object): Promise<Answer> => {
    const answer = await fetch(`${facts.url}${path}`, {
      method: body ? 'POST' : 'GET',
      headers: {
        ...(path.startsWith('/v1/')
          ? { authorization: `Bearer ${key}` }
          : { 'x-api-key': String(key) }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Wire }
  }
  return {
    b: (path: string, body?: object) => ask(facts.groupB?.apiKey, path, body),
    a: (path: string, body?: object) => ask(facts.groupA?.apiKey, path, body),
    admin: (path: string, body?: object) => ask(facts.admin?.apiKey, path, body),
  }
}

type Asker = ReturnType<typeof asker>

function payment(chain: string, amount = 0.001): object {
  return { chain, to_address: PAYEE, amount, description: `on ${chain}` }
}

async function statusOf({ b }: Asker, id: unknown): Promise<unknown> {
  return (await b(`/api/transactions/${String(id)}`)).body['status']
}

describe('several chains in one installation', () => {
  const folder = temporaryFolder()
  const programs: Program[] = []
  afterEach(async () => {
    for (const program of programs.splice(0)) {
      program.kill('SIGTERM')
      await program.ended
    }
  })
  after(() => folder.remove())

  const up = async (args: readonly string[], env: Record<string, string> = {}) => {
    const QUITTANCE_DATA = join(folder.path, `data ${args.length}`)
    fillDataFolder(QUITTANCE_DATA)
    const program = runProgram(['up', ...args], { QUITTANCE_DATA, PORT: '0', ...env })
    programs.push(program)
    return program.untilReady()
  }

  it('each pay, mint, take a batch and a deposit, reconcile and prove, at one time', async () => {
    const facts = await up(['--chains', '2'], { QUITTANCE_BLOCK_MS: '100' })
    const ask = asker(facts)
    const chains = [
      { code: 'ETH', ...facts.chains![0]! },
      { code: 'LOCAL2', ...facts.chains![1]! },
    ]
    expect(chains.map(({ chainId }) => chainId)).to.deep.equal([31_337, 31_338])
    const used = await Promise.all(chains.map((chain) => useChain(ask, facts, chain)))
    const [one, other] = used
    expect(one!.hash).to.not.equal(other!.hash)
    for (const [place, { name }] of chains.entries()) {
      const { body } = await ask.b(`/api/transactions?chain=${name}&limit=100`)
      const listed = body['transactions'] as Wire[]
      expect(new Set(listed.map(({ chain }) => chain))).to.deep.equal(new Set([name]))
      const ids = listed.map(({ transaction_id: id }) => id)
      expect(ids)
        .to.include(used[place]!.paid)
        .and.not.to.include(used[1 - place]!.paid)
    }
    const { body } = await ask.b('/api/transactions?chain=base')
    expect(body['details']).to.have.nested.property('[0].code', 'chain_unknown')
    const metrics = await (await fetch(`${facts.url}/metrics`)).text()
    for (const { name } of chains) expect(metrics).to.include(`open_orders{chain="${name}"} 0`)
    const books = await fetch(`${facts.url}/api/export?kind=transactions&format=csv`, {
      headers: { 'x-api-key': facts.admin!.apiKey },
    })
    expect((await books.text()).split('\n')[0]).to.match(/,chain\r?$/)
  }).timeout(120_000)

  it('are served on, under load, while the providers of one are down', async () => {
    const anvil = (at: number) =>
      startAnvil({
        folder: join(folder.path, `anvil ${at}`),
        blockMs: 100,
        mnemonic: 'test test test test test test test test test test test junk',
        chainId: 31_337 + at,
        preferredPort: 0,
      })
    const [steady, first] = await Promise.all([anvil(0), anvil(1)])
    const port = Number(new URL(first.url).port)
    const file = join(folder.path, 'chains.json')
    const write = ([one, two]: readonly EmbeddedChain[]) =>
      writeFileSync(
        file,
        JSON.stringify([
          { name: 'steady', id: 31_337, providers: [one!.url], finality: 2 },
          { name: 'shaky', id: 31_338, providers: [two!.url], finality: 2 },
        ]),
      )
    write([steady, first])
    const facts = await up([], { QUITTANCE_CHAINS: file })
    const ask = asker(facts)
    const pay = async (chain: string) => ask.b('/api/blockchain/transactions', payment(chain))
    const isDone = async (id: unknown) => (await statusOf(ask, id)) === 'completed'
    const before = (await pay('shaky')).body['transaction_id']
    await until(() => isDone(before))
    const waiting = (await pay('shaky')).body['transaction_id']
    await first.stop()
    const paid: unknown[] = []
    for (let round = 0; round < 5; round += 1) {
      const made = await Promise.all(Array.from({ length: 4 }, () => pay('steady')))
      expect(made.map(({ status }) => status)).to.deep.equal([201, 201, 201, 201])
      paid.push(...made.map(({ body }) => body['transaction_id']))
    }
    await until(async () => (await Promise.all(paid.map(isDone))).every(Boolean))
    const refused = await pay('shaky')
    expect(refused.status).to.be.within(502, 504)
    const ready = await fetch(`${facts.url}/readyz`)
    expect(ready.status).to.equal(200)
    const { parts } = (await ready.json()) as { parts: Record<string, { message?: string }> }
    expect(parts['chain shaky']!.message).to.include('cannot be used now')
    expect(parts['chain steady']!.message).to.equal(undefined)
    const back = await startAnvil({
      folder: join(folder.path, 'anvil 1'),
      blockMs: 100,
      mnemonic: 'test test test test test test test test test test test junk',
      chainId: 31_338,
      preferredPort: port,
    })
    expect(new URL(back.url).port).to.equal(String(port))
    await until(() => isDone(waiting))
    await Promise.all([steady.stop(), back.stop()])
  }).timeout(120_000)
})

type Used = { paid: string; hash: string }
type Served = { name: string; code: string; chainId: number; rpcUrl: string }

/** All that the installation does on one chain. */
async function useChain(ask: Asker, facts: ReadyFacts, on: Served): Promise<Used> {
  const { name, code } = on
  const sent = await ask.b('/api/blockchain/transactions', { ...payment(name), use_contract: true })
  expect(sent, name).to.have.nested.property('body.chain', name)
  const destination = { type: 'blockchain', chain: code, address: PAYEE }
  const minted = await ask.a('/v1/businessAccount/transfers', { amount: '5.00', destination })
  expect(minted, JSON.stringify(minted.body)).to.have.property('status', 201)
  const items = [1, 2, 3].map((one) => ({ to_address: PAYEE, amount: one / 1000 }))
  const batch = await ask.b('/api/blockchain/batches', { chain: name, items })
  expect(batch, JSON.stringify(batch.body)).to.have.nested.property('body.chain', name)
  const rpc = (method: string, params: unknown[] = []) =>
    callRpc({ url: on.rpcUrl, method, params })
  const [from] = (await rpc('eth_accounts')) as string[]
  const deposit = { from, to: facts.groupB!.address, value: '0x7' }
  const arrived = String(await rpc('eth_sendTransaction', [deposit]))
  const paid = String(sent.body['transaction_id'])
  const mint = String((minted.body['data'] as Wire)['id'])
  await until(async () => (await statusOf(ask, paid)) === 'completed')
  await until(async () => {
    const { body } = await ask.a(`/v1/businessAccount/transfers/${mint}`)
    return (body['data'] as Wire)['status'] === 'complete'
  })
  await until(async () => {
    const { body } = await ask.b(`/api/blockchain/batches/${String(batch.body['batch_id'])}`)
    return body['status'] === 'completed'
  })
  await until(async () => {
    const { body } = await ask.b(`/api/transactions?type=deposit&chain=${name}`)
    const [one] = body['transactions'] as Wire[]
    return one?.['eth_transaction_hash'] === arrived
  })
  await solvent(ask, name)
  await reconciled(ask, name)
  await proven(ask, facts, { paid, on })
  const { body } = await ask.b(`/api/transactions/${paid}`)
  return { paid, hash: String(body['eth_transaction_hash']) }
}

async function solvent(ask: Asker, chain: string): Promise<void> {
  await until(async () => {
    const { body } = await ask.admin(`/api/solvency?chain=${chain}`)
    return body['supply'] === '5.00' && body['liability'] === '5.00' && body['holds'] === true
  })
}

async function reconciled(ask: Asker, chain: string): Promise<void> {
  const { body } = await ask.admin('/api/runs', { chain })
  const id = String((body['run'] as Wire)['run_id'])
  const read = async () => (await ask.admin(`/api/runs/${id}`)).body['run'] as Wire
  await until(async () => (await read())['ended_at'] !== null)
  const run = await read()
  expect(run).to.include({ chain, state: 'completed', breaks: 0 })
  // The payment, three of the batch, and the deposit.
  expect(run['matched']).to.be.at.least(5)
}

async function proven(
  ask: Asker,
  facts: ReadyFacts,
  { paid, on }: { paid: string; on: Served },
): Promise<void> {
  const made = await fetch(`${facts.url}/api/transactions/${paid}/receipt`, {
    method: 'POST',
    headers: { 'x-api-key': facts.groupB!.apiKey },
  })
  const receipt = (await made.json()) as Wire
  const file = await fetch(`${facts.url}${String(receipt['quittance_path'])}`)
  const { chainId, rpcUrl } = on
  const claim = { payee: PAYEE, amount: 10n ** 15n }
  const trust = { providers: [plainProvider(rpcUrl)], confirmations: 1, chainId, claim }
  const verdict = await check(await file.text(), trust)
  expect(verdict.status, JSON.stringify(verdict.disagreements)).to.equal('holds')
}
