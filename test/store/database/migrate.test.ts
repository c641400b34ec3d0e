import { readdirSync } from 'node:fs'

import { expect } from 'chai'
import { sql } from 'kysely'

import { openDatabase, type Database } from '../../../src/store/database/database.ts'
import { migrate, migratorOf, readSchemaState } from '../../../src/store/database/migrate.ts'
import { expectFailure, failureOf } from '../../fixtures/errors.ts'
import { emptyDatabase, emptyDatabaseUrl } from '../../fixtures/store/database.ts'

const names = readdirSync('src/store/migrations').map((file) => file.replace('.sql', ''))

describe('migrate', () => {
  let database: Database

  afterEach(() => database.close())

  it('applies the numbered files in order, and then nothing', async () => {
    database = await emptyDatabase()
    expect(await readSchemaState(database.db)).to.deep.equal({ applied: [], pending: names })
    expect(await migrate(database.db)).to.deep.equal(names)
    expect(await migrate(database.db)).to.deep.equal([])
    expect(await readSchemaState(database.db)).to.deep.equal({ applied: names, pending: [] })
  })

  for (const [age, name] of [
    ['newer', '9999_later'],
    ['older', '0024_checkout_reorgs'],
  ] as const) {
    it(`refuses the schema of a ${age} program, and names what it does not know`, async () => {
      database = await emptyDatabase()
      const { db } = database
      await migrate(db)
      await sql`insert into migrations (name, timestamp) values (${name}, '')`.execute(db)
      for (const use of [migrate, readSchemaState]) {
        const { message } = await expectFailure(() => use(db), 'schema_unknown')
        expect(message).to.include(name)
      }
    })
  }

  it('numbers its files without gaps', () => {
    const numbers = names.map((name) => Number(name.slice(0, 4)))
    expect(numbers).to.deep.equal(numbers.map((_, index) => index + 1))
  })

  it('gives a coin to the chains of a database that had none, in a file of its own', async () => {
    database = await emptyDatabase()
    const { db } = database
    await migratorOf(db).migrateTo('0014_key_use')
    await sql`insert into chains (chain_id, name, code) values (8453, 'base', 'BASE')`.execute(db)
    expect(await migrate(db)).to.include('0015_coins')
    const { rows } = await sql`select coin from chains`.execute(db)
    expect(rows).to.deep.equal([{ coin: 'ETH' }])
  })

  it('leaves nothing of a migration that fails, and says which', async () => {
    database = await emptyDatabase()
    await sql`create table installation (id int)`.execute(database.db)
    const error = await failureOf(() => migrate(database.db))
    expect(error.code).to.equal('migration_failed')
    expect(error.message).to.include('0001_installation')
    expect((await readSchemaState(database.db)).applied).to.deep.equal([])
  })

  it('says what a row stands against, and nothing of the row', async () => {
    database = await emptyDatabase()
    const { db } = database
    await migrate(db)
    await sql`delete from migrations where name >= '0011'`.execute(db)
    await sql`create function refuse_receipts() returns event_trigger language plpgsql as $$
      begin raise exception using errcode = 'check_violation', table = 'accounts',
        constraint = 'as_before', message = 'Failing row contains (a secret)'; end $$`.execute(db)
    await sql`drop table receipts, overview_samples, overview_spans`.execute(db)
    await sql`create event trigger refusing on ddl_command_start execute function
      refuse_receipts()`.execute(db)
    const { code, message } = await failureOf(() => migrate(db))
    expect(code).to.equal('migration_failed')
    expect(message).to.include('Migration 0011_overview failed')
    expect(message).to.include('23514 accounts as_before').and.not.include('secret')
  })

  it('lets processes that start together take turns', async () => {
    const url = await emptyDatabaseUrl()
    database = url === undefined ? await emptyDatabase() : await openDatabase({ url })
    const others =
      url === undefined ? [] : await Promise.all([1, 2, 3].map(() => openDatabase({ url })))
    const applied = await Promise.all([database, ...others].map(({ db }) => migrate(db)))
    expect(applied.flat()).to.have.members(names)
    for (const other of others) await other.close()
  })

  if (process.env['DATABASE_URL'] !== undefined) {
    it('refuses a database that counts a text by its bytes, and leaves it empty', async () => {
      const url = await emptyDatabaseUrl({ encoding: 'SQL_ASCII' })
      database = await openDatabase({ url: url! })
      for (const use of [migrate, readSchemaState]) {
        const { message } = await expectFailure(() => use(database.db), 'encoding_unsupported')
        expect(message).to.include('SQL_ASCII').and.include("encoding 'UTF8'")
      }
      const { rows } = await sql`
        select from pg_tables where schemaname = current_schema()`.execute(database.db)
      expect(rows).to.have.length(0)
    })

    it('may take longer than the statements of a request', async () => {
      const url = new URL((await emptyDatabaseUrl())!)
      url.searchParams.set('statement_timeout', '1000')
      database = await openDatabase({ url: url.href })
      const { db } = database
      await sql`create sequence altered`.execute(db)
      await sql`
        create function wait() returns event_trigger language plpgsql as $$
        begin if nextval('altered') = 1 then perform pg_sleep(2); end if; end $$`.execute(db)
      await sql`
        create event trigger slow on ddl_command_start when tag in ('CREATE TRIGGER')
        execute function wait()`.execute(db)
      expect(await migrate(db)).to.deep.equal(names)
      const { rows } = await sql`show statement_timeout`.execute(db)
      expect(rows).to.deep.equal([{ statement_timeout: '1s' }])
    })
  }
})
