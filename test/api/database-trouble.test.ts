import { expect } from 'chai'
import { sql } from 'kysely'
import { Type } from 'typebox'

import { defineEndpoint, type Endpoint } from '../../src/api/admission/endpoint.ts'
import { openDatabase, type Database, type Db } from '../../src/store/database/database.ts'
import { startApi, type Api } from '../fixtures/api/api.ts'
import { emptyDatabaseUrl, freshDatabase } from '../fixtures/store/database.ts'
import { startFreezingProxy } from '../fixtures/store/freezing-proxy.ts'

/** Two operations, one of each group, that do no more than this. */
function asking(ask: (db: Db) => Promise<unknown>, db: Db): Endpoint[] {
  return (['a', 'b'] as const).map((group) =>
    defineEndpoint({
      route: group === 'a' ? 'GET /v1/asked' : 'GET /api/asked',
      operationId: `ask${group}`,
      summary: 'Asks the database.',
      tag: 'Asking',
      access: 'payments:read',
      answer: Type.Object({}),
      async handle() {
        await ask(db)
        return {}
      },
    }),
  )
}

async function expectUnavailable(api: Api): Promise<void> {
  const problem = { accept: 'application/problem+json' }
  const b = await api.send({ url: '/api/asked' })
  const a = await api.send({ url: '/v1/asked' })
  const problems = [
    await api.send({ url: '/api/asked', headers: problem }),
    await api.send({ url: '/v1/asked', headers: problem }),
  ]
  expect(b.body).to.include({ success: false, code: 'database_unavailable' })
  expect(a.body).to.include({ code: -1 })
  for (const { body } of problems) {
    expect(body).to.include({ type: 'urn:quittance:problem:database_unavailable', status: 503 })
  }
  for (const { status, headers } of [a, b, ...problems]) {
    expect(status).to.equal(503)
    expect(headers['retry-after']).to.match(/^\d+$/)
  }
}

describe('a request whose database', () => {
  let api: Api
  const opened: Database[] = []

  const begin = async (database: Database, ask: (db: Db) => Promise<unknown>): Promise<void> => {
    const { db, ping } = database
    api = await startApi({
      endpoints: asking(ask, db),
      server: { checks: () => [{ name: 'database', check: ping }] },
    })
  }

  afterEach(async () => {
    await api.close()
    for (const database of opened.splice(0)) await database.close()
  })

  const failing = (code: string) => () =>
    Promise.reject(Object.assign(new Error('could not extend file'), { code }))

  for (const code of ['53100', '53300', '57P01', '57P02', '57P03']) {
    it(`fails with ${code} is answered 503 in each form, and never 500`, async () => {
      await begin(await freshDatabase(), failing(code))
      await expectUnavailable(api)
    })
  }

  it('holds a lock for too long is answered 503 as well, and may come again', async () => {
    await begin(await freshDatabase(), failing('55P03'))
    const answer = await api.send({ url: '/api/asked' })
    expect(answer.status).to.equal(503)
    expect(answer.body['code']).to.equal('unavailable')
    expect(answer.headers['retry-after']).to.equal('1')
  })

  if (process.env['DATABASE_URL'] !== undefined) {
    const select = (db: Db) => sql`select 1`.execute(db)
    const open = async (url: string): Promise<Database> => {
      const database = await openDatabase({ url, connections: 2 })
      opened.push(database)
      return database
    }
    /** Somebody whose means are small. */
    const poorUser = async (means: string): Promise<string> => {
      const url = new URL((await emptyDatabaseUrl()) ?? '')
      const { db } = await open(url.href)
      const lacks = means.startsWith('set') ? 'room' : 'connections'
      const role = `quittance_poor_${process.pid}_${lacks}`
      await sql.raw(`drop role if exists ${role}`).execute(db)
      await sql.raw(`create role ${role} login`).execute(db)
      await sql.raw(`alter role ${role} ${means}`).execute(db)
      url.username = role
      return url.href
    }
    const readiness = async () => {
      const answer = await api.server.inject({ url: '/readyz' })
      return { status: answer.statusCode, parts: answer.json().parts }
    }

    it('is down is answered 503, and /readyz says so', async () => {
      const proxy = await startFreezingProxy((await emptyDatabaseUrl()) ?? '')
      await begin(await open(proxy.url), select)
      expect((await api.send({ url: '/api/asked' })).status).to.equal(200)
      await proxy.stop()
      await expectUnavailable(api)
      const { status, parts } = await readiness()
      expect([status, parts.database.status]).to.deep.equal([503, 'failed'])
    })

    it('has no connection left is answered 503, and /readyz says so', async () => {
      const database = await open(await poorUser('connection limit 1'))
      await begin(database, (db) =>
        db.transaction().execute(async (held) => {
          await select(held)
          await select(db)
        }),
      )
      await expectUnavailable(api)
      const { status, parts } = await readiness()
      expect([status, parts.database.status]).to.deep.equal([503, 'failed'])
    })

    it('has no room left is answered 503, and /readyz says so', async () => {
      const database = await open(await poorUser("set temp_file_limit = '64kB'"))
      await begin(database, (db) =>
        sql`select count(*) from (
          select n, random() as r from generate_series(1, 500000) as n order by r
        ) as sorted`.execute(db),
      )
      await expectUnavailable(api)
      const { status, parts } = await readiness()
      expect([status, parts.database.status]).to.deep.equal([503, 'failed'])
    })
  }
})
