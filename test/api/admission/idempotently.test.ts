import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'
import { sql } from 'kysely'

import type { Endpoint, Idempotently } from '../../../src/api/admission/endpoint.ts'
import { createIdempotently } from '../../../src/api/admission/idempotently.ts'
import type { Caller } from '../../../src/domain/access.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { prune } from '../../../src/store/database/upkeep.ts'
import { RequestError } from '../../../src/wire/errors.ts'
import { callerOf, makeUser } from '../../fixtures/api/access.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { makeTransaction } from '../../fixtures/store/transactions.ts'

type Options = Parameters<Idempotently>[0]

const ENDPOINT = { group: 'a', operationId: 'createPayment' } as Endpoint

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
    const body = '{"amount":1.000000000000000001, "name":"Größe 🙂"}\n'
    await post({ ...options, run: async () => ({ status: 201, body }) })
    expect((await post(options)).body).to.equal(body)
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
      await post({ ...options, caller: other }),
      await post({ ...options, endpoint: { ...ENDPOINT, operationId: 'createTransfer' } }),
    ]
    expect(answers.map(({ replayed }) => replayed)).to.deep.equal([false, false])
    expect(await countMade(db)).to.equal(3n)
  })

  it('keeps apart the keys of /v1/payments and of /api/payments', async () => {
    const { db, options, post } = await prepare()
    await post(options)
    const other = { ...options, endpoint: { ...ENDPOINT, group: 'b' as const } }
    expect((await post({ ...other, fingerprint: 'another' })).replayed).to.equal(false)
    expect((await post(options)).replayed).to.equal(true)
    expect(await countMade(db)).to.equal(2n)
  })

  it('shares the keys of one user among all its credentials', async () => {
    const { options, post } = await prepare()
    await post(options)
    const caller: Caller = { ...options.caller, credential: 'key:99' }
    expect((await post({ ...options, caller })).replayed).to.equal(true)
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
      const { db, options, post } = await prepare()
      const run: Options['run'] = async (open) => {
        await options.run(open)
        throw new RequestError('invalid_request', 'No.')
      }
      const error = await failureOf(() => post({ ...options, key, run }))
      expect(error.code).to.equal('invalid_request')
      expect([await countMade(db), await countStored(db)]).to.deep.equal([0n, 0n])
      expect((await post({ ...options, key })).replayed).to.equal(false)
      expect(await countMade(db)).to.equal(1n)
    })
  }

  for (const status of [400, 409, 500, 502]) {
    it(`stores no answer of status ${status}, and runs again`, async () => {
      const { db, options, post } = await prepare()
      const run: Options['run'] = async () => ({ status, body: '{}' })
      const failed = await post({ ...options, run })
      expect(failed).to.deep.equal({ status, body: '{}', replayed: false })
      expect(await countStored(db)).to.equal(0n)
      expect((await post(options)).status).to.equal(201)
    })
  }

  it('prepares outside of the transaction, and not where an answer is stored', async () => {
    const { db, options, post } = await prepare()
    let prepared = 0
    const preparing: Options = {
      ...options,
      // On one connection this would wait forever for a transaction that is open.
      prepare: async () => `${await countMade(db)} made, time ${++prepared}`,
      run: async (open, facts) => ({ status: 201, body: (await options.run(open), String(facts)) }),
    }
    expect((await post(preparing)).body).to.equal('0 made, time 1')
    expect(await post(preparing)).to.include({ body: '0 made, time 1', replayed: true })
    expect(prepared).to.equal(1)
  })

  it('tells the second of two at once to come again', async () => {
    const { options, post } = await prepare()
    const slow: Options['run'] = async (open) => {
      await sleep(50)
      return options.run(open)
    }
    const first = post({ ...options, run: slow })
    const error = await failureOf(() => post(options))
    expect(error.code).to.equal('idempotency_in_flight')
    expect(error.retryable).to.equal(true)
    expect((error as RequestError).headers).to.deep.equal({ 'retry-after': '1' })
    expect((await first).replayed).to.equal(false)
    expect((await post(options)).replayed).to.equal(true)
  })

  it('does nothing that ends after its request, and frees the key with the request', async () => {
    const { db, options, post } = await prepare()
    const request = new AbortController()
    const stuck = Promise.withResolvers<void>()
    const waiting: Options = { ...options, prepare: () => stuck.promise }
    const first = post({ ...waiting, signal: request.signal })
    const run: Options['run'] = async (open) => {
      const answer = await options.run(open)
      request.abort(new RequestError('unavailable', 'Too late.'))
      return answer
    }
    const late = post({ ...options, key: 'another', signal: request.signal, run })
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
      const { db, options, post } = await prepare()
      const run: Options['run'] = async (open) => {
        const answer = await options.run(open)
        await sql`select pg_terminate_backend(pg_backend_pid())`.execute(open)
        return answer
      }
      const [broken] = await Promise.allSettled([post({ ...options, run })])
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
  const options: Options = {
    key: 'a-key',
    caller: callerOf(user),
    endpoint: ENDPOINT,
    fingerprint: 'one body',
    signal: new AbortController().signal,
    run: async (open) => {
      const { transactionId } = await makeTransaction(open, { userId: user.id })
      return { status: 201, body: JSON.stringify({ transactionId }) }
    },
  }
  return { db, options, post: createIdempotently({ db }) }
}

async function rush({ posts, options }: { posts: readonly Idempotently[]; options: Options }) {
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
