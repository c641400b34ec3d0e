import { expect } from 'chai'

import { ApiError } from '../../src/client/errors.ts'
import { createPlatformClient, type PlatformClient } from '../../src/client/platform-client.ts'
import type { PostOptions } from '../../src/client/transport.ts'
import {
  bareRow,
  faults,
  startBarePlatform,
  type BarePlatform,
} from '../fixtures/api/bare-platform.ts'
import { failureOf as expectAnyFailure } from '../fixtures/errors.ts'

describe('the platform client at a server that fails', () => {
  let bare: BarePlatform
  /** The pauses that the client took; each passes at once. */
  const pauses: number[] = []

  beforeEach(async () => {
    bare = await startBarePlatform()
    bare.rows.push(bareRow(1))
    pauses.length = 0
  })
  afterEach(() => bare.stop())

  const connect = (
    options: Partial<Parameters<typeof createPlatformClient>[0]> = {},
  ): PlatformClient =>
    createPlatformClient({
      baseUrl: bare.url,
      apiKey: 'k',
      runtime: {
        random: () => 0.5,
        after: (ms, done) => {
          // Deadlines keep real time, and are longer than any pause.
          if (ms < DEADLINE_MS) pauses.push(ms)
          const timer = setTimeout(done, ms < DEADLINE_MS ? 0 : ms)
          return () => clearTimeout(timer)
        },
      },
      ...options,
    })
  const payment = { gateway_id: 2, amount: '10.50', currency: 'USD', description: 'x' }

  it('repeats a read after each kind of failure that may pass', async () => {
    const kinds = [
      faults.status(500),
      faults.status(503, '<html>busy</html>', { 'content-type': 'text/html' }),
      faults.status(200, '<html>hello</html>'),
      faults.hangUp(),
      faults.halfBody(),
      faults.cutBody(),
      faults.status(408),
    ]
    for (const fault of kinds) {
      bare.faults.push(fault)
      expect((await connect().transactions.list()).transactions).to.have.length(1)
    }
    expect(bare.requests).to.have.length(2 * kinds.length)
  })

  it('gives up after six tries with pauses that grow, and tells all of it', async () => {
    for (const id of ['r0', 'r1', 'r2', 'r3', 'r4', 'r5'])
      bare.faults.push(faults.status(500, '', { 'x-request-id': id }))
    const error = await failureOf(connect().transactions.list())
    expect(error).to.include({ code: 'internal_error', status: 500, retryable: true, tries: 6 })
    expect(error.requestId).to.equal('r5')
    expect(pauses).to.deep.equal([187.5, 375, 750, 1500, 3000])
  })

  it('waits as long as Retry-After says, in seconds or as a date', async () => {
    const at = new Date(Date.now() + 9_000).toUTCString()
    bare.faults.push(faults.status(429, '', { 'retry-after': '7' }))
    bare.faults.push(faults.status(503, '', { 'retry-after': at }))
    await connect().transactions.list()
    expect(pauses[0]).to.equal(7125)
    expect(pauses[1]).to.be.within(7500, 9500)
  })

  it('does not wait beyond its deadline', async () => {
    bare.faults.push(faults.status(429, '', { 'retry-after': '3600' }))
    const error = await failureOf(connect().transactions.list())
    expect(error).to.include({ code: 'rate_limited', retryAfterMs: 3_600_000, tries: 1 })
  })

  it('leaves a silent server by the deadline of a try, and then of the call', async () => {
    bare.faults.push(faults.silence())
    await connect({ tryTimeoutMs: 50, runtime: {} }).transactions.list()
    expect(bare.requests).to.have.length(2)
    bare.faults.push(...Array.from({ length: 10 }, faults.silence))
    const slow = connect({ tryTimeoutMs: 10_000, timeoutMs: 100, runtime: {} })
    const error = await failureOf(slow.transactions.list())
    expect(error).to.include({ code: 'timed_out', status: undefined, retryable: true })
  })

  it('stops at once when its caller does, in a try or in a pause', async () => {
    for (const fault of [faults.silence(), faults.status(503, '', { 'retry-after': '5' })]) {
      bare.faults.push(fault)
      const ending = new AbortController()
      const call = connect({ runtime: {} }).transactions.list({}, { signal: ending.signal })
      setTimeout(() => ending.abort(new Error('enough')), 50)
      const error = await failureOf(call)
      expect(error.code).to.equal('aborted')
      expect(error.cause).to.have.property('message', 'enough')
    }
    const over = await failureOf(connect().transactions.list({}, { signal: AbortSignal.abort() }))
    expect(over.code).to.equal('aborted')
    expect(bare.requests).to.have.length(2)
  })

  it('follows no redirect, and sends its key nowhere else', async () => {
    bare.faults.push(faults.status(302, '', { location: 'https://elsewhere.example/' }))
    const error = await failureOf(connect().transactions.list())
    expect(error).to.include({ code: 'redirected', status: 302, retryable: false, tries: 1 })
  })

  it('refuses an answer without end', async () => {
    bare.faults.push(faults.endlessBody())
    const error = await failureOf(connect().transactions.list())
    expect(error).to.include({ code: 'answer_too_large', retryable: false })
  })

  it('says when there is no server', async () => {
    await bare.stop()
    const gone = connect()
    const error = await failureOf(gone.payments.create(payment))
    expect(error).to.include({ code: 'network_failed', mayHaveHappened: false, retryable: true })
    expect(error.message).to.include('(ECONNREFUSED). Check the address, and that the server runs.')
  })

  it('takes a 200 for a failure where success is false or a field is missing', async () => {
    bare.faults.push(faults.status(200, '{"success":false,"message":"no"}'))
    const refused = await failureOf(connect().payments.create(payment))
    expect(refused).to.include({ message: 'no', status: 200, retryable: false })
    bare.faults.push(faults.status(200, '{"success":true}'))
    const empty = await failureOf(connect().payments.create(payment))
    expect(empty).to.include({ code: 'answer_unexpected', mayHaveHappened: true })
  })

  describe('with a POST', () => {
    it('pays once where keys are unknown: it says what may have happened', async () => {
      const losses = [faults.status(500), faults.hangUp(), faults.status(200, '{"succ')]
      for (const lose of losses) {
        bare.payments.length = 0
        bare.faults.push(faults.losesAnswer(lose))
        const error = await failureOf(connect().payments.create(payment))
        expect(error).to.include({ mayHaveHappened: true, tries: 1 })
        expect(error.idempotencyKey).to.match(/^[0-9a-f]{32}$/)
        expect(bare.payments).to.have.length(1)
      }
    })

    it('repeats with the same key and body where the server knows keys', async () => {
      bare.headers['accept-idempotency-key'] = 'POST'
      bare.faults.push(faults.losesAnswer(faults.hangUp()))
      expect(await connect().payments.create(payment)).to.include({ transaction_id: 'TX1' })
      const [first, second] = bare.payments
      expect(first?.headers['idempotency-key']).to.equal(second?.headers['idempotency-key'])
      expect(first?.body).to.equal(second?.body)
      // Nothing had told of keys before, so one read asked.
      expect(bare.requests.map(({ method }) => method)).to.deep.equal(['POST', 'GET', 'POST'])
    })

    it('repeats where its caller vouches for the server, and never where he warns', async () => {
      bare.faults.push(faults.status(500))
      await connect({ idempotencyKeys: 'honoured' }).payments.create(payment)
      bare.headers['accept-idempotency-key'] = 'POST'
      bare.faults.push(faults.status(500))
      await failureOf(connect({ idempotencyKeys: 'ignored' }).payments.create(payment))
      expect(bare.requests).to.have.length(3)
    })

    it('makes no second key and no second user where the answer is lost', async () => {
      const scopes = ['transactions:read' as const]
      const { admin } = connect({ idempotencyKeys: 'honoured' })
      for (const make of [
        () => admin.keys.create({ user_id: 1, name: 'x', scopes, dialect: 'flat' }),
        () => admin.users.create({ username: 'alice', password: 'p', scopes }),
      ]) {
        bare.requests.length = 0
        bare.faults.push(faults.losesAnswer(faults.hangUp()))
        const error = await failureOf(make)
        expect(error).to.include({ mayHaveHappened: true, tries: 1, idempotencyKey: undefined })
        expect(bare.requests).to.have.length(1)
        expect(bare.requests[0]?.headers).not.to.have.property('idempotency-key')
      }
    })

    it('refuses a key where the operation takes none', async () => {
      const options: PostOptions = { idempotencyKey: 'mine' }
      const user = { username: 'alice', password: 'p', scopes: [] }
      const error = await failureOf(() => connect().admin.users.create(user, options))
      expect(error.code).to.equal('invalid_call')
      expect(bare.requests).to.have.length(0)
    })

    it('repeats a refusal that certainly changed nothing, whoever the server is', async () => {
      bare.faults.push(faults.status(429, '', { 'retry-after': '1' }))
      await connect().payments.create(payment)
      expect(bare.payments).to.have.length(1)
    })

    it('waits for the first request where that is still at work', async () => {
      bare.headers['accept-idempotency-key'] = 'POST'
      const body = '{"success":false,"error":"wait","code":"idempotency_in_flight"}'
      bare.faults.push(faults.status(409, body, { 'retry-after': '1' }))
      expect(await connect().payments.create(payment)).to.include({ transaction_id: 'TX1' })
    })

    it('uses the key of its caller, and refuses one that no header can carry', async () => {
      await connect().payments.create(payment, { idempotencyKey: 'invoice-7' })
      expect(bare.requests[0]?.headers['idempotency-key']).to.equal('invoice-7')
      const bad = await failureOf(connect().payments.create(payment, { idempotencyKey: 'a b' }))
      expect(bad.code).to.equal('invalid_call')
    })
  })

  describe('with a token', () => {
    const connectByToken = (runtime = {}): PlatformClient =>
      createPlatformClient({ baseUrl: bare.url, username: 'alice', password: 'p', runtime })
    const logins = (): number =>
      bare.requests.filter(({ url }) => url.pathname === '/api/token').length

    it('fetches one for all who ask at once', async () => {
      const platform = connectByToken()
      await Promise.all(Array.from({ length: 8 }, () => platform.transactions.list()))
      expect(logins()).to.equal(1)
      expect(bare.requests.at(-1)?.headers.authorization).to.equal('Bearer bare-token')
    })

    it('renews it before it ends, by expires_in or by the times in it', async () => {
      let nowMs = 1_000_000
      const jwt = `h.${btoa(JSON.stringify({ iat: 5, exp: 605 }))}.s`
      for (const answer of [
        '{"access_token":"t","expires_in":600}',
        JSON.stringify({ access_token: jwt }),
      ]) {
        bare.requests.length = 0
        const platform = connectByToken({ now: () => nowMs })
        bare.faults.push(faults.status(200, answer))
        await platform.transactions.list()
        nowMs += 500_000
        await platform.transactions.list()
        expect(logins()).to.equal(1)
        nowMs += 60_000
        await platform.transactions.list()
        expect(logins()).to.equal(2)
      }
    })

    it('renews one that the server refuses, once', async () => {
      const platform = connectByToken()
      await platform.transactions.list()
      bare.faults.push(faults.status(401))
      await platform.transactions.list()
      expect(logins()).to.equal(2)
      const pass = (): boolean => true
      bare.faults.push(faults.status(401), pass, faults.status(401))
      expect(await failureOf(platform.transactions.list())).to.include({ code: 'unauthorized' })
    })

    it('says when the password is wrong, and asks only once', async () => {
      bare.faults.push(faults.status(401, '{"success":false,"code":"unauthorized","error":"no"}'))
      const error = await failureOf(connectByToken().payments.create(payment))
      expect(error).to.include({ code: 'unauthorized', status: 401, mayHaveHappened: false })
      expect(bare.requests).to.have.length(1)
    })

    it('lets one caller go without ending the login of the others', async () => {
      const platform = connectByToken()
      const ending = new AbortController()
      const first = failureOf(platform.transactions.list({}, { signal: ending.signal }))
      const second = platform.transactions.list()
      ending.abort()
      expect((await first).code).to.equal('aborted')
      expect((await second).transactions).to.have.length(1)
      expect(logins()).to.equal(1)
    })

    it('refuses to be made without a credential', () => {
      const none = { baseUrl: bare.url, username: '', password: '' }
      expect(() => createPlatformClient(none)).to.throw(ApiError)
    })
  })

  describe('with a list', () => {
    const idsOf = async (platform: PlatformClient, limit = 2): Promise<string[]> => {
      const ids: string[] = []
      for await (const row of platform.transactions.iterate({ limit })) ids.push(row.transaction_id)
      return ids
    }
    const page = (ids: number[], more: object): ReturnType<typeof faults.status> => {
      const rest = JSON.stringify(more).slice(1)
      return faults.status(
        200,
        `{"transactions":[${ids.map((id) => bareRow(id)).join(',')}],${rest}`,
      )
    }

    it('reads all of it by offsets', async () => {
      bare.rows.push(bareRow(2), bareRow(3), bareRow(4), bareRow(5))
      expect(await idsOf(connect())).to.deep.equal(['TX1', 'TX2', 'TX3', 'TX4', 'TX5'])
    })

    it('reads on from the position that a page gave', async () => {
      bare.rows.push(bareRow(2), bareRow(3))
      const { next } = await connect().transactions.list({ limit: 2 })
      const rest = await connect().transactions.list({ limit: 2, ...next })
      expect(rest.transactions.map((row) => row.transaction_id)).to.deep.equal(['TX3'])
    })

    it('follows cursors where there are any', async () => {
      bare.faults.push(page([1, 2], { total: 3, next_cursor: 'abc' }))
      bare.faults.push(page([3], { total: 3, next_cursor: null }))
      expect(await idsOf(connect())).to.deep.equal(['TX1', 'TX2', 'TX3'])
      expect(bare.requests[1]?.url.search).to.equal('?limit=2&cursor=abc')
    })

    it('gives a row once that was pushed onto the next page', async () => {
      bare.faults.push(page([5, 4], { total: 4, limit: 2, offset: 0 }))
      bare.faults.push(page([4, 3], { total: 5, limit: 2, offset: 2 }))
      bare.faults.push(page([2], { total: 5, limit: 2, offset: 4 }))
      expect(await idsOf(connect())).to.deep.equal(['TX5', 'TX4', 'TX3', 'TX2'])
    })

    it('is not misled by a total that is too small, nor by pages that are cut', async () => {
      bare.faults.push(page([5, 4], { total: 1, limit: 2, offset: 0 }))
      bare.faults.push(page([3], { total: 5, limit: 2, offset: 2 }))
      bare.faults.push(page([2], { total: 4, limit: 2, offset: 3 }))
      expect(await idsOf(connect())).to.deep.equal(['TX5', 'TX4', 'TX3', 'TX2'])
    })

    it('ends with an error where the same page comes for ever', async () => {
      bare.faults.push(...Array.from({ length: 5 }, () => page([1, 2], { next_cursor: 'same' })))
      const error = await failureOf(idsOf(connect()))
      expect(error.code).to.equal('list_repeats')
      expect(bare.requests).to.have.length(2)
      const same = () => page([1, 2], { total: 9, limit: 2, offset: 0 })
      bare.faults.splice(0, 5, ...Array.from({ length: 20 }, same))
      expect((await failureOf(idsOf(connect()))).code).to.equal('list_repeats')
      expect(bare.requests).to.have.length(2 + 7)
    })

    it('goes on behind a whole page of rows that were pushed onto the next one', async () => {
      bare.faults.push(page([5, 4], { total: 4, limit: 2, offset: 0 }))
      bare.faults.push(page([5, 4], { total: 6, limit: 2, offset: 2 }))
      bare.faults.push(page([3, 2], { total: 6, limit: 2, offset: 4 }))
      expect(await idsOf(connect())).to.deep.equal(['TX5', 'TX4', 'TX3', 'TX2'])
    })

    it('asks for the next rows where a server always tells the offset 0', async () => {
      bare.faults.push(page([5, 4], { total: 5, limit: 2, offset: 0 }))
      bare.faults.push(page([3, 2], { total: 5, limit: 2, offset: 0 }))
      bare.faults.push(page([1], { total: 5, limit: 2, offset: 0 }))
      expect(await idsOf(connect())).to.deep.equal(['TX5', 'TX4', 'TX3', 'TX2', 'TX1'])
    })

    it('gives every row of a server that leaves ids out, and refuses what is no row', async () => {
      const rows = '[{"description":"a"},{"description":"b"}]'
      bare.faults.push(faults.status(200, `{"transactions":${rows},"total":2}`))
      const given = []
      for await (const row of connect().transactions.iterate()) given.push(row.description)
      expect(given).to.deep.equal(['a', 'b'])
      bare.faults.push(faults.status(200, '{"transactions":[null],"total":1}'))
      expect((await failureOf(idsOf(connect()))).code).to.equal('answer_unexpected')
    })

    it('keeps every digit of an amount, and bears with words that it does not know', async () => {
      bare.rows[0] = bareRow(1, '0.123456789012345678').replace('completed', 'on_hold')
      const [row] = (await connect().transactions.list()).transactions
      expect(row).to.include({ amount: '0.123456789012345678', status: 'on_hold' })
    })
  })

  it('refuses a base address or an id that would lead elsewhere', async () => {
    for (const baseUrl of [
      'ftp://a.example',
      'https://u:p@a.example',
      'a.example',
      'https://a/?b',
    ]) {
      expect(() => createPlatformClient({ baseUrl, apiKey: 'k' }), baseUrl).to.throw(ApiError)
    }
    for (const id of ['', '.', '..']) {
      expect((await failureOf(async () => connect().transactions.get(id))).code).to.equal(
        'invalid_call',
      )
    }
    await failureOf(connect().transactions.get('../token?x#y'))
    expect(bare.requests[0]?.url.pathname).to.equal('/api/transactions/..%2Ftoken%3Fx%23y')
  })
})

const DEADLINE_MS = 10_000

async function failureOf(work: Promise<unknown> | (() => Promise<unknown>)): Promise<ApiError> {
  const error = await expectAnyFailure(typeof work === 'function' ? work : () => work)
  expect(error).to.be.instanceOf(ApiError)
  return error as ApiError
}
