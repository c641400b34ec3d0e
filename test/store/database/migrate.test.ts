import { readdirSync, readFileSync } from 'node:fs'

import { expect } from 'chai'
import { sql } from 'kysely'

import { openDatabase, type Database, type Db } from '../../../src/store/database/database.ts'
import { storeAnswers } from '../../../src/store/access/idempotency.ts'
import { migrate, readSchemaState } from '../../../src/store/database/migrate.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { emptyDatabase, emptyDatabaseUrl } from '../../fixtures/store/database.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { storePaidOrders } from '../../fixtures/store/paid-orders.ts'

const names = readdirSync('src/store/migrations').map((file) => file.replace('.sql', ''))

const PARTIES = {
  chainId: 1,
  contract: `0x${'cc'.repeat(20)}`,
  signer: `0x${'aa'.repeat(20)}`,
  payee: `0x${'bb'.repeat(20)}`,
} as const

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

  it('says what a row stands against, and nothing of the row', async () => {
    database = await emptyDatabase()
    const { db } = database
    await migrate(db)
    const { id: userId } = await makeUser(db)
    const answer = { userId, operation: 'createMint', key: 'k', fingerprint: 'f', status: 201 }
    await storeAnswers(db, [{ ...answer, body: 'a secret answer' }])
    await sql`delete from migrations where name >= '0034'`.execute(db)
    await sql`alter table idempotent_requests add constraint as_before
      check (operation not like 'a.%')`.execute(db)
    const { code, message } = await failureOf(() => migrate(db))
    expect(code).to.equal('migration_failed')
    expect(message).to.include('Migration 0034_operations_by_group failed')
    expect(message).to.include('23514 idempotent_requests as_before').and.not.include('secret')
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

  it('finds the order of each settlement that an older program stored', async () => {
    database = await emptyDatabase()
    const { db } = database
    await migrate(db)
    await undoOwnSettlements(db)
    await storePaidOrders(db, { ...PARTIES, count: 2 })
    const { chainId, contract, payee } = PARTIES
    for (const number of [1, 2, 3]) {
      const word = `0x${String(number).padStart(64, '0')}`
      await sql`
        insert into settled_logs (chain_id, contract, block_number, log_index, block_hash, hash,
          reference, payer, payee, amount)
        values (${chainId}, ${contract}, ${number}, 0, ${word}, ${word}, ${word},
          ${PARTIES.signer}, ${payee}, 5)`.execute(db)
    }
    const script = readFileSync('src/store/migrations/0021_own_settlements.sql', 'utf8')
    await sql.raw(`do $$ begin ${script} end $$`).execute(db)
    const { rows } = await sql<{ subject: string | null }>`
      select subject from settled_logs left join orders on id = order_id
      order by block_number`.execute(db)
    const found = rows.map(({ subject }) => subject)
    expect(found).to.deep.equal([`TX${'1'.padStart(20, '0')}`, `TX${'2'.padStart(20, '0')}`, null])
  })

  it('leaves each stored key with the operation that answered it', async () => {
    database = await emptyDatabase()
    const { db } = database
    await migrate(db)
    const { id: userId } = await makeUser(db)
    const before = [
      ['createPayment', '{"data":{"id":"1"}}'],
      ['createPayment', '{"success":true,"transaction_id":"TX1"}'],
      ['createTransfer', '{"data":{"id":"2"}}'],
      ['createTransfer', '{"success":true,"transaction_id":"TX2"}'],
      ['createMint', '{"data":{"id":"3"}}'],
      ['createBlockchainTransaction', '{"success":true,"transaction_id":"TX3"}'],
    ] as const
    const answers = before.map(([operation, body], index) => ({
      userId,
      operation,
      body,
      key: `key-${index}`,
      fingerprint: 'f',
      status: 201,
    }))
    await storeAnswers(db, answers)
    const script = readFileSync('src/store/migrations/0034_operations_by_group.sql', 'utf8')
    await sql.raw(`do $$ begin ${script} end $$`).execute(db)
    const { rows } = await sql<{ operation: string }>`
      select operation from idempotent_requests order by key`.execute(db)
    expect(rows.map(({ operation }) => operation)).to.deep.equal([
      'a.createPayment',
      'b.createPayment',
      'a.createTransfer',
      'b.createTransfer',
      'a.createMint',
      'b.createBlockchainTransaction',
    ])
  })

  if (process.env['DATABASE_URL'] !== undefined) {
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
        create event trigger slow on ddl_command_start when tag in ('ALTER TABLE')
        execute function wait()`.execute(db)
      expect(await migrate(db)).to.deep.equal(names)
      const { rows } = await sql`show statement_timeout`.execute(db)
      expect(rows).to.deep.equal([{ statement_timeout: '1s' }])
    })
  }
})

/** As the schema was before migration 0021. */
async function undoOwnSettlements(db: Db): Promise<void> {
  const statements = [
    sql`alter table settled_logs drop column order_id`,
    sql`create index settled_logs_reference on settled_logs (chain_id, reference)`,
    sql`create index settled_logs_payer on settled_logs (chain_id, payer, block_number)`,
  ]
  for (const statement of statements) await statement.execute(db)
}
