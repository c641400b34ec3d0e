import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'

import { SANDBOX_MNEMONIC } from '../../src/app/chain.ts'
import { limits } from '../../src/base/limits.ts'
import type { ReadyFacts } from '../../src/base/ready.ts'
import { startAnvil, type EmbeddedChain } from '../../src/chain/embedded/anvil.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { plainProvider } from '../../src/chain/rpc/provider.ts'
import { check } from '../../src/verify/check.ts'
import { upHere, type AppHere } from '../fixtures/api/running-app.ts'
import { account, deployForFile } from '../fixtures/chain/deployment.ts'
import { runHere } from '../fixtures/commands.ts'
import { describeInChromium, keepSession, startBrowser } from '../fixtures/console/browser.ts'
import { readChain } from '../fixtures/console/chains.ts'
import { depositTransaction, L1_FEE, startOpChain } from '../fixtures/chain/rollup.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { runToEnd } from '../fixtures/program.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

type Wire = Record<string, unknown>
type Answer = { status: number; body: Wire }

/** Asks as the user of the sandbox, as Group A's account, or as the administrator. */
function asker(facts: ReadyFacts) {
  const ask = async (key: string | undefined, path: string, body?: object): Promise<Answer> => {
    const answer = await fetchInTurn(`${facts.url}${path}`, {
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
  const ending: Array<() => Promise<unknown>> = []
  const anvilFolder = join(folder.path, 'anvil')
  const startShaky = (preferredPort: number) =>
    startAnvil({
      folder: anvilFolder,
      blockMs: BLOCK_MS,
      mnemonic: SANDBOX_MNEMONIC,
      chainId: 31_338,
      preferredPort,
    })
  let shaky: EmbeddedChain
  let facts: ReadyFacts
  let ask: Asker
  let app: AppHere
  let env: Record<'QUITTANCE_DATA' | 'QUITTANCE_CHAINS', string>
  let usedAtMs = Number.NaN
  const command = (line: string) => runHere(line.split(' '), env)

  before(async () => {
    const [rollup, anvil] = await Promise.all([
      startOpChain({ chainId: 31_337, blockMs: BLOCK_MS }),
      startShaky(0),
    ])
    shaky = anvil
    ending.push(rollup.stop, () => shaky.stop())
    const [one, two] = await Promise.all([deployForFile(rollup.url), deployForFile(anvil.url)])
    const file = join(folder.path, 'chains.json')
    writeFileSync(
      file,
      JSON.stringify([
        { name: 'rollup', id: 31_337, code: 'OP', providers: [rollup.url], fees: 'op', ...one },
        { name: 'shaky', id: 31_338, code: 'MATIC', coin: 'POL', providers: [anvil.url], ...two },
      ]),
    )
    const QUITTANCE_DATA = join(folder.path, 'data')
    fillDataFolder(QUITTANCE_DATA)
    env = { QUITTANCE_DATA, QUITTANCE_CHAINS: file }
    app = await upHere(env)
    ending.unshift(() => app.stop())
    ;({ facts } = app)
    ask = asker(facts)
  })
  after(async () => {
    for (const end of ending) await end()
    folder.remove()
  })

  it('each pay, mint, take a batch and a deposit, reconcile and prove, at one time', async () => {
    const chains: Served[] = [
      { code: 'OP', ...facts.chains![0]! },
      { code: 'MATIC', ...facts.chains![1]! },
    ]
    const used = await Promise.all(chains.map((chain) => useChain(ask, facts, chain)))
    usedAtMs = Date.now()
    const [one, other] = used
    expect(one!.hash).to.not.equal(other!.hash)
    expect([one!.rollupFee, other!.rollupFee]).to.deep.equal([String(L1_FEE), '0'])
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
    const metrics = await (await fetchInTurn(`${facts.url}/metrics`)).text()
    for (const { name } of chains) expect(metrics).to.include(`open_orders{chain="${name}"} 0`)
    const books = await fetchInTurn(`${facts.url}/api/export?kind=transactions&format=csv`, {
      headers: { 'x-api-key': facts.admin!.apiKey },
    })
    expect((await books.text()).split('\n')[0]).to.match(/,chain\r?$/)
  }).timeout(120_000)

  it('are named by --chain on the command line, the first one where it is absent', async () => {
    const [rollup, shaky] = facts.chains!
    const { body } = await ask.b('/api/blockchain/transactions', payment('shaky', 0.002))
    await until(async () => (await statusOf(ask, body['transaction_id'])) === 'completed')
    const { body: paid } = await ask.b(`/api/transactions/${String(body['transaction_id'])}`)
    const hash = String(paid['eth_transaction_hash'])
    const claim = `${hash} --payee ${PAYEE} --amount 0.002`
    const verified = await command(`verify tx ${claim} --chain shaky`)
    expect(verified.code, verified.stdout + verified.stderr).to.equal(0)
    expect((await command(`verify tx ${claim}`)).code).to.equal(1)
    expect((await command(`verify tx ${claim} --chain rollup`)).code).to.equal(1)
    const wrong = await command(`verify tx ${claim} --chain shaky --rpc-url ${rollup!.rpcUrl}`)
    expect(wrong.stdout).to.include('31337')
    const file = join(folder.path, 'quittance.json')
    expect((await command(`prove ${hash} --out ${file}`)).code).to.equal(1)
    expect((await command(`prove ${hash} --chain shaky --out ${file}`)).code).to.equal(0)
    expect((await command(`check ${file} --chain shaky`)).code).to.equal(0)
    expect((await command(`check ${file} --chain rollup`)).code).to.equal(1)
    for (const [flag, on] of [
      ['', rollup],
      [' --chain shaky', shaky],
    ] as const) {
      const signers = await command(`signers --json${flag}`)
      expect(JSON.parse(signers.stdout)).to.include({ chain: on!.name, chain_id: on!.chainId })
      const run = await command(`reconcile --json${flag}`)
      const { summary } = JSON.parse(run.stdout) as { summary: Wire }
      expect(summary['chain_id']).to.equal(on!.chainId)
      // The rollup tells a fee for L1 that anvil never charges, so a balance there fits no record.
      if (on === shaky) expect(summary).to.include({ breaks: 0 })
    }
    for (const name of ['verify tx ' + claim, 'signers', 'reconcile', `prove ${hash} --out x`]) {
      const refused = await command(`${name} --chain base`)
      expect(refused.code, name).to.equal(2)
      expect(refused.stderr, name).to.include('rollup, shaky')
    }
  }).timeout(120_000)

  it('each pay a file once, and refuse its rows on another chain', async () => {
    const file = join(folder.path, 'payroll.csv')
    writeFileSync(file, `to_address,amount\n${PAYEE},0.003\n`)
    const paid = await command(`pay ${file} --chain shaky --yes`)
    expect(paid.code, paid.stdout + paid.stderr).to.equal(0)
    const { body } = await ask.b('/api/transactions?chain=shaky&limit=1')
    expect((body['transactions'] as Wire[])[0]).to.include({ amount_decimal: '0.003' })
    const again = await command(`pay ${file} --chain shaky --yes`)
    expect(again.stdout).to.include('paid before')
    for (const other of [' --chain rollup', '']) {
      const refused = await command(`pay ${file}${other} --yes`)
      expect(refused.code).to.equal(2)
      expect(refused.stderr).to.include('belongs to another payment')
    }
    const answers = facts.chains!.map(
      ({ name }) => new RegExp(`chain ${name} +1 of 1 providers answer, block \\d+.*\\w+USD at 0x`),
    )
    // A busy provider may answer one look too late.
    await until(async () => {
      const { stdout } = await command('status')
      return answers.every((answer) => answer.test(stdout))
    })
    const unknown = await command(`pay ${file} --chain base --yes`)
    expect(unknown).to.have.property('code', 2)
    expect(unknown.stderr).to.include('rollup, shaky')
  }).timeout(120_000)

  it('name an amount of native coin by the coin of its chain', async () => {
    const list = async (query: string) => {
      const { body } = await ask.b(`/api/transactions?${query}&limit=100`)
      return body['transactions'] as Wire[]
    }
    const coinsOf = (rows: readonly Wire[]) => new Set(rows.map(({ currency }) => currency))
    expect(coinsOf(await list('chain=shaky'))).to.deep.equal(new Set(['POL']))
    expect(coinsOf(await list('chain=rollup'))).to.deep.equal(new Set(['ETH']))
    const [deposit] = await list('chain=shaky&type=deposit')
    expect(deposit).to.deep.include({ currency: 'POL', amount_decimal: '0.000000000000000007' })
    const { body: detail } = await ask.b(`/api/transactions/${String(deposit!['transaction_id'])}`)
    expect(detail).to.have.nested.property('blockchain_transaction.coin', 'POL')
    const send = (currency: string) =>
      ask.b('/api/blockchain/transactions', { ...payment('shaky'), currency })
    const refused = await send('ETH')
    expect(refused.status).to.equal(400)
    expect(refused.body['error']).to.include('The coin of shaky is POL, not ETH. Send POL')
    expect((await send('POL')).body).to.include({ currency: 'POL', chain: 'shaky' })
    expect((await ask.b('/api/blockchain/balance?chain=shaky')).body).to.include({ coin: 'POL' })
    const asked = { amount: 1, currency: 'ETH', gateway_id: 2, description: 'a checkout' }
    const checkout = await ask.b('/api/payments', { ...asked, chain: 'shaky' })
    expect(checkout.body['error']).to.include('This gateway accepts USD')
    const signers = await command('signers --chain shaky')
    expect(signers.stdout)
      .to.match(/balance +[\d.]+ POL/)
      .and.not.to.include('ETH')
    const { parts } = (await (await fetchInTurn(`${facts.url}/readyz`)).json()) as {
      parts: Record<string, { message: string }>
    }
    expect(parts['signers of shaky']!.message).to.match(/has [\d.]+ POL/)
    const dry = await command(`pay ${join(folder.path, 'payroll.csv')} --chain shaky --dry-run`)
    expect(dry.stdout).to.include('at most 0 POL')
  }).timeout(60_000)

  it('are served on, under load, while the providers of one are down', async () => {
    const pay = async (chain: string) => ask.b('/api/blockchain/transactions', payment(chain))
    const isDone = async (id: unknown) => (await statusOf(ask, id)) === 'completed'
    const waiting = (await pay('shaky')).body['transaction_id']
    await shaky.stop()
    const paid: unknown[] = []
    for (let round = 0; round < 5; round += 1) {
      const made = await Promise.all(Array.from({ length: 4 }, () => pay('rollup')))
      expect(made.map(({ status }) => status)).to.deep.equal([201, 201, 201, 201])
      paid.push(...made.map(({ body }) => body['transaction_id']))
    }
    await until(async () => (await Promise.all(paid.map(isDone))).every(Boolean))
    const refused = await pay('shaky')
    expect(refused.status).to.be.within(502, 504)
    const ready = await fetchInTurn(`${facts.url}/readyz`)
    expect(ready.status).to.equal(200)
    const { parts } = (await ready.json()) as { parts: Record<string, { message?: string }> }
    expect(parts['chain shaky']!.message).to.include('cannot be used now')
    expect(parts['chain rollup']!.message).to.match(
      /^1 of 1 providers answer, block \d+, final to block \d+ \(2 confirmations\), settlement/,
    )
    const port = Number(new URL(shaky.url).port)
    shaky = await startShaky(port)
    expect(new URL(shaky.url).port).to.equal(String(port))
    await until(() => isDone(waiting))
  }).timeout(120_000)

  describeInChromium('in the console', (chromium) => {
    it('show what was paid on a rollup, whose receipt holds on its own chain', async () => {
      const { body } = await ask.b('/api/blockchain/transactions', payment('shaky'))
      const browser = await startBrowser(chromium)
      try {
        const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
        page.setDefaultTimeout(20_000)
        await keepSession(page.context(), facts.admin?.apiKey ?? '')
        // Under load a first question may fail, or be refused.
        await page.route('**/api/admin/overview', (route) => route.abort(), { times: 1 })
        const busy = { status: 503, json: { error: 'Busy. Try again.' } }
        const isOfRollup = ({ pathname, searchParams }: URL) =>
          pathname === '/api/admin/overview' && searchParams.get('chain') === 'rollup'
        await page.route(isOfRollup, (route) => route.fulfill(busy), { times: 1 })
        const other = String(body['transaction_id'])
        await readChain(page, { facts, chain: facts.chains![0]!, other })
      } finally {
        await browser.close()
      }
    }).timeout(120_000)
  })

  describe('while no server runs', () => {
    it('are each exported by themselves', async () => {
      await app.stop()
      // An export leaves what is younger to the next one.
      await sleep(Math.max(0, usedAtMs + limits.exportSettleMs - Date.now()))
      const chainsIn = async (kind: string, flag = '') => {
        const { stdout } = await command(`export --kind ${kind} --format jsonl${flag}`)
        const rows = stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Wire)
        return new Set(rows.filter(({ row }) => row === 'entry').map(({ chain }) => chain))
      }
      for (const kind of ['transactions', 'fees', 'postings']) {
        expect(await chainsIn(kind), kind).to.include.all.keys('rollup', 'shaky')
        expect(await chainsIn(kind, ' --chain shaky'), kind).to.deep.equal(new Set(['shaky']))
      }
      const { stdout } = await runToEnd('export --kind fees --format jsonl'.split(' '), env)
      const rows = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Wire)
      const accounts = rows.map(({ account, chain = '' }) => [account, chain].join(' '))
      expect(new Set(accounts)).to.deep.equal(new Set(['ETH ', 'POL ', 'ETH rollup', 'POL shaky']))
      const refused = await command('export --kind fees --chain base')
      expect(refused.stderr).to.include('rollup, shaky')
    }).timeout(60_000)
  })
})

