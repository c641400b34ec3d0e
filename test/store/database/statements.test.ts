import { expect } from 'chai'
import { sql } from 'kysely'

import { openDatabase, type Database, type Db } from '../../../src/store/database/database.ts'
import { createPrepared } from '../../../src/store/database/statements.ts'
import { troubleOf } from '../../../src/store/database/trouble.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { emptyDatabaseUrl } from '../../fixtures/store/database.ts'

const lost = (code: string): Error => Object.assign(new Error('lost'), { code })

describe('the names of statements', () => {
  it('are for what is used again and again, and for so many', () => {
    const { nameOf } = createPrepared()
    const uses = [1, 2, 3, 4].map(() => nameOf('select 1'))
    expect(uses.slice(0, 2)).to.deep.equal([undefined, undefined])
    expect(uses[2]).to.be.a('string')
    expect(uses[3]).to.equal(uses[2])
    const names = Array.from({ length: 2000 }, (_, at) => {
      const use = () => nameOf(`select ${at} as other`)
      use()
      use()
      return use()
    })
    expect(new Set(names.filter((name) => name !== undefined)).size).to.equal(255)
    expect(nameOf('select 1')).to.equal(uses[2])
  })

  it('end where a server does not keep them, and a changed plan costs its connection', () => {
    const { nameOf, isLost } = createPrepared()
    const use = () => [1, 2, 3].map(() => nameOf('select 1')).at(-1)
    expect(use()).to.be.a('string')
    expect(isLost(lost('23505'))).to.equal(false)
    expect(isLost(lost('0A000'))).to.equal(true)
    expect(use()).to.be.a('string')
    expect(isLost(lost('26000'))).to.equal(true)
    expect(use()).to.equal(undefined)
  })
})

const server = process.env['DATABASE_URL']
// The embedded database has one session, and no names.
if (server !== undefined) {
  describe('a server', () => {
    let database: Database
    let url: string

    beforeEach(async () => {
      url = (await emptyDatabaseUrl()) ?? ''
      database = await openDatabase({ url, connections: 1 })
    })
    afterEach(() => database.close())

    const useOften = async (db: Db): Promise<void> => {
      for (let use = 0; use < 5; use++) await sql`select ${use}::int + 7`.execute(db)
    }
    const inTransaction = () => database.db.transaction().execute(useOften)
    const kept = async (): Promise<number> => {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int from pg_prepared_statements where statement like '%+ 7'`.execute(
        database.db,
      )
      return rows[0]!.count
    }

    it('keeps what transactions use often, and nothing that only reads', async () => {
      await useOften(database.db)
      expect(await kept()).to.equal(0)
      await inTransaction()
      expect(await kept()).to.equal(1)
      // On the connection that the transaction had.
      const read = sql`select ${1}::int + 8 + 7`
      for (let use = 0; use < 5; use++) await read.execute(database.db)
      expect(await kept()).to.equal(1)
    })

    it('keeps nothing behind a pooler', async () => {
      const name = new URL(url).pathname.slice(1)
      for (const limit of [
        'statement_timeout',
        'lock_timeout',
        'idle_in_transaction_session_timeout',
      ]) {
        await sql.raw(`alter database ${name} set ${limit} = '10s'`).execute(database.db)
      }
      await database.close()
      database = await openDatabase({ url: `${url}?pgbouncer=true`, connections: 1 })
      await inTransaction()
      expect(await kept()).to.equal(0)
    })

    it('that has lost them is used without, on another connection', async () => {
      await inTransaction()
      await sql`deallocate all`.execute(database.db)
      const error = await failureOf(inTransaction)
      expect(error.details['reason']).to.equal('26000')
      expect(troubleOf(error)).to.equal('unavailable')
      await inTransaction()
      expect(await kept()).to.equal(0)
    })
  })
}
