import { randomBytes } from 'node:crypto'

import { expect } from 'chai'

import { createAuthenticate } from '../../../src/api/access/authenticate.ts'
import { createCredentials, type Credentials } from '../../../src/api/access/credentials.ts'
import { createRateLimits } from '../../../src/api/access/limit-rate.ts'
import { createRateLimiter } from '../../../src/api/access/rate-limiter.ts'
import { createTokens, type Tokens } from '../../../src/api/access/tokens.ts'
import { createApiKey } from '../../../src/domain/api-keys.ts'
import { findApiKey, revokeApiKey } from '../../../src/store/access/api-keys.ts'
import { ensureSigningKey } from '../../../src/store/access/signing-keys.ts'
import { disableUser, enableUser, type User } from '../../../src/store/access/users.ts'
import type { Db } from '../../../src/store/database/database.ts'
import type { RequestError } from '../../../src/wire/errors.ts'
import { cpuTimeOf } from '../../engines/bench/cpu.ts'
import { makeKey, makeUser } from '../../fixtures/api/access.ts'
import { createTestClock, type TestClock } from '../../fixtures/clock.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('authenticate', () => {
  let db: Db
  let clock: TestClock
  let door: Door
  let alice: User

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    await ensureSigningKey(db)
    clock = createTestClock()
    door = openDoor(db, clock)
    alice = await makeUser(db, { username: 'alice', scopes: ['wallets:write', 'payments:read'] })
  })

  const tokenOf = (user: User) =>
    door.tokens.issue({ userId: user.id, generation: user.tokenGeneration })

  it('takes a key in either header, and the word Bearer in any case', async () => {
    const { text, id } = await makeKey(db, { user: alice, dialect: 'nested' })
    const caller = {
      userId: alice.id,
      username: 'alice',
      scopes: ['payments:read', 'wallets:read', 'wallets:write'],
      dialect: 'nested',
      credential: `key:${id}`,
    }
    expect(await door.ask({ 'x-api-key': text })).to.deep.equal(caller)
    for (const word of ['Bearer', 'bearer', 'BEARER']) {
      expect(await door.ask({ authorization: `${word} ${text}` })).to.deep.equal(caller)
    }
  })

  it('takes a token', async () => {
    const caller = await door.ask({ authorization: `Bearer ${await tokenOf(alice)}` })
    expect(caller).to.deep.include({ userId: alice.id, credential: `user:${alice.id}` })
    expect(caller.scopes).to.deep.equal(['wallets:write', 'payments:read'])
  })

  it('refuses a key from the moment on that it expires', async () => {
    const expiresAt = new Date(clock.now().getTime() + 10_000)
    const { text, id } = await makeKey(db, { user: alice, expiresAt })
    await door.ask({ 'x-api-key': text })
    clock.advance(9_999)
    expect(await door.ask({ 'x-api-key': text })).to.include({ userId: alice.id })
    // The row is remembered, and the time is looked at for each request.
    clock.advance(1)
    const error = await failureOf(() => door.ask({ 'x-api-key': text }))
    expect(error.code).to.equal('unauthorized')
    clock.advance(120_000)
    await failureOf(() => door.ask({ 'x-api-key': text }))
    expect((await findApiKey(db, id))?.usedAt).to.be.below(expiresAt)
  })

  it('notes when a key was used, once a minute', async () => {
    const { text, id } = await makeKey(db, { user: alice })
    const usedAt = async () => (await findApiKey(db, id))?.usedAt?.getTime() ?? 0
    expect(await usedAt()).to.equal(0)
    await door.ask({ 'x-api-key': text })
    const first = clock.now().getTime()
    expect(await usedAt()).to.equal(first)
    clock.advance(59_999)
    await door.ask({ 'x-api-key': text })
    expect(await usedAt()).to.equal(first)
    clock.advance(6_000)
    await door.ask({ 'x-api-key': text })
    expect(await usedAt()).to.equal(first + 65_999)
    await revokeApiKey(db, id)
    clock.advance(120_000)
    await failureOf(() => door.ask({ 'x-api-key': text }))
    expect(await usedAt()).to.equal(first + 65_999)
  })

  it('lets a key do no more than its user may', async () => {
    const key = await makeKey(db, { user: alice, scopes: ['admin', 'wallets:read'] })
    expect((await door.ask({ 'x-api-key': key.text })).scopes).to.deep.equal([
      'payments:read',
      'wallets:read',
      'wallets:write',
    ])
    const narrow = await makeKey(db, { user: alice, scopes: ['wallets:read'] })
    const caller = await door.ask({ 'x-api-key': narrow.text })
    expect(caller.scopes).to.deep.equal(['wallets:read'])
  })

  it('asks for a credential where there is none', async () => {
    const failure = await door.refusal({})
    expect(failure.failure).to.equal('unauthorized')
    expect(failure.headers['www-authenticate']).to.equal('Bearer realm="quittance"')
  })

  it('refuses two credentials at once, right as they may be', async () => {
    const { text } = await makeKey(db, { user: alice })
    const token = await tokenOf(alice)
    for (const other of [token, text]) {
      const failure = await door.refusal({ 'x-api-key': text, authorization: `Bearer ${other}` })
      expect(failure.failure).to.equal('unauthorized')
    }
  })

  it('gives one answer to an unknown, a revoked and a disabled key', async () => {
    const bob = await makeUser(db)
    const [revoked, disabled] = [
      await makeKey(db, { user: alice }),
      await makeKey(db, { user: bob }),
    ]
    await revokeApiKey(db, revoked.id)
    await disableUser(db, bob.username)
    const unknown = createApiKey({ environment: 'sandbox', randomBytes })
    const answers = new Set<string>()
    for (const { text } of [unknown, revoked, disabled]) {
      const { failure, message, headers, problems } = await door.refusal({ 'x-api-key': text })
      answers.add(JSON.stringify({ failure, message, headers, problems }))
    }
    expect([...answers]).to.deep.equal([
      JSON.stringify({
        failure: 'unauthorized',
        message: 'The API key is not valid. Use another one.',
        headers: { 'www-authenticate': 'Bearer realm="quittance", error="invalid_token"' },
        problems: [],
      }),
    ])
  })

  it('refuses the keys and tokens of another environment', async () => {
    const live = await makeKey(db, { user: alice, environment: 'production' })
    expect((await door.refusal({ 'x-api-key': live.text })).message).to.contain('production')
    const elsewhere = openDoor(db, clock, 'production')
    const token = await elsewhere.tokens.issue({ userId: alice.id, generation: 1 })
    const failure = await door.refusal({ authorization: `Bearer ${token}` })
    expect(failure.failure).to.equal('unauthorized')
    const sandbox = await makeKey(db, { user: alice })
    const there = await elsewhere.refusal({ 'x-api-key': sandbox.text })
    expect(there.failure).to.equal('unauthorized')
    expect(await elsewhere.ask({ 'x-api-key': live.text })).to.include({ userId: alice.id })
  })

  it('says what a key begins with where a text is not a key', async () => {
    const { message } = await door.refusal({ 'x-api-key': 'nonsense' })
    expect(message).to.include('form of an API key').and.include('sk_sandbox_')
    expect((await door.refusal({ 'x-api-key': '' })).message).to.include('empty')
  })

  it('refuses everything else, however large', async () => {
    const { text } = await makeKey(db, { user: alice })
    const token = await tokenOf(alice)
    const big = 'A'.repeat(100_000)
    const headers = [
      ...[
        '',
        ' ',
        text.slice(1),
        `${text} `,
        `${text},${text}`,
        big,
        `sk_sandbox_${big}`,
        token,
      ].map((key) => ({ 'x-api-key': key })),
      ...['', 'Bearer', 'Bearer ', `Basic ${text}`, `Bearer ${text} x`, `Bearer${text}`].map(
        (value) => ({ authorization: value }),
      ),
      ...[big, `${big}.${big}.${big}`, 'null', 'undefined', `${token}.x`, `"${token}"`].map(
        (value) => ({ authorization: `Bearer ${value}` }),
      ),
      { authorization: `Bearer ${' '.repeat(100_000)}` },
    ]
    const startedAt = performance.now()
    for (const header of headers) {
      const failure = await door.refusal(header)
      expect(failure.failure).to.equal('unauthorized')
      expect(failure.message).not.to.contain(text)
    }
    expect(performance.now() - startedAt).to.be.below(1000)
  })

  it('ends the tokens and keys of a disabled user at once where it is told', async () => {
    const { text } = await makeKey(db, { user: alice })
    const token = await tokenOf(alice)
    await door.ask({ 'x-api-key': text })
    await door.ask({ authorization: `Bearer ${token}` })
    await disableUser(db, 'alice')
    door.credentials.forgetUser(alice.id)
    expect((await door.refusal({ 'x-api-key': text })).failure).to.equal('unauthorized')
    const failure = await door.refusal({ authorization: `Bearer ${token}` })
    expect(failure.failure).to.equal('unauthorized')
    await enableUser(db, 'alice')
    door.credentials.forgetUser(alice.id)
    await door.ask({ 'x-api-key': text })
    // The old token has ended for good; a new one works at once.
    await door.refusal({ authorization: `Bearer ${token}` })
    const again = await door.tokens.issue({ userId: alice.id, generation: 2 })
    await door.ask({ authorization: `Bearer ${again}` })
  })

  it('ends them within five seconds in processes that are not told', async () => {
    const { text, id } = await makeKey(db, { user: alice })
    const other = await makeKey(db, { user: alice })
    const token = await tokenOf(alice)
    const headers = [{ 'x-api-key': other.text }, { authorization: `Bearer ${token}` }]
    for (const header of [...headers, { 'x-api-key': text }]) await door.ask(header)
    await revokeApiKey(db, id)
    clock.advance(2400)
    await door.ask({ 'x-api-key': text })
    clock.advance(2600)
    await door.refusal({ 'x-api-key': text })
    for (const header of headers) await door.ask(header)
    await disableUser(db, 'alice')
    clock.advance(5000)
    for (const header of headers) await door.refusal(header)
  })

  it('takes a token from after a change that it has not heard of yet', async () => {
    await door.ask({ authorization: `Bearer ${await tokenOf(alice)}` })
    await disableUser(db, 'alice')
    await enableUser(db, 'alice')
    const token = await door.tokens.issue({ userId: alice.id, generation: 2 })
    await door.ask({ authorization: `Bearer ${token}` })
    const forged = await door.tokens.issue({ userId: alice.id, generation: 3 })
    await door.refusal({ authorization: `Bearer ${forged}` })
  })

  it('limits bad credentials by address, and lets good ones pass all the same', async () => {
    const { text } = await makeKey(db, { user: alice })
    const unknown = createApiKey({ environment: 'sandbox', randomBytes }).text
    for (let count = 0; count < 100; count++) await door.refusal({ 'x-api-key': unknown })
    const failure = await door.refusal({ 'x-api-key': unknown })
    expect(failure.failure).to.equal('rate_limited')
    expect(Number(failure.headers['retry-after'])).to.be.within(1, 61)
    expect(await door.ask({ 'x-api-key': text })).to.include({ userId: alice.id })
    expect((await door.refusal({})).failure).to.equal('unauthorized')
  })

  it('answers from memory in microseconds', async () => {
    const { text } = await makeKey(db, { user: alice })
    for (const header of [
      { 'x-api-key': text },
      { authorization: `Bearer ${await tokenOf(alice)}` },
    ]) {
      await door.ask(header)
      const rounds = 5000
      const elapsedMs = await cpuTimeOf(async () => {
        for (let round = 0; round < rounds; round++) await door.ask(header)
      })
      expect((elapsedMs / rounds) * 1000).to.be.below(50)
    }
  })
})

type Headers = { 'x-api-key'?: string; authorization?: string }

type Door = ReturnType<typeof openDoor>

/** Authentication as one process has it. */
function openDoor(db: Db, clock: TestClock, environment: 'sandbox' | 'production' = 'sandbox') {
  const tokens: Tokens = createTokens({ db, clock, environment })
  const credentials: Credentials = createCredentials({ db, clock, tokens })
  const limiter = createRateLimiter({ db, clock })
  const { limitFailures } = createRateLimits({ limiter })
  const authenticate = createAuthenticate({ environment, credentials, limitFailures })
  const ask = (headers: Headers) => authenticate(headers, '203.0.113.9')
  return {
    tokens,
    credentials,
    ask,
    refusal: async (headers: Headers) => (await failureOf(() => ask(headers))) as RequestError,
  }
}
