import { expect } from 'chai'
import type { FastifyInstance } from 'fastify'
import { decodeJwt } from 'jose'
import { Registry } from 'prom-client'
import { Type } from 'typebox'

import { createAccess, type Access } from '../../../../src/api/access/access.ts'
import { defineEndpoint } from '../../../../src/api/admission/endpoint.ts'
import { answerAtOnce } from '../../../../src/api/admission/endpoints.ts'
import { tokenEndpoint } from '../../../../src/api/endpoints/api/token.ts'
import { createServer } from '../../../../src/api/server/server.ts'
import { createLogger } from '../../../../src/base/logger.ts'
import { ensureSigningKey } from '../../../../src/store/access/signing-keys.ts'
import { disableUser } from '../../../../src/store/access/users.ts'
import type { Db } from '../../../../src/store/database/database.ts'
import { makeKey, makeUser, PASSWORD } from '../../../fixtures/api/access.ts'
import { createTestClock, type TestClock } from '../../../fixtures/clock.ts'
import { freshDatabase } from '../../../fixtures/store/database.ts'

describe('POST /api/token', () => {
  let db: Db
  let clock: TestClock
  let server: FastifyInstance
  let log: string[]

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    await ensureSigningKey(db)
    clock = createTestClock()
    log = []
    server = startServer(db, createAccess({ db, clock, environment: 'sandbox' }), log)
  })

  afterEach(() => server.close())

  const login = async (body: unknown, remoteAddress = '203.0.113.9') => {
    const headers = { 'content-type': 'application/json' }
    const payload = JSON.stringify(body)
    const options = { method: 'POST', url: '/api/token', headers, payload, remoteAddress } as const
    const { statusCode, headers: answered, body: text } = await server.inject(options)
    return { status: statusCode, headers: answered, body: JSON.parse(text) as Answer }
  }
  const whoAmI = async (headers: Record<string, string>) => {
    const { statusCode, headers: answered, body } = await server.inject({ url: '/api/me', headers })
    return { status: statusCode, headers: answered, body: JSON.parse(body) as Answer }
  }

  it('gives a token that opens the door for an hour', async () => {
    const user = await makeUser(db, { username: 'Alice' })
    const { status, body } = await login({ username: 'alice', password: PASSWORD })
    expect(status).to.equal(200)
    const { access_token: accessToken, ...rest } = body
    const token = String(accessToken)
    expect(rest).to.deep.equal({
      success: true,
      token_type: 'Bearer',
      expires_in: 3600,
      user_id: user.id,
      username: 'Alice',
    })
    expect(decodeJwt(token).sub).to.equal(String(user.id))
    const me = await whoAmI({ authorization: `Bearer ${token}` })
    expect(me.status).to.equal(200)
    expect(me.body).to.deep.equal({ username: 'Alice' })
    expect(me.headers['ratelimit']).to.match(/^"credential";r=999;t=6[01]$/)
    clock.advance(3_606_000)
    expect((await whoAmI({ authorization: `Bearer ${token}` })).status).to.equal(401)
  })

  it('gives one answer to a wrong password, an unknown and a disabled user', async () => {
    await makeUser(db, { username: 'alice' })
    await makeUser(db, { username: 'gone' })
    await disableUser(db, 'gone')
    const answers = new Set<string>()
    for (const attempt of [
      { username: 'alice', password: `${PASSWORD}r` },
      { username: 'nobody', password: PASSWORD },
      { username: 'gone', password: PASSWORD },
      { username: "' or 1=1 --", password: PASSWORD },
      { username: 'é'.repeat(128), password: PASSWORD },
    ]) {
      const { status, headers, body } = await login(attempt)
      expect(status).to.equal(401)
      expect(headers['www-authenticate']).to.equal('Bearer realm="quittance"')
      answers.add(`${String(body['error'])} ${String(body['code'])}`)
    }
    expect([...answers]).to.deep.equal([
      'The username or the password is wrong, or the user is disabled. unauthorized',
    ])
  })

  it('refuses a body that is not one', async () => {
    const bodies = [
      {},
      { username: 'ali\0ce', password: PASSWORD },
      { username: 'alice' },
      { username: 'alice', password: 12_345_678_901_234 },
      { username: ['alice'], password: PASSWORD },
      { username: 'alice', password: '' },
      { username: 'alice', password: 'x'.repeat(1025) },
      { username: 'alice', password: PASSWORD, admin: true },
    ]
    for (const body of bodies) expect((await login(body)).status).to.equal(400)
  })

  it('stops at ten tries a minute for a user and an address', async () => {
    await makeUser(db, { username: 'alice' })
    for (let count = 0; count < 10; count++) {
      expect((await login({ username: 'alice', password: 'a wrong one' })).status).to.equal(401)
    }
    const { status, headers, body } = await login({ username: 'ALICE', password: PASSWORD })
    expect(status).to.equal(429)
    expect(body).to.include({ success: false, code: 'rate_limited' })
    expect(Number(headers['retry-after'])).to.be.within(55, 61)
    expect(headers['ratelimit-policy']).to.equal('"login";q=10;w=60')
    const elsewhere = await login({ username: 'alice', password: PASSWORD }, '203.0.113.10')
    expect(elsewhere.status).to.equal(200)
    clock.advance(61_000)
    expect((await login({ username: 'alice', password: PASSWORD })).status).to.equal(200)
  })

  it('counts over the limit for each key by itself', async () => {
    const user = await makeUser(db)
    const access = createAccess({ db, clock, environment: 'sandbox', rates: { groupB: 2 } })
    const limited = startServer(db, access, log)
    const statusOf = async (key: string) => {
      const answer = await limited.inject({ url: '/api/me', headers: { 'x-api-key': key } })
      return answer.statusCode
    }
    const [one, two] = [await makeKey(db, { user }), await makeKey(db, { user })]
    const statuses = []
    for (const key of [one, one, one, two]) statuses.push(await statusOf(key.text))
    expect(statuses).to.deep.equal([200, 200, 429, 200])
    await limited.close()
  })

  it('writes no secret to the log', async () => {
    const user = await makeUser(db, { username: 'alice' })
    const key = await makeKey(db, { user })
    const { body } = await login({ username: 'alice', password: PASSWORD })
    await login({ username: 'alice', password: 'canary of a wrong password' })
    await whoAmI({ authorization: `Bearer ${String(body['access_token'])}` })
    await whoAmI({ 'x-api-key': key.text })
    await whoAmI({ 'x-api-key': `${key.text}x` })
    await whoAmI({ authorization: `Bearer ${key.text}`, 'x-api-key': key.text })
    const written = log.join('')
    for (const secret of [PASSWORD, 'canary', key.text.slice(0, 20), 'eyJhbGciOiJFZERTQSI']) {
      expect(written).not.to.contain(secret)
    }
  })
})

type Answer = Record<string, unknown>

/** A server with the token endpoint, and one that tells who asks. */
function startServer(db: Db, access: Access, log: string[]): FastifyInstance {
  const whoAmI = defineEndpoint({
    route: 'GET /api/me',
    operationId: 'whoAmI',
    tag: 'Test',
    summary: 'Tell who asks',
    access: 'transactions:read',
    answer: Type.Object({ username: Type.String() }),
    handle: async ({ caller }) => ({ username: caller.username }),
  })
  const destination = { write: (line: string) => void log.push(line) }
  return createServer({
    logger: createLogger({ level: 'trace', destination }),
    registry: new Registry(),
    checks: () => [],
    isStopping: () => false,
    endpoints: [tokenEndpoint({ db, ...access }), whoAmI],
    hooks: {
      db,
      authenticate: access.authenticate,
      limitRate: access.limitRate,
      idempotently: ({ endpoint, request }) => answerAtOnce(endpoint, request, db),
    },
  })
}
