import { once } from 'node:events'

import { expect } from 'chai'
import { sql } from 'kysely'

import { startMaintenance } from '../../src/app/maintenance.ts'
import type { Clock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { freshDatabase } from '../support/database.ts'

describe('maintenance', () => {
  it('removes in one round what a flood left, and keeps what is in use', async () => {
    const { db } = await freshDatabase()
    await sql`
      insert into rate_limits (bucket, units, last_slot, updated_at)
      select 'failures/' || n, array_fill(0, array[61]), 0,
        case when n > 2500 then timestamptz '2026-01-01 11:30Z' else '2026-01-01 10:00Z' end
      from generate_series(1, 2501) n`.execute(db)
    const round = Promise.withResolvers<void>()
    const clock: Clock = {
      now: () => new Date('2026-01-01T12:00:00Z'),
      async sleep(_ms, signal) {
        round.resolve()
        await once(signal, 'abort')
      },
    }
    const stopping = new AbortController()
    const { signal } = stopping
    const maintenance = startMaintenance({
      db,
      clock,
      signal,
      logger: createLogger({ level: 'silent' }),
    })
    await round.promise
    stopping.abort()
    await maintenance.stop()
    const { rows } = await sql<{ bucket: string }>`select bucket from rate_limits`.execute(db)
    expect(rows).to.deep.equal([{ bucket: 'failures/2501' }])
  })
})
