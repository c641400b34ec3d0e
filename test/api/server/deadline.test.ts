import { expect } from 'chai'
import { sql } from 'kysely'

import type { Endpoint } from '../../../src/api/admission/endpoint.ts'
import { createIdempotently } from '../../../src/api/admission/idempotently.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { makeUser, callerOf } from '../../fixtures/api/access.ts'
import { startApi, testCaller, type Api } from '../../fixtures/api/api.ts'
import { echoEndpoints } from '../../fixtures/api/endpoints.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { makeTransaction } from '../../fixtures/store/transactions.ts'
import { until } from '../../fixtures/until.ts'

const BODY = '{"amount":1,"currency":"ETH"}'

/** Over a connection: a body that was read ends the framework's own limit, and no injected one. */
describe('a request over a socket that takes too long', () => {
  let api: Api
  let slow: PromiseWithResolvers<void>
  let db: Db
  let url: string

  const begin = async (change: (wait: () => Promise<void>) => Partial<Endpoint>) => {
    slow = Promise.withResolvers<void>()
    ;({ db } = await freshDatabase())
    const caller = callerOf(await makeUser(db))
    const wait = () => slow.promise
    const endpoints = echoEndpoints().map((one) =>
      one.path === '/api/echo' ? { ...one, ...change(wait) } : one,
    )
    api = await startApi({
      endpoints,
      hooks: {
        db,
        idempotently: createIdempotently({ db }),
        authenticate: async () => ({ ...testCaller, ...caller, scopes: ['admin'] }),
      },
      server: { handlerTimeoutMs: 300 },
    })
    url = await api.server.listen({ host: '127.0.0.1', port: 0 })
  }

  afterEach(async () => {
    slow.resolve()
    await api.close()
  })

  const post = (key: string) =>
    fetch(`${url}/api/echo`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: BODY,
    })

  const countMade = async (): Promise<bigint> => {
    const { rows } = await sql<{ made: bigint }>`
      select count(*) as made from transactions`.execute(db)
    return rows[0]?.made ?? 0n
  }

  const expectLate = async (answer: Response): Promise<void> => {
    expect(answer.status).to.equal(503)
    expect(answer.headers.get('retry-after')).to.equal('1')
    const body = (await answer.json()) as { code: string; error: string }
    expect(body.code).to.equal('unavailable')
    expect(body.error).to.include('Idempotency-Key')
  }

  it('is answered 503 in time, as a GET and as a POST with a body', async () => {
    await begin((wait) => ({ handle: () => wait().then(() => []) }))
    await expectLate(await fetch(`${url}/api/echo`))
    await expectLate(await post('one'))
  })

  it('is not begun afterwards where what comes before it was slow', async () => {
    let begun = 0
    await begin((wait) => ({
      prepare: wait,
      handle: async () => {
        begun += 1
        return []
      },
    }))
    await expectLate(await post('one'))
    slow.resolve()
    await new Promise((later) => setTimeout(later, 100))
    expect(begun).to.equal(0)
  })

  it('is undone in its transaction, and may be sent again with its key', async () => {
    await begin((wait) => ({
      handle: async (open) => {
        await makeTransaction(open, { userId: await userIdOf(open) })
        await wait()
        return [{ ok: true, value: { success: true } }]
      },
    }))
    await expectLate(await post('one'))
    slow.resolve()
    // Until the transaction has ended, the key is in use.
    let again = await post('one')
    await until(async () => again.status !== 409 || ((again = await post('one')), false))
    expect(again.status).to.equal(201)
    expect(again.headers.has('idempotent-replayed')).to.equal(false)
    expect(await countMade()).to.equal(1n)
  })
})

async function userIdOf(db: Db): Promise<number> {
  const { rows } = await sql<{ id: number }>`select id from users limit 1`.execute(db)
  return rows[0]?.id ?? 0
}
