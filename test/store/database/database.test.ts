import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { getHeapSpaceStatistics } from 'node:v8'

import { expect } from 'chai'
import { sql } from 'kysely'

import { openDatabase } from '../../../src/store/database/database.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { exposeCollection } from '../../fixtures/store/garbage.ts'
import { startRefusingServer, type RefusingServer } from '../../fixtures/store/refusing-server.ts'

describe('the database', () => {
  it('gives exact values of the same types on both engines', async () => {
    const { db } = await freshDatabase()
    const { rows } = await sql<Record<string, unknown>>`
      select 9007199254740993::int8 as large, 1::int8 as small, 7 as plain,
        18446744073709551617::numeric as amount, '2026-02-28'::date as day,
        '\\xdeadbeef'::bytea as bytes, '2026-01-01T00:00:00.123Z'::timestamptz as at,
        '{"a":[1]}'::jsonb as tree, true as yes, null as nothing`.execute(db)
    expect(rows).to.deep.equal([
      {
        large: 9007199254740993n,
        small: 1n,
        plain: 7,
        amount: 18446744073709551617n,
        day: '2026-02-28',
        bytes: '0xdeadbeef',
        at: new Date('2026-01-01T00:00:00.123Z'),
        tree: { a: [1] },
        yes: true,
        nothing: null,
      },
    ])
  })

  it('refuses a decimal that is not cast to text', async () => {
    const { db } = await freshDatabase()
    const reading = sql`select 1.5::numeric as amount`.execute(db)
    const answer = await reading.catch((error: unknown) => error)
    expect(answer).to.be.instanceOf(SyntaxError)
    const { rows } = await sql`select 1.5::numeric::text as amount`.execute(db)
    expect(rows).to.deep.equal([{ amount: '1.5' }])
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

  it('leaves nothing of a query to the large collections of garbage', async () => {
    const collect = exposeCollection()
    const { db } = await freshDatabase()
    const read = () => sql`select repeat(${'x'}::text, 5000) as text`.execute(db)
    let [held, added] = [0, 0]
    for (let round = 0; round < 20; round++) {
      const met = read()
      collect({ type: 'minor' })
      await met
      for (let time = 0; time < 100; time++) await read()
      const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')
      const now = old!.space_used_size
      // What is compiled while it warms up stays as well. A large collection makes it less.
      if (round >= 10) added += Math.max(0, now - held)
      held = now
    }
    expect(added).to.be.lessThan(1_000_000)
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

  it('begins the next file of the log of the embedded one without writing it whole', async () => {
    const folder = temporaryFolder()
    const data = join(folder.path, 'database')
    const { db, close } = await openDatabase({ folder: data })
    await sql`select pg_switch_wal()`.execute(db)
    await sql`create table one (n integer)`.execute(db)
    const { rows } = await sql<{ file: string }>`
      select pg_walfile_name(pg_current_wal_lsn()) as file`.execute(db)
    const { size, blocks } = statSync(join(data, 'pg_wal', rows[0]!.file))
    await close()
    expect(size).to.equal(2 ** 24)
    expect(blocks * 512, 'what it takes of the disk').to.be.below(2 ** 20)
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

  describe('waits for a server that is starting', () => {
    let refusing: RefusingServer | undefined
    afterEach(() => refusing?.stop())
    const open = async (codes: readonly string[], signal?: AbortSignal) => {
      refusing = await startRefusingServer(codes)
      let told = 0
      const { url } = refusing
      const error = await failureOf(() =>
        openDatabase({ url, signal, onStarting: () => (told += 1) }),
      )
      return { told, tries: refusing.tries(), reason: error.details['reason'], error }
    }

    it('as after a crash, and tells it once', async () => {
      expect(await open(['57P03', '57P03', '3D000'])).to.include({
        told: 1,
        tries: 3,
        reason: '3D000',
      })
    })

    it('until nobody wants it any more', async () => {
      const { reason, error } = await open(['57P03'], AbortSignal.timeout(300))
      expect(reason).to.equal('57P03')
      expect(error.message).to.include('the server says no').and.include('DATABASE_URL')
    })

    it('and for no other', async () => {
      expect(await open(['28P01'])).to.include({ told: 0, tries: 1, reason: '28P01' })
    })
  })
})