const BLOCK_MS = 100

type Used = { paid: string; hash: string; rollupFee: unknown }
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
  // Neither the platform's address nor a user's, whose nonces it would take.
  const moved = { from: account(9).address, to: facts.groupB!.address, value: 7n }
  // What comes from L1 to a rollup is a transaction that nobody signs.
  const deposit = code === 'OP' ? depositTransaction(moved) : { ...moved, value: '0x7' }
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
  const { rollup_fee: rollupFee } = body['blockchain_transaction'] as Wire
  return { paid, hash: String(body['eth_transaction_hash']), rollupFee: String(rollupFee) }
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
  const made = await fetchInTurn(`${facts.url}/api/transactions/${paid}/receipt`, {
    method: 'POST',
    headers: { 'x-api-key': facts.groupB!.apiKey },
  })
  const receipt = (await made.json()) as Wire
  const file = await fetchInTurn(`${facts.url}${String(receipt['quittance_path'])}`)
  const { chainId, rpcUrl } = on
  const claim = { payee: PAYEE, amount: 10n ** 15n }
  const trust = { providers: [plainProvider(rpcUrl)], confirmations: 1, chainId, claim }
  const verdict = await check(await file.text(), trust)
  expect(verdict.status, JSON.stringify(verdict.disagreements)).to.equal('holds')
}
