import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'
import { sql } from 'kysely'
import { Type } from 'typebox'

import {
  defineEndpoint,
  type Endpoint,
  type Idempotently,
  type Post,
} from '../../../src/api/admission/endpoint.ts'
import { createIdempotently } from '../../../src/api/admission/idempotently.ts'
import type { Caller } from '../../../src/domain/access.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { prune } from '../../../src/store/database/upkeep.ts'
import { RequestError } from '../../../src/wire/errors.ts'
import { exactNumber } from '../../../src/wire/json.ts'
import { callerOf, makeUser } from '../../fixtures/api/access.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { makeTransaction } from '../../fixtures/store/transactions.ts'

type Work = (db: Db, prepared?: unknown) => Promise<Record<string, unknown>>

/** The same request, where the endpoint does something else. */
function doing(post: Post, parts: Partial<Endpoint>): Post {
  return { ...post, endpoint: { ...post.endpoint, ...parts } }
}

function working(post: Post, work: Work): Post {
  return doing(post, {
    handle: async (db, [one]) => [{ ok: true, value: await work(db, one?.prepared) }],
  })
}

function asking(post: Post, parts: Partial<Caller>): Post {
  const { request } = post
  return { ...post, request: { ...request, caller: { ...request.caller, ...parts } } }
}

