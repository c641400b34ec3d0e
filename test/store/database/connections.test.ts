import { expect } from 'chai'
import { sql } from 'kysely'

import { codeOf } from '../../../src/base/errors.ts'
import { limits } from '../../../src/base/limits.ts'
import { PATIENCE, type Patience } from '../../../src/store/database/connections.ts'
import { openDatabase, type Database } from '../../../src/store/database/database.ts'
import { troubleOf } from '../../../src/store/database/trouble.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { emptyDatabaseUrl } from '../../fixtures/store/database.ts'
import { startFreezingProxy, type FreezingProxy } from '../../fixtures/store/freezing-proxy.ts'
import { startRefusingServer } from '../../fixtures/store/refusing-server.ts'

/** As short as a busy machine allows. */
const SHORT: Patience = { ...PATIENCE, answerMs: 1000, connectMs: 2000 }

describe('a database that cannot be used', () => {
  for (const state of ['53300', '57P03', '28P01']) {
    it(`is unavailable where it lets nobody in, as with ${state}`, async () => {
      const server = await startRefusingServer([state])
      const patience = { ...PATIENCE, connectMs: 500 }
      const signal = AbortSignal.abort()
      const error = await failureOf(() => openDatabase({ url: server.url, patience, signal }))
      expect(error.details['reason']).to.equal(state)
      await server.stop()
    })
  }

  const trouble: Record<string, string | undefined> = {
    '08006': 'unavailable',
    '53100': 'unavailable',
    '53300': 'unavailable',
    '57P01': 'unavailable',
    '57P02': 'unavailable',
    '57P03': 'unavailable',
    '25P03': 'unavailable',
    '25006': 'unavailable',
    '55P03': 'busy',
    '57014': 'busy',
    '40P01': 'busy',
    '23505': undefined,
    '42601': undefined,
    '22003': undefined,
  }
  for (const [code, wanted] of Object.entries(trouble)) {
    it(`is ${wanted ?? 'as usable as before'} by ${code}`, () => {
      expect(troubleOf(Object.assign(new Error('no'), { code }))).to.equal(wanted)
    })
  }

  it('is no mistake of ours', () => {
    expect(troubleOf(new TypeError('x is not a function'))).to.equal(undefined)
    expect(troubleOf('53100')).to.equal(undefined)
  })
})

const server = process.env['DATABASE_URL']
// There is a connection to be frozen on a server alone.
if (server !== undefined) {
  describe('connections that are frozen', () => {
    let proxy: FreezingProxy
    let database: Database
    const broken: string[] = []

    const begin = async (options: { patience: Patience; connections: number }): Promise<void> => {
      proxy = await startFreezingProxy((await emptyDatabaseUrl()) ?? '')
      const onBroken = (error: Error) => void broken.push(error.message)
      database = await openDatabase({ url: proxy.url, onBroken, ...options })
    }

    beforeEach(() => broken.splice(0))

    afterEach(async () => {
      await proxy.stop()
      await database.close()
    })

    it('are thrown away, and the next query has another one', async () => {
      await begin({ patience: SHORT, connections: 1 })
      await database.ping()
      proxy.freeze()
      const error = await failureOf(() => database.ping())
      expect(error.code).to.equal('database_unavailable')
      expect(troubleOf(error)).to.equal('unavailable')
      expect(broken).to.have.length(1)
      await database.ping()
    })

    it('end a transaction with one silence, not with two', async () => {
      await begin({ patience: { ...SHORT, answerMs: 3000 }, connections: 1 })
      const startedAt = performance.now()
      const error = await failureOf(() =>
        database.db.transaction().execute(async (open) => {
          await sql`select 1`.execute(open)
          proxy.freeze()
          await sql`select 2`.execute(open)
        }),
      )
      expect(error.code).to.equal('database_unavailable')
      // A rollback on the same connection would wait as long again.
      expect(performance.now() - startedAt).to.be.lessThan(5500)
      await database.ping()
    })

    it('keep nothing from stopping: nobody waits for their goodbye', async () => {
      await begin({ patience: SHORT, connections: 1 })
      await database.ping()
      proxy.freeze()
      await database.close()
    })

    it('leave nothing locked: the server ends a transaction that goes silent', async () => {
      await begin({ patience: { ...SHORT, idleMs: 500 }, connections: 2 })
      const { db } = database
      await sql`create table lanes (id int)`.execute(db)
      await sql`insert into lanes values (1)`.execute(db)
      const holding = db.transaction().execute(async (open) => {
        await sql`select * from lanes for update`.execute(open)
        proxy.freeze()
        await sql`select 2`.execute(open)
      })
      const [held] = await Promise.allSettled([holding])
      expect(held.status).to.equal('rejected')
      const { rows } = await sql`select * from lanes for update`.execute(db)
      expect(rows).to.deep.equal([{ id: 1 }])
    })
  })

  describe('a crowd', () => {
    let database: Database

    beforeEach(async () => {
      database = await openDatabase({ url: await emptyDatabaseUrl() })
    })

    afterEach(() => database.close())

    it('is served by a few connections, each of which is a process of the server', async () => {
      const { db } = database
      const startedAt = performance.now()
      await Promise.all(Array.from({ length: 60 }, () => sql`select 1`.execute(db)))
      const turns = Math.ceil((performance.now() - startedAt) / limits.databaseTurnMs)
      const { rows } = await sql<{ count: number }>`
        select count(*)::integer as count from pg_stat_activity
        where datname = current_database()`.execute(db)
      // In each turn that passes meanwhile, as on a busy machine, as many again may be opened.
      expect(rows[0]!.count).to.be.within(2, turns * limits.databaseTurns)
    })

    it('waits no longer than a turn where all of those take nearly as long', async () => {
      const { db } = database
      const seconds = (0.9 * limits.databaseTurnMs) / 1000
      const work = () =>
        Promise.all(Array.from({ length: 40 }, () => sql`select pg_sleep(${seconds})`.execute(db)))
      // The first time all connections are opened.
      await work()
      const startedAt = performance.now()
      await work()
      // Four at a time, all the time, would take nine.
      const turns = (performance.now() - startedAt) / limits.databaseTurnMs
      expect(turns).to.be.within(2, 8)
    })

    it('waits for none of those that keep theirs for long', async () => {
      const { db } = database
      const { promise, resolve } = Promise.withResolvers<void>()
      const holding = Array.from({ length: 2 * limits.databaseTurns }, () =>
        db.transaction().execute(() => promise),
      )
      await sql`select 1`.execute(db)
      const startedAt = performance.now()
      for (let asked = 0; asked < 10; asked += 1) await sql`select 1`.execute(db)
      expect(performance.now() - startedAt).to.be.lessThan(5 * limits.databaseTurnMs)
      resolve()
      await Promise.all(holding)
    })
  })

  describe('a lock that somebody else holds', () => {
    it('is waited for no longer than the limit, and then the database is busy', async () => {
      const url = await emptyDatabaseUrl()
      const patience = { ...PATIENCE, lockMs: 300 }
      const database = await openDatabase({ url, patience, connections: 2 })
      const { db } = database
      await sql`create table lanes (id int)`.execute(db)
      await sql`insert into lanes values (1)`.execute(db)
      await db.transaction().execute(async (open) => {
        await sql`select * from lanes for update`.execute(open)
        const waiting = sql`select * from lanes for update`.execute(db)
        const [waited] = await Promise.allSettled([waiting])
        const reason = waited.status === 'rejected' ? waited.reason : undefined
        expect([codeOf(reason), troubleOf(reason)]).to.deep.equal(['55P03', 'busy'])
      })
      await database.close()
    })
  })
}
