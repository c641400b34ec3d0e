import { expect } from 'chai'

import { createPlatformClient, type PlatformClient } from '../../src/client/platform-client.ts'
import { startRunningApp, type RunningApp } from '../fixtures/api/running-app.ts'
import { expectFailure, failureOf } from '../fixtures/errors.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'

describe('the platform client at our own server', () => {
  let app: RunningApp
  let platform: PlatformClient

  before(async () => {
    app = await startRunningApp()
    const { username, password } = app.groupB
    platform = createPlatformClient({ baseUrl: app.url, username, password })
  })
  after(() => app.stop())

  const request = (amount: string) => ({ to_address: PAYEE, amount, description: 'invoice 7' })

  it('sends and reads exact amounts, by token and by key', async () => {
    const amount = '0.100000000000000001'
    const sent = await platform.blockchain.send(request(amount))
    expect(sent).to.include({ to_address: PAYEE, amount, amount_wei: '100000000000000001' })
    const { apiKey } = app.groupB
    for (const client of [platform, createPlatformClient({ baseUrl: app.url, apiKey })]) {
      const { transactions } = await client.transactions.list({ type: 'settlement' })
      const { transaction_id, eth_transaction_hash } = sent
      expect(transactions[0]).to.include({ transaction_id, eth_transaction_hash, amount })
    }
    const detail = await platform.transactions.get(sent.transaction_id)
    expect(detail.blockchain_transaction).to.include({ to_address: PAYEE, amount })
    const balance = await platform.blockchain.balance()
    expect(balance.address).to.equal(sent.from_address)
    expect(balance.balance_eth).to.match(/^\d+(\.\d+)?$/)
  })

  it('pays once for one key, and refuses the key for another payment', async () => {
    const options = { idempotencyKey: 'invoice-8' }
    const [first, second] = [
      await platform.blockchain.send(request('0.01'), options),
      await platform.blockchain.send(request('0.01'), options),
    ]
    expect(second).to.deep.equal(first)
    const other = (): Promise<unknown> => platform.blockchain.send(request('0.02'), options)
    const error = await expectFailure(other, 'idempotency_key_reused')
    expect(error).to.include({ status: 422, idempotencyKey: 'invoice-8', mayHaveHappened: false })
  })

  it('pays through each gateway, and to an institution', async () => {
    const invoice = { amount: '10.50', currency: 'USD', description: 'invoice 9' }
    for (const { gateway_id } of await platform.gateways.list()) {
      const { transaction_id } = await platform.payments.create({ ...invoice, gateway_id })
      const state = await platform.payments.status(transaction_id)
      expect(state).to.include({ transaction_id, amount: '10.5', currency: 'USD' })
    }
    const [institution] = await platform.institutions.list()
    const { transaction_id } = await platform.transfers.create({
      ...invoice,
      institution_id: institution?.institution_id ?? 0,
      recipient_info: { account_number: '987654321', routing_number: '101050001' },
    })
    const state = await platform.transfers.status(transaction_id)
    expect(state).to.include({ transaction_id, amount: '10.5', currency: 'USD' })
    const early = (): Promise<unknown> => platform.payments.refund(transaction_id)
    expect((await failureOf(early)).code).to.be.oneOf(['not_found', 'conflict', 'invalid_request'])
  })

  it('iterates over every row once by cursors, and goes on from a page that was kept', async () => {
    for (let n = 0; n < 5; n++) await platform.blockchain.send(request('0.001'))
    const ids = await idsOf(platform, { limit: 3 })
    const { total, next } = await platform.transactions.list({ limit: 3 })
    expect(new Set(ids).size).to.equal(total)
    expect(next).to.have.property('cursor')
    expect(await idsOf(platform, { limit: 3, ...next })).to.deep.equal(ids.slice(3))
  })

  it('reads events after one that it saw, and follows those to come', async () => {
    const page = await platform.events.after('', { limit: 1 })
    expect(page.events).to.have.length(1)
    const ending = new AbortController()
    const { signal } = ending
    const sent = await platform.blockchain.send(request('0.002'))
    const seen: string[] = []
    const follow = async (): Promise<void> => {
      for await (const event of platform.events.follow({
        after: page.next_after,
        pollMs: 20,
        signal,
      })) {
        if (event.transaction_id !== sent.transaction_id) continue
        seen.push(event.status)
        if (event.status === 'completed') ending.abort()
      }
    }
    await expectFailure(follow, 'aborted')
    expect(seen.at(0)).to.equal('pending')
    expect(seen.at(-1)).to.equal('completed')
  })

  it('gives the code, the status, the request and the fields of a refusal', async () => {
    const unknown = await expectFailure(() => platform.transactions.get('TX1'), 'not_found')
    expect(unknown).to.include({ status: 404, retryable: false, tries: 1 })
    expect(unknown)
      .to.have.property('requestId')
      .that.matches(/^[0-9a-f]{32}-1$/)
    const list = (): Promise<unknown> => platform.transactions.list({ start_date: '2025-02-30' })
    const refused = await expectFailure(list, 'invalid_request')
    expect(refused).to.have.nested.property('fields[0].field', 'query.start_date')
    const { username } = app.groupB
    const wrong = createPlatformClient({ baseUrl: app.url, username, password: 'wrong' })
    await expectFailure(() => wrong.transactions.list(), 'unauthorized')
  })

  it('has a call for every operation that the server tells of, and none besides', async () => {
    const { paths } = (await (await fetchInTurn(`${app.url}/openapi/group-b.json`)).json()) as {
      paths: Record<string, Record<string, unknown>>
    }
    const told = Object.entries(paths)
      .flatMap(([path, methods]) => Object.keys(methods).map((m) => `${m.toUpperCase()} ${path}`))
      .filter((operation) => !NO_CALLS.has(operation))
    const called = new Set<string>()
    const refusing: typeof fetch = async (input, init) => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      const path = pathname.replace(/SOME|4711/, '{}')
      called.add(`${init?.method ?? 'GET'} ${path}`)
      return Response.json({ success: false, error: 'x', code: 'not_found' }, { status: 404 })
    }
    const runtime = { fetch: refusing }
    const client = createPlatformClient({ baseUrl: app.url, apiKey: 'key', runtime })
    const calls = callsOf(client)
    expect(calls).to.have.length.greaterThan(40)
    for (const call of calls) await expectFailure(call, 'not_found')
    const user = { username: 'a', password: 'b', runtime }
    const signingIn = createPlatformClient({ baseUrl: app.url, ...user })
    await expectFailure(() => signingIn.transactions.list(), 'not_found')
    expect([...called].toSorted()).to.deep.equal(
      told.map((operation) => operation.replace(/\{\w+\}/, '{}')).toSorted(),
    )
  })

  it('serves administrators', async () => {
    const apiKey = app.facts.admin?.apiKey ?? ''
    const { admin } = createPlatformClient({ baseUrl: app.url, apiKey })
    expect((await admin.overview()).chain_id).to.equal(app.facts.chainId)
    expect((await admin.samples({ hours: 1 })).samples).to.be.an('array')
    expect((await admin.solvency()).findings).to.deep.equal([])
    const { run_id } = await admin.runs.start({ since: '2025-01-01T00:00:00Z' })
    expect(await admin.runs.get(run_id)).to.include({ run_id, source: 'store' })
    expect((await admin.runs.list({ limit: 100 })).runs.map((run) => run.run_id)).to.include(run_id)
    expect((await admin.breaks.list({ state: 'open' })).breaks).to.be.an('array')
    const password = 'a long enough passphrase'
    const { id } = await admin.users.create({ username: 'eve', password, scopes: ['admin'] })
    const key = await admin.keys.create({
      user_id: id,
      name: 'laptop',
      scopes: ['admin'],
      dialect: 'flat',
    })
    const hers = createPlatformClient({ baseUrl: app.url, apiKey: key.api_key })
    expect((await hers.admin.users.list()).users.map((user) => user.id)).to.include(id)
    expect((await admin.keys.revoke(key.id)).revoked_at).to.be.a('string')
    expect((await admin.users.disable(id)).disabled_at).to.be.a('string')
    expect((await admin.users.enable(id)).disabled_at).to.equal(null)
    const { transaction_id } = await platform.blockchain.send(request('0.003'))
    const { transactions } = await admin.transactions.list({ limit: 1 })
    expect(transactions[0]).to.include({ transaction_id, amount: '0.003' })
    expect((await admin.transactions.get(transaction_id)).order?.attempts).to.have.length(1)
    expect((await admin.payments.list()).payments).to.be.an('array')
    expect((await admin.wallets.list({ limit: 1 })).wallets).to.have.length(1)
    expect((await admin.postings.list({ limit: 1 })).postings).to.have.length(1)
    expect((await admin.deliveries.list()).deliveries).to.be.an('array')
  })

  it('learns from any answer that keys are honoured', async () => {
    const { headers } = await fetchInTurn(`${app.url}/api/transactions`)
    expect(headers.get('accept-idempotency-key')).to.equal('POST')
  })
})