describe('idempotently', () => {
  it('does it once, and answers the second time with the first answer', async () => {
    const { db, options, post } = await prepare()
    const first = await post(options)
    const second = await post(options)
    expect(first).to.deep.equal({ status: 201, body: first.body, replayed: false })
    expect(second).to.deep.equal({ ...first, replayed: true })
    expect(await countMade(db)).to.equal(1n)
  })

  it('keeps the answer as it was, to the byte', async () => {
    const { options, post } = await prepare()
    const value = { amount: exactNumber('1.000000000000000001'), name: 'Größe 🙂' }
    await post(doing(options, { handle: async () => [{ ok: true, value }] }))
    expect((await post(options)).body).to.equal('{"amount":1.000000000000000001,"name":"Größe 🙂"}')
  })

  it('refuses the key for another request', async () => {
    const { db, options, post } = await prepare()
    await post(options)
    const error = await failureOf(() => post({ ...options, fingerprint: 'another' }))
    expect(error.code).to.equal('idempotency_key_reused')
    expect(await countMade(db)).to.equal(1n)
  })

  it('keeps apart the keys of two users and of two operations', async () => {
    const { db, options, post } = await prepare()
    const other = callerOf(await makeUser(db))
    await post(options)
    const answers = [
      await post(asking(options, other)),
      await post(doing(options, { operationId: 'createTransfer' })),
    ]
    expect(answers.map(({ replayed }) => replayed)).to.deep.equal([false, false])
    expect(await countMade(db)).to.equal(3n)
  })

  it('keeps apart the keys of /v1/payments and of /api/payments', async () => {
    const { db, options, post } = await prepare()
    await post(options)
    const other = doing(options, { group: 'b' })
    expect((await post({ ...other, fingerprint: 'another' })).replayed).to.equal(false)
    expect((await post(options)).replayed).to.equal(true)
    expect(await countMade(db)).to.equal(2n)
  })

  it('shares the keys of one user among all its credentials', async () => {
    const { options, post } = await prepare()
    await post(options)
    expect((await post(asking(options, { credential: 'key:99' }))).replayed).to.equal(true)
  })

  it('does it each time without a key, and stores no answer', async () => {
    const { db, options, post } = await prepare()
    await post({ ...options, key: undefined })
    expect((await post({ ...options, key: undefined })).replayed).to.equal(false)
    expect(await countMade(db)).to.equal(2n)
    expect(await countStored(db)).to.equal(0n)
  })

  for (const key of ['a-key', undefined]) {
    it(`leaves nothing of a run that fails ${key ? 'with' : 'without'} a key`, async () => {
      const { db, options, post, make } = await prepare()
      const failing = working(options, async (open) => {
        await make(open)
        throw new RequestError('invalid_request', 'No.')
      })
      const error = await failureOf(() => post({ ...failing, key }))
      expect(error.code).to.equal('invalid_request')
      expect([await countMade(db), await countStored(db)]).to.deep.equal([0n, 0n])
      expect((await post({ ...options, key })).replayed).to.equal(false)
      expect(await countMade(db)).to.equal(1n)
    })
  }

  for (const failure of ['invalid_request', 'conflict', 'internal_error'] as const) {
    it(`stores no refusal with ${failure}, and runs again`, async () => {
      const { db, options, post } = await prepare()
      const error = new RequestError(failure, 'No.')
      const refusing = doing(options, { handle: async () => [{ ok: false, error }] })
      expect(await failureOf(() => post(refusing))).to.equal(error)
      expect(await countStored(db)).to.equal(0n)
      expect((await post(options)).status).to.equal(201)
    })
  }

  for (const key of ['a-key', undefined]) {
    it(`calls once, with what was committed, ${key ? 'with' : 'without'} a key`, async () => {
      const { options, post, told } = await prepare()
      const values: unknown[] = []
      const calling = doing({ ...options, key }, { onCommitted: (value) => values.push(value) })
      const { body } = await post(calling)
      expect(values).to.deep.equal([JSON.parse(body)])
      expect(told).to.deep.equal(['createPayment'])
      if (key) await post(calling)
      const late = new RequestError('unavailable', 'Too late.')
      const refusing = { ...calling, key: 'another', signal: AbortSignal.abort(late) }
      await failureOf(() => post(refusing))
      expect([values.length, told.length]).to.deep.equal([1, 1])
    })
  }

  for (const key of ['a-key', undefined]) {
    it(`completes what was started ${key ? 'with' : 'without'} a key, until it is`, async () => {
      const { db, options, post } = await prepare()
      const started: unknown[] = []
      const completing = doing(
        { ...options, key },
        {
          async complete(value) {
            started.push(value)
            if (started.length === 1) throw new RequestError('upstream_timeout', 'No answer.')
            return { done: true }
          },
        },
      )
      expect((await failureOf(() => post(completing))).code).to.equal('upstream_timeout')
      expect(await post(completing)).to.deep.equal({
        status: 201,
        body: '{"done":true}',
        replayed: false,
      })
      expect(await countMade(db)).to.equal(key ? 1n : 2n)
      if (key) expect(started[1]).to.deep.equal(started[0])
      if (key) expect(await post(completing)).to.include({ body: '{"done":true}', replayed: true })
    })
  }

  it('prepares outside of the transaction, and not where an answer is stored', async () => {
    const { db, options, post, make } = await prepare()
    let prepared = 0
    const showing = working(options, async (open, facts) => ({ ...(await make(open)), facts }))
    const preparing = doing(showing, {
      // On one connection this would wait forever for a transaction that is open.
      prepare: async () => `${await countMade(db)} made, time ${++prepared}`,
    })
    const first = await post(preparing)
    expect(JSON.parse(first.body)).to.include({ facts: '0 made, time 1' })
    expect(await post(preparing)).to.deep.equal({ ...first, replayed: true })
    expect(prepared).to.equal(1)
  })

  it('tells the second of two at once to come again', async () => {
    const { options, post, make } = await prepare()
    const slow = working(options, async (open) => {
      await sleep(50)
      return make(open)
    })
    const first = post(slow)
    const error = await failureOf(() => post(options))
    expect(error.code).to.equal('idempotency_in_flight')
    expect(error.retryable).to.equal(true)
    expect((error as RequestError).headers).to.deep.equal({ 'retry-after': '1' })
    expect((await first).replayed).to.equal(false)
    expect((await post(options)).replayed).to.equal(true)
  })

  it('does nothing that ends after its request, and frees the key with the request', async () => {
    const { db, options, post, make } = await prepare()
    const request = new AbortController()
    const stuck = Promise.withResolvers<void>()
    const { signal } = request
    const first = post({ ...doing(options, { prepare: () => stuck.promise }), signal })
    const aborting = working(options, async (open) => {
      const made = await make(open)
      request.abort(new RequestError('unavailable', 'Too late.'))
      return made
    })
    const late = post({ ...aborting, key: 'another', signal })
    expect((await failureOf(() => late)).code).to.equal('unavailable')
    expect([await countMade(db), await countStored(db)]).to.deep.equal([0n, 0n])
    // The first one is not over, but nobody waits for it any more.
    expect(await post(options)).to.include({ status: 201, replayed: false })
    stuck.resolve()
    expect((await failureOf(() => first)).code).to.equal('unavailable')
    expect(await countMade(db)).to.equal(1n)
  })

  it('has one effect of 1,000 calls at once with one key', async () => {
    const { db, options, post } = await prepare()
    expect(await rush({ posts: [post], options })).to.deep.equal({
      made: 1,
      refusedOrReplayed: 999,
    })
    expect([await countMade(db), await countStored(db)]).to.deep.equal([1n, 1n])
  }).timeout(60_000)

  it('has one effect of 1,000 calls at once in many processes', async () => {
    const { db, options } = await prepare()
    // What is in flight is remembered per instance, so these know each other by the database only.
    const posts = Array.from({ length: 1000 }, () => createIdempotently({ db }))
    expect(await rush({ posts, options })).to.deep.equal({ made: 1, refusedOrReplayed: 999 })
    expect([await countMade(db), await countStored(db)]).to.deep.equal([1n, 1n])
  }).timeout(60_000)

  if (process.env['DATABASE_URL'] !== undefined) {
    it('leaves nothing of a process that dies before the commit, and frees the key', async () => {
      const { db, options, post, make } = await prepare()
      const dying = working(options, async (open) => {
        const made = await make(open)
        await sql`select pg_terminate_backend(pg_backend_pid())`.execute(open)
        return made
      })
      const [broken] = await Promise.allSettled([post(dying)])
      expect(broken.status).to.equal('rejected')
      expect([await countMade(db), await countStored(db)]).to.deep.equal([0n, 0n])
      expect((await post(options)).replayed).to.equal(false)
      expect([await countMade(db), await countStored(db)]).to.deep.equal([1n, 1n])
    })
  }

  it('forgets old answers, a batch at a time', async () => {
    const { db, options, post } = await prepare()
    for (const key of ['one', 'two', 'three']) await post({ ...options, key })
    await sql`
      update idempotent_requests set created_at = now() - interval '31 days' where key <> 'three'
      `.execute(db)
    const olderThan = new Date(Date.now() - 30 * 86_400_000)
    expect(await prune(db, { what: 'answers', olderThan, limit: 1 })).to.equal(1)
    expect(await prune(db, { what: 'answers', olderThan, limit: 9 })).to.equal(1)
    expect((await post({ ...options, key: 'three' })).replayed).to.equal(true)
    expect((await post({ ...options, key: 'one' })).replayed).to.equal(false)
  })
})

