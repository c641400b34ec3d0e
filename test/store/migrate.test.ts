import { readdirSync } from 'node:fs'

import { expect } from 'chai'
import { sql } from 'kysely'

import { openDatabase, type Database } from '../../src/store/database.ts'
import { migrate, readSchemaState } from '../../src/store/migrate.ts'
import { emptyDatabase, emptyDatabaseUrl } from '../support/database.ts'
import { failureOf } from '../support/errors.ts'

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

  it('refuses a schema that is newer than the program', async () => {
    database = await emptyDatabase()
    await migrate(database.db)
    await sql`insert into migrations (name, timestamp) values ('9999_later', '')`.execute(
      database.db,
    )
    expect((await failureOf(() => migrate(database.db))).code).to.equal('schema_too_new')
    expect((await failureOf(() => readSchemaState(database.db))).code).to.equal('schema_too_new')
  })

  it('leaves nothing of a migration that fails, and says which', async () => {
    database = await emptyDatabase()
    await sql`create table installation (id int)`.execute(database.db)
    const error = await failureOf(() => migrate(database.db))
    expect(error.code).to.equal('migration_failed')
    expect(error.message).to.include('0001_installation')
    expect((await readSchemaState(database.db)).applied).to.deep.equal([])
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
})
