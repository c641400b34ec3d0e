import { join } from 'node:path'

import { expect } from 'chai'

import { plainProvider } from '../../src/chain/rpc/provider.ts'
import { check } from '../../src/verify/check.ts'
import { addressFrom } from '../engines/sim/world.ts'
import { startReceiver, type Receiver } from '../fixtures/api/receiver.ts'
import { startRunningApp, type RunningApp } from '../fixtures/api/running-app.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { runToEnd } from '../fixtures/program.ts'
import { until } from '../fixtures/until.ts'

const PAYEE = addressFrom('whom a wallet pays')
const UNITS = 12_340_000n

type Json = Record<string, unknown>

describe('a withdrawal of the running program', () => {
  const folder = temporaryFolder()
  let app: RunningApp
  let receiver: Receiver
  let id: string
  let hash: string
  let streamed = ''
  const watching = new AbortController()

  const send = (path: string, { key = app.groupB.apiKey, body }: Asking = {}) =>
    fetchInTurn(`${app.url}${path}`, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
  const ask = async (path: string, asking?: Asking) => {
    const answer = await send(path, asking)
    expect(answer.ok, `${path} answered ${answer.status}`).to.equal(true)
    return (await answer.json()) as Json
  }

  before(async function () {
    this.timeout(90_000)
    app = await startRunningApp()
    receiver = await startReceiver()
    const stream = await fetchInTurn(`${app.url}/api/stream`, {
      headers: { 'x-api-key': app.groupB.apiKey, accept: 'text/event-stream' },
      signal: watching.signal,
    })
    void (async () => {
      for await (const chunk of stream.body!) streamed += Buffer.from(chunk).toString()
    })().catch(() => undefined)
    const { apiKey: key } = app.groupA
    await ask('/v1/notifications/subscriptions', {
      key,
      body: {
        url: receiver.url,
        subscriptionDetails: ['transfers', 'transactions'].map((notificationType) => {
          return { url: receiver.url, notificationType }
        }),
      },
    })
    await until(async () => receiver.received.length > 0)
    const { data: wallets } = (await ask('/v1/wallets', { key })) as { data: Json[] }
    await ask('/v1/transfers', {
      key,
      body: {
        source: { type: 'wallet', id: wallets[0]!['walletId'] },
        destination: { type: 'blockchain', address: PAYEE, chain: 'ETH' },
        amount: '12.34',
      },
    })
    const listed = async () => {
      const { transactions } = await ask('/api/transactions?type=withdrawal')
      return (transactions as Json[])[0]!
    }
    await until(async () => (await listed())['status'] === 'completed')
    id = String((await listed())['transaction_id'])
    hash = String((await listed())['eth_transaction_hash'])
  })
  after(async () => {
    watching.abort()
    await receiver.close()
    await app.stop()
    folder.remove()
  })

  it('is told by events, and on the stream', async () => {
    const { events } = await ask('/api/events?limit=500')
    const told = (events as Json[]).filter(({ transaction_id: of }) => of === id)
    expect(told.map(({ type }) => type)).to.deep.equal([
      'transaction.created',
      'transaction.processing',
      'transaction.completed',
    ])
    expect(told.at(-1)).to.include({ status: 'completed', eth_transaction_hash: hash })
    await until(async () => streamed.includes(id) && streamed.includes('transaction.completed'))
  })

  it('is told by one webhook for both groups, in the form of each', async () => {
    // One that was answered too late comes again, with the same body.
    const told = () => {
      const bodies = new Set(receiver.received.map(({ body }) => body))
      return [...bodies].map((body) => JSON.parse(body) as Json)
    }
    const ofA = () => told().filter(({ notificationType: type }) => type === 'transfers')
    const ofB = () => told().filter(({ notificationType: type }) => type === 'transactions')
    await until(async () => ofA().length === 3 && ofB().length === 3)
    const states = ofA().map(({ transfer }) => (transfer as Json)['status'])
    expect(states).to.have.members(['complete', 'pending', 'running'])
    const complete = ofA().map(({ transfer }) => transfer as Json)
    const hashes = complete.map(({ transactionHash }) => transactionHash)
    expect(new Set(hashes)).to.deep.equal(new Set([hash]))
    expect(JSON.stringify(ofB())).to.contain(id).and.contain(hash)
  })

  it('is proven by a quittance, of its receipt and of the command line', async () => {
    const claim = { payee: PAYEE, amount: UNITS, token: app.facts.stablecoin! }
    const trust = { providers: [plainProvider(app.facts.rpcUrl)], confirmations: 1, claim }
    const path = `/api/transactions/${id}/receipt`
    // The supply may show it before the sender knows that its transaction is final.
    await until(async () => (await send(path, { body: {} })).status !== 409)
    const { quittance_path: from } = await ask(path, { body: {} })
    const quittance = await (await fetchInTurn(`${app.url}${String(from)}`)).text()
    expect((await check(quittance, trust)).status).to.equal('holds')
    const out = join(folder.path, 'withdrawal.json')
    const env = { ETH_RPC_URL: app.facts.rpcUrl, QUITTANCE_CONFIRMATIONS: '1' }
    const made = await runToEnd(['prove', hash, '--out', out, '--fact', `payee=${PAYEE}`], env)
    expect(made.code, made.stderr).to.equal(0)
    const owed = ['--payee', PAYEE, '--token', claim.token, '--amount', '12.34']
    expect(await runToEnd(['check', out, ...owed], env)).to.include({ code: 0 })
  })

  it('is matched by a reconciliation run over our own records', async () => {
    const { apiKey: key } = app.facts.admin!
    const { run } = (await ask('/api/runs', { key, body: {} })) as { run: Json }
    const read = async () => (await ask(`/api/runs/${String(run['run_id'])}`, { key }))['run']
    await until(async () => ((await read()) as Json)['state'] === 'completed')
    expect(await read()).to.include({ records: 1, matched: 1 })
    const { breaks } = await ask('/api/breaks?state=open', { key })
    expect(breaks).to.deep.equal([])
  })
})

type Asking = { key?: string; body?: object }