async function prepare() {
  const { db } = await freshDatabase()
  const user = await makeUser(db)
  const make: Work = async (open) => {
    const { transactionId } = await makeTransaction(open, { userId: user.id })
    return { transactionId }
  }
  const endpoint = defineEndpoint({
    route: 'POST /v1/payments',
    operationId: 'createPayment',
    tag: 'Test',
    summary: 'Makes a transaction',
    access: 'payments:write',
    status: 201,
    answer: Type.Object({}),
    handle: ({ db: open }) => make(open),
  })
  const options: Post = {
    key: 'a-key',
    endpoint,
    request: {
      params: undefined,
      query: undefined,
      body: undefined,
      caller: callerOf(user),
      remoteAddress: '192.0.2.1',
    },
    fingerprint: 'one body',
    signal: new AbortController().signal,
  }
  const told: string[] = []
  const onCommitted = ({ operationId }: Endpoint): void => void told.push(operationId)
  return { db, options, make, told, post: createIdempotently({ db, onCommitted }) }
}

async function rush({ posts, options }: { posts: readonly Idempotently[]; options: Post }) {
  const calls = Array.from({ length: 1000 }, (_, index) => posts[index % posts.length]!(options))
  let made = 0
  let refusedOrReplayed = 0
  for (const result of await Promise.allSettled(calls)) {
    if (result.status === 'fulfilled') {
      if (result.value.replayed) refusedOrReplayed++
      else made++
    } else if ((result.reason as RequestError).code === 'idempotency_in_flight') {
      refusedOrReplayed++
    } else throw result.reason
  }
  return { made, refusedOrReplayed }
}

async function countMade(db: Db): Promise<bigint> {
  const { rows } = await sql<{ count: bigint }>`select count(*) from transactions`.execute(db)
  return rows[0]!.count
}

async function countStored(db: Db): Promise<bigint> {
  const { rows } = await sql<{ count: bigint }>`
    select count(*) from idempotent_requests`.execute(db)
  return rows[0]!.count
}
