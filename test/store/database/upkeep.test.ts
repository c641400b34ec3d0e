import { expect } from 'chai'
import { sql } from 'kysely'

import type { Database } from '../../../src/store/database/database.ts'
import { vacuumNext } from '../../../src/store/database/upkeep.ts'
import { embeddedDatabase } from '../../fixtures/store/database.ts'
import { fillUnmigrated } from '../../fixtures/store/prepared-data.ts'

describe('the tables of an embedded database', () => {
  let database: Database

  before(async () => {
    database = await embeddedDatabase(fillUnmigrated)
  })
  after(() => database.close())

  it('are cleared and known again after many changes, and are left alone after few', async () => {
    const { db } = database
    await sql`create table busy as select generate_series(1, 1000) as n, 0 as changes`.execute(db)
    await sql`create table calm as select generate_series(1, 40) as n`.execute(db)
    await sql`update busy set changes = 1 where n <= 500`.execute(db)
    expect(await vacuumAll(), 'one after the other').to.deep.equal(['busy', 'busy'])
    expect(await stateOf('busy')).to.deep.equal({ dead: 0, rows: 1000, cleared: 1, known: 1 })
    await sql`update busy set changes = 2 where n <= 200`.execute(db)
    expect(await vacuumAll()).to.deep.equal(['busy'])
    expect(await stateOf('busy'), 'not dirty enough').to.include({
      dead: 200,
      cleared: 1,
      known: 2,
    })
    await sql`update busy set changes = 3 where n <= 60`.execute(db)
    expect(await vacuumAll(), 'dirty enough').to.deep.equal(['busy'])
    expect(await stateOf('busy'), 'known well enough').to.include({ dead: 0, cleared: 2, known: 2 })
    expect(await vacuumAll()).to.deep.equal([])
  })

  it('are looked at in a fifth of what a server reads, for all wait meanwhile', async () => {
    const { db } = database
    await sql`create table known as select generate_series(1, 1000) as n`.execute(db)
    await vacuumAll()
    const { rows } = await sql<{ bounds: number }>`
      select array_length(histogram_bounds::text::int[], 1) as bounds from pg_stats
      where tablename = 'known'`.execute(db)
    expect(rows).to.deep.equal([{ bounds: 21 }])
  })

  /** What was tended, in its order. */
  const vacuumAll = async (): Promise<string[]> => {
    await told(database)
    const names: string[] = []
    for (let name = await vacuumNext(database.db); name; name = await vacuumNext(database.db)) {
      names.push(name)
      await told(database)
    }
    return names
  }

  const stateOf = async (name: string) => {
    const { rows } = await sql<{ dead: number; rows: number; cleared: number; known: number }>`
      select n_dead_tup::integer as dead, reltuples::integer as rows,
        vacuum_count::integer as cleared, analyze_count::integer as known
      from pg_stat_user_tables join pg_class on oid = relid
      where pg_class.relname = ${name}`.execute(database.db)
    return rows[0]
  }
})

/** What was counted is known to others a moment later, unless it is asked for. */
async function told({ db }: Database): Promise<void> {
  await sql`select pg_stat_force_next_flush()`.execute(db)
}
