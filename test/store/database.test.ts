import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import { sql } from 'kysely'

import { openDatabase } from '../../src/store/database.ts'
import { freshDatabase } from '../support/database.ts'
import { failureOf } from '../support/errors.ts'
import { temporaryFolder } from '../support/folder.ts'

describe('the database', () => {
  it('gives exact values of the same types on both engines', async () => {
    const { db } = await freshDatabase()
    const { rows } = await sql<Record<string, unknown>>`
      select 9007199254740993::int8 as large, 1::int8 as small, 7 as plain,
        1.000000000000000001::numeric as amount, '2026-02-28'::date as day,
        '\\xdeadbeef'::bytea as bytes, '2026-01-01T00:00:00.123Z'::timestamptz as at,
        '{"a":[1]}'::jsonb as tree, true as yes, null as nothing`.execute(db)
    expect(rows).to.deep.equal([
      {
        large: 9007199254740993n,
        small: 1n,
        plain: 7,
        amount: '1.000000000000000001',
        day: '2026-02-28',
        bytes: '0xdeadbeef',
        at: new Date('2026-01-01T00:00:00.123Z'),
        tree: { a: [1] },
        yes: true,
        nothing: null,
      },
    ])
  })

  it('keeps a query of another caller out of an open transaction', async () => {
    const { db } = await freshDatabase()
    const rolledBack = db.transaction().execute(async (transaction) => {
      await sql`insert into installation (environment, chain_id) values ('sandbox', 1)`.execute(
        transaction,
      )
      throw new Error('rolled back')
    })
    const outside = sql`select count(*) as count from installation`.execute(db)
    expect(await rolledBack.catch((error: Error) => error.message)).to.equal('rolled back')
    expect((await outside).rows).to.deep.equal([{ count: 0n }])
  })

  if (process.env['DATABASE_URL'] !== undefined) {
    it('has no plan compiled', async () => {
      const { db } = await freshDatabase()
      const { rows } = await sql`show jit`.execute(db)
      expect(rows).to.deep.equal([{ jit: 'off' }])
    })

    it('survives a connection that breaks within a transaction', async () => {
      const { db, ping } = await freshDatabase()
      const broken = db.transaction().execute(async (open) => {
        await sql`select pg_terminate_backend(pg_backend_pid())`.execute(open)
      })
      const [result] = await Promise.allSettled([broken])
      expect(result.status).to.equal('rejected')
      await ping()
    })
  }

  it('creates the embedded one whole: what a killed start left is begun again', async () => {
    const folder = temporaryFolder()
    const data = join(folder.path, 'database')
    mkdirSync(`${data}.new/base`, { recursive: true })
    const database = await openDatabase({ folder: data })
    await database.ping()
    await database.close()
    expect(existsSync(`${data}.new`)).to.equal(false)
    folder.remove()
  })

  it('names a server that does not answer, without its password', async () => {
    const error = await failureOf(() =>
      openDatabase({ url: 'postgres://me:hunter2@127.0.0.1:1/x' }),
    )
    expect(error.code).to.equal('database_unreachable')
    expect(error.message).to.include('127.0.0.1:1/x')
    expect(error.message).not.to.include('hunter2')
  })
})
