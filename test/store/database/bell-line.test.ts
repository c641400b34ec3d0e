import { setTimeout } from 'node:timers/promises'

import { expect } from 'chai'
import { sql } from 'kysely'

import { createBells, type Bells } from '../../../src/base/bells.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { createLogger } from '../../../src/base/logger.ts'
import { runBellLine } from '../../../src/store/database/bell-line.ts'
import { openDatabase, type Database } from '../../../src/store/database/database.ts'
import { emptyDatabaseUrl } from '../../fixtures/store/database.ts'
import { until } from '../../fixtures/until.ts'

const LISTENERS = `select count(*)::integer as count from pg_stat_activity
  where datname = current_database() and query = 'listen quittance'`

if (process.env['DATABASE_URL'] !== undefined) {
  describe('bells of processes that share a server', () => {
    let database: Database
    let end: AbortController
    let running: Promise<void>[]
    let heard: string[]
    let connect: (at?: string) => Bells
    let address: string
    let one: Bells
    let other: Bells

    beforeEach(async () => {
      address = (await emptyDatabaseUrl()) ?? ''
      database = await openDatabase({ url: address })
      end = new AbortController()
      heard = []
      const logger = createLogger({ level: 'silent' })
      const deps = { db: database.db, clock: systemClock, logger, signal: end.signal }
      connect = (at = address) => {
        const bells = createBells()
        running.push(runBellLine(bells, { ...deps, url: at }))
        return bells
      }
      running = []
      one = connect()
      other = connect()
      for (const [name, bells] of Object.entries({ one, other })) {
        bells.of('sender of 1').listen(() => heard.push(name))
      }
      await until(async () => (await listeners()) === 2)
    })
    afterEach(async () => {
      end.abort()
      await Promise.all(running)
      await database.close()
    })

    const listeners = async (): Promise<number> => {
      const { rows } = await sql.raw<{ count: number }>(LISTENERS).execute(database.db)
      return rows[0]?.count ?? 0
    }

    it('are heard in the others, and once where they are rung', async () => {
      one.of('sender of 1').ring()
      await until(async () => heard.length === 2)
      await setTimeout(100)
      expect(heard).to.deep.equal(['one', 'other'])
    })

    it('are told once for many in a moment, the last one too', async () => {
      for (let ring = 0; ring < 50; ring++) one.of('sender of 1').ring()
      await setTimeout(200)
      expect(heard.filter((name) => name === 'other')).to.have.length(2)
    })

    it('are heard again after the connection broke', async () => {
      await sql
        .raw(
          `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query = 'listen quittance'`,
        )
        .execute(database.db)
      // The server may count the old connections for a moment, so one ring may be heard by nobody.
      await until(async () => {
        one.of('sender of 1').ring()
        return heard.includes('other')
      })
      await until(async () => other.of('sender of 1').isHeard())
    })

    it('are not heard behind PgBouncer, where each process only polls', async () => {
      const pooled = connect(`${address}?pgbouncer=true`)
      await running.at(-1)
      expect([one, pooled].map((bells) => bells.of('sender of 1').isHeard())).to.deep.equal([
        true,
        false,
      ])
    })
  })
}
