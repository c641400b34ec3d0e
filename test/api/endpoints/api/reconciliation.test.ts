import { expect } from 'chai'

import { createIdempotently } from '../../../../src/api/admission/idempotently.ts'
import { breakEndpoints } from '../../../../src/api/endpoints/api/breaks.ts'
import { runEndpoints } from '../../../../src/api/endpoints/api/runs.ts'
import type { Db } from '../../../../src/store/database/database.ts'
import { leaseRun } from '../../../../src/store/reconciliation/runs.ts'
import { CHAIN_ID } from '../../../engines/sim/world.ts'
import { makeUser } from '../../../fixtures/api/access.ts'
import { startApi, type Api } from '../../../fixtures/api/api.ts'
import { makeBreak, makeRun, reconciliationGround } from '../../../fixtures/books/runs.ts'
import { createTestClock } from '../../../fixtures/clock.ts'
import { freshDatabase } from '../../../fixtures/store/database.ts'
import { oneChain } from '../../../fixtures/api/chains.ts'

describe('the operations of reconciliation', () => {
  let db: Db
  let api: Api
  let kicks: number
  const clock = createTestClock()

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    for (let id = 1; id <= 7; id++) await makeUser(db)
    kicks = 0
    const kickRuns = () => void (kicks += 1)
    const ground = { chains: oneChain(reconciliationGround(clock)), clock, kickRuns }
    const hooks = { db, idempotently: createIdempotently({ db }) }
    api = await startApi({ endpoints: [...runEndpoints(ground), ...breakEndpoints(ground)], hooks })
  })
  afterEach(() => api.close())

  const get = async (url: string) => api.send({ url })
  const post = async (url: string, body?: unknown) =>
    api.send({ method: 'POST', url, ...(body === undefined ? {} : { body }) })
  const idsOf = (list: unknown, name: string) =>
    (list as Record<string, unknown>[]).map((one) => one[name])

  it('start a run, and tell how far it has come', async () => {
    const { status, body } = await post('/api/runs', { since: '2025-01-01T00:00:00Z' })
    expect({ status, kicks }).to.deep.equal({ status: 201, kicks: 1 })
    const { run_id: id } = body['run'] as { run_id: string }
    expect(body['run']).to.include({ state: 'queued', requested_by: 'user:7', records: 0 })
    const now = new Date()
    await leaseRun(db, { chainId: CHAIN_ID, source: 'store', now, until: now })
    const read = await get(`/api/runs/${id}`)
    expect(read.body['run']).to.include({ run_id: id, state: 'running', phase: 'sweep' })
    expect(read.body['run']).to.include({ since: '2025-01-01T00:00:00.000Z', until: null })
  })

  it('list runs page by page, the newest first', async () => {
    const made = []
    for (let index = 0; index < 3; index++) made.unshift((await makeRun(db)).runId)
    const first = await get('/api/runs?limit=2')
    expect(idsOf(first.body['runs'], 'run_id')).to.deep.equal(made.slice(0, 2))
    const next = await get(`/api/runs?limit=2&cursor=${String(first.body['next_cursor'])}`)
    expect(idsOf(next.body['runs'], 'run_id')).to.deep.equal(made.slice(2))
    expect(next.body['next_cursor']).to.equal(null)
  })

  it('say what a break is about, in which currency, and list by it', async () => {
    const [recorded, onChain] = [{}, {}]
    const shapes = [
      [{ recorded: { amount: '5', currency: 'USD' } }, '5', 'USD'],
      [{ recorded, onChain: { amount: '0.5' } }, '0.5', 'ETH'],
      [{ recorded, onChain: { amount: '7', token: `0x${'7'.repeat(40)}` } }, '7', null],
      [{ recorded: { amount: '8' }, onChain: { amount: '9' } }, '8', null],
      [
        {
          recorded: { moved: '100' },
          onChain: { moved: '98', currency: 'USD' },
          evidence: { unexplained: '-2' },
        },
        '2',
        'USD',
      ],
      [{ recorded: { currency: 'USD' }, onChain, evidence: { drift: '30.00' } }, '30.00', 'USD'],
      [{ recorded, onChain }, null, null],
      [{ recorded: { amount: 'a lot' }, onChain: { amount: '1' } }, null, null],
    ] as const
    for (const [facts] of shapes) await makeBreak(db, facts)
    const stated = async (query = '') => {
      const { body } = await get(`/api/breaks?limit=50${query}`)
      const breaks = body['breaks'] as Record<string, unknown>[]
      return breaks.map((one) => [one['at_risk_decimal'], one['at_risk_currency']]).toReversed()
    }
    const all = shapes.map(([, amount, currency]) => [amount, currency])
    expect(await stated()).to.deep.equal(all)
    const large = all.filter(([amount]) => Number(amount) >= 2)
    expect(await stated('&min_amount=2')).to.deep.equal(large)
  })

  it('list breaks by kind, state, age and transaction', async () => {
    const missing = await makeBreak(db)
    const lag = await makeBreak(db, { kind: 'state_lag' })
    const listed = async (query: string) => {
      const { status, body } = await get(`/api/breaks?${query}`)
      expect(status).to.equal(200)
      expect(body['total']).to.equal((body['breaks'] as unknown[]).length)
      return idsOf(body['breaks'], 'id')
    }
    expect(await listed('')).to.deep.equal([lag, missing])
    expect(await listed('kind=missing')).to.deep.equal([missing])
    expect(await listed('state=closed')).to.deep.equal([])
    expect(await listed('state=open&age=under_1h')).to.have.length(2)
    clock.advance(2 * 86_400_000)
    expect(await listed('age=under_1h')).to.have.length(0)
    expect(await listed('age=under_7d')).to.have.length(2)
    expect(await listed('transaction_id=TXnone')).to.deep.equal([])
    const [first] = (await get('/api/breaks?limit=1')).body['breaks'] as { id: string }[]
    const { body } = await get('/api/breaks?limit=1')
    const rest = await get(`/api/breaks?limit=1&cursor=${String(body['next_cursor'])}`)
    expect([first?.id, ...idsOf(rest.body['breaks'], 'id')]).to.deep.equal([lag, missing])
  })

  it('close a break once, with a note that its history shows', async () => {
    const id = await makeBreak(db)
    const closed = await post(`/api/breaks/${id}/close`, { note: 'paid back by hand' })
    expect(closed.status).to.equal(200)
    expect(closed.body['break']).to.include({ state: 'closed', closed_as: 'operator' })
    expect((await post(`/api/breaks/${id}/close`, { note: 'again' })).status).to.equal(409)
    const { body } = await get(`/api/breaks/${id}`)
    const [opened, last] = body['history'] as Record<string, unknown>[]
    expect(opened).to.include({ action: 'opened', note: null })
    expect(last).to.include({ action: 'closed', actor: 'user:7', note: 'paid back by hand' })
  })

  it('look at a break again', async () => {
    const { status, body } = await post(`/api/breaks/${await makeBreak(db)}/verify`)
    expect(status).to.equal(200)
    expect(body['result']).to.equal('stands')
  })

  it('refuse what they do not know', async () => {
    const ghost = `BRK${'0'.repeat(24)}`
    const id = await makeBreak(db)
    for (const [method, url, body, status] of [
      ['GET', `/api/breaks/${ghost}`, undefined, 404],
      ['POST', `/api/breaks/${ghost}/close`, { note: 'x' }, 404],
      ['POST', `/api/breaks/${ghost}/verify`, undefined, 404],
      ['GET', `/api/runs/RUN${'0'.repeat(24)}`, undefined, 404],
      ['GET', '/api/breaks/none', undefined, 404],
      ['GET', '/api/breaks?kind=lost', undefined, 400],
      ['GET', '/api/breaks?cursor=-1', undefined, 400],
      ['POST', `/api/breaks/${id}/close`, { note: '' }, 400],
      ['POST', `/api/breaks/${id}/close`, { note: 'x'.repeat(1001) }, 400],
      ['POST', '/api/runs', { since: 'yesterday' }, 400],
      ['POST', '/api/runs', { since: '2025-01-02T00:00:00Z', until: '2025-01-01T00:00:00Z' }, 400],
    ] as const) {
      const answer = await api.send({ method, url, ...(body === undefined ? {} : { body }) })
      expect(answer.status, `${method} ${url}`).to.equal(status)
    }
  })
})
