import { expect } from 'chai'
import { sql } from 'kysely'

import type { Database, Db } from '../../../src/store/database/database.ts'
import { transact } from '../../../src/store/database/transact.ts'
import { emptyDatabase } from '../../fixtures/store/database.ts'

// The embedded database has one connection, on which nobody waits for anybody.
if (process.env['DATABASE_URL'] !== undefined) {
  describe('transact', () => {
    let database: Database

    before(async () => {
      database = await emptyDatabase()
      await sql`create table counts (id int primary key, value int not null)`.execute(database.db)
      await sql`insert into counts values (1, 0), (2, 0)`.execute(database.db)
    })
    after(() => database.close())

    it('begins again what was ended for two that waited for each other', async () => {
      const { db } = database
      const both = Promise.withResolvers<void>()
      let tries = 0
      const work = (ids: readonly [number, number]) => async (open: Db) => {
        await count(open, ids[0])
        tries += 1
        if (tries === 2) both.resolve()
        await both.promise
        await count(open, ids[1])
      }
      await Promise.all([transact(db, work([1, 2])), transact(db, work([2, 1]))])
      const { rows } = await sql<{ value: number }>`select value from counts`.execute(db)
      expect(rows).to.deep.equal([{ value: 2 }, { value: 2 }])
      expect(tries).to.be.above(2)
    })
  })
}

async function count(db: Db, id: number): Promise<void> {
  await sql`update counts set value = value + 1 where id = ${id}`.execute(db)
}