/**
 * A stream has no end, and what it tells `events` tells as well; an export is a file; of health no
 * client asks.
 */
const NO_CALLS = new Set(['GET /api/stream', 'GET /api/export', 'GET /healthz', 'GET /readyz'])

const PAYMENT = { amount: '1', currency: 'USD', description: 'x' }
const ID = 'SOME'

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

/** What a call takes that is neither a list nor about one id. */
const ARGUMENTS: Record<string, readonly unknown[]> = {
  'payments.create': [{ ...PAYMENT, gateway_id: 1 }],
  'transfers.create': [{ ...PAYMENT, institution_id: 1 }],
  'blockchain.send': [{ to_address: PAYEE, amount: '1', description: 'x' }],
  'blockchain.batches.estimate': [{ items: [{ to_address: PAYEE, amount: '1' }] }],
  'blockchain.batch': [{ items: [{ to_address: PAYEE, amount: '1' }] }],
  'admin.runs.start': [],
  'admin.breaks.close': [ID, 'known'],
  'admin.payments.decide': [ID, { decision: 'accept', received_decimal: '1', note: 'x' }],
  'admin.users.create': [{ username: 'a', password: 'b', scopes: ['admin'] }],
  'admin.keys.create': [{ user_id: 1, name: 'x', scopes: ['admin'], dialect: 'flat' }],
}

const LISTS: ReadonlySet<string> = new Set(['list', 'pages', 'iterate', 'after', 'follow'])

/** Every call of the client. One that takes neither an id nor a request passes over the id. */
function callsOf(part: object, under = ''): Array<() => Promise<unknown>> {
  return Object.entries(part).flatMap(([name, value]: [string, unknown]) => {
    if (typeof value === 'object' && value !== null) return callsOf(value, `${under}${name}.`)
    if (typeof value !== 'function') return []
    const given = ARGUMENTS[`${under}${name}`] ?? (LISTS.has(name) ? [] : [ID])
    return [
      async () => {
        const made: unknown = Reflect.apply(value, undefined, given)
        return isGenerator(made) ? made.next() : made
      },
    ]
  })
}

function isGenerator(made: unknown): made is AsyncGenerator {
  return typeof made === 'object' && made !== null && 'next' in made
}

async function idsOf(
  platform: PlatformClient,
  query: Parameters<PlatformClient['transactions']['iterate']>[0],
): Promise<string[]> {
  const ids: string[] = []
  for await (const row of platform.transactions.iterate(query)) ids.push(row.transaction_id)
  return ids
}
