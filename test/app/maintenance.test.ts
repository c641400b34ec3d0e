import { once } from 'node:events'

import { expect } from 'chai'
import { sql } from 'kysely'

import { startMaintenance } from '../../src/app/maintenance.ts'
import type { Clock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { createJumpingClock } from '../fixtures/clock.ts'
import { embeddedDatabase, freshDatabase } from '../fixtures/store/database.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'

const ROUND_MS = 60_000

describe('maintenance', () => {
  it('removes what a flood left and makes room of it, and keeps what is in use', async () => {
    const database = await freshDatabase()
    const { db } = database
    await sql`
      insert into rate_limits (bucket, units, last_slot, updated_at)
      select 'failures/' || n, array_fill(0, array[61]), 0,
        case when n > 2500 then timestamptz '2026-01-01 11:30Z' else '2026-01-01 10:00Z' end
      from generate_series(1, 2501) n`.execute(db)
    const second = Promise.withResolvers<void>()
    let rounds = 0
    const clock: Clock = {
      now: () => new Date('2026-01-01T12:00:00Z'),
      async sleep(ms, signal) {
        if (ms < ROUND_MS) return
        // What the first round did is known to the second one.
        await sql`select pg_stat_force_next_flush()`.execute(db)
        rounds += 1
        if (rounds === 1) return
        second.resolve()
        await once(signal, 'abort')
      },
    }
    const stopping = new AbortController()
    const { signal } = stopping
    const maintenance = startMaintenance({
      database,
      clock,
      signal,
      logger: createLogger({ level: 'silent' }),
    })
    await second.promise
    stopping.abort()
    await maintenance.stop()
    const { rows } = await sql<{ bucket: string }>`select bucket from rate_limits`.execute(db)
    expect(rows).to.deep.equal([{ bucket: 'failures/2501' }])
    if (database.kind === 'server') return
    const { rows: tables } = await sql<{ dead: number; isTended: boolean }>`
      select n_dead_tup::integer as dead, last_vacuum is not null as "isTended"
      from pg_stat_user_tables where relname = 'rate_limits'`.execute(db)
    expect(tables, 'nobody else does it here').to.deep.equal([{ dead: 0, isTended: true }])
  })

  it('gives others their turn after each table of the embedded database', async () => {
    const database = await embeddedDatabase(fillDataFolder)
    const { db } = database
    for (const name of ['busy', 'busier']) {
      await sql`create table ${sql.table(name)} as select generate_series(1, 100)`.execute(db)
    }
    await sql`select pg_stat_force_next_flush()`.execute(db)
    const clock = createJumpingClock()
    const stopping = new AbortController()
    const { signal } = stopping
    const sleep: Clock['sleep'] = (ms, ending) => {
      if (ms === ROUND_MS) stopping.abort()
      return clock.sleep(ms, ending)
    }
    const logger = createLogger({ level: 'silent' })
    await startMaintenance({ database, clock: { ...clock, sleep }, signal, logger }).stop()
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_stat_user_tables where last_analyze is not null`.execute(db)
    expect(rows.map(({ name }) => name)).to.include.members(['busy', 'busier'])
    expect(clock.slept.filter((ms) => ms === 1000)).to.have.length(rows.length)
    await database.close()
  })
})
