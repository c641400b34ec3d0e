import { execFile, execFileSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'chai'
import { sql } from 'kysely'

import { openDatabase, type Database, type Db } from '../../src/store/database/database.ts'
import { migrate, readSchemaState } from '../../src/store/database/migrate.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { makePayment, makeWalletTransfer, readLedger } from '../fixtures/books/money.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { emptyDatabaseUrl } from '../fixtures/store/database.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

const page = readFileSync('docs/operating.md', 'utf8')
const [, section = ''] = page.split('## Backup\n')

describe('a backup', () => {
  let folder: ReturnType<typeof temporaryFolder>

  let database: Database
  let userId: number

  // Opening an embedded database takes a second, so one serves both cases, in their order.
  before(async () => {
    folder = temporaryFolder()
    fillDataFolder(join(folder.path, '.quittance'))
    database = await openDatabase({ folder: databaseOf('.quittance') })
    ;({ id: userId } = await work(database.db))
  })
  after(async () => {
    await database.close()
    folder.remove()
  })

  const databaseOf = (name: string): string => join(folder.path, name, 'database')

  it('of one moment of a program at work has what was committed, and nothing else', async () => {
    const before = await contentOf(database.db)
    await database.db.transaction().execute(async (open) => {
      await makeTransaction(open, { userId, status: 'completed' })
      // Nothing else of this process runs meanwhile, as in a snapshot of the file system.
      cpSync(join(folder.path, '.quittance'), join(folder.path, 'snapshot'), { recursive: true })
    })
    expect((await contentOf(database.db)).rows).not.to.deep.equal(before.rows)

    const restored = await openDatabase({ folder: databaseOf('snapshot') })
    // What was not committed leaves a gap in the numbers, and no row.
    expect((await contentOf(restored.db)).rows).to.deep.equal(before.rows)
    await goOn(restored.db)
    await restored.close()
  })

  it('of a stopped program is its data folder, copied as the documentation says', async () => {
    const before = await contentOf(database.db)
    await database.close()
    await promisify(execFile)('sh', ['-ec', commandOf('cp ')], { cwd: folder.path })

    const restored = await openDatabase({ folder: databaseOf('quittance-backup') })
    expect(await contentOf(restored.db)).to.deep.equal(before)
    await goOn(restored.db)
    await restored.close()
  })

  if (process.env['DATABASE_URL'] !== undefined && isThere('pg_dump') && isThere('pg_restore')) {
    it('of a server is its dump, made and restored as the documentation says', async () => {
      const [url = '', restoredUrl = ''] = [await emptyDatabaseUrl(), await emptyDatabaseUrl()]
      const server = await openDatabase({ url })
      await migrate(server.db)
      const { id } = await work(server.db)
      const before = await contentOf(server.db)
      const env = { ...process.env, DATABASE_URL: url, RESTORED_DATABASE_URL: restoredUrl }
      const run = { cwd: folder.path, env }
      await server.db.transaction().execute(async (open) => {
        // What is still open while the dump is made is no part of it, and does not hold it up.
        await makeTransaction(open, { userId: id, status: 'completed' })
        await promisify(execFile)('sh', ['-ec', commandOf('pg_dump ')], run)
      })
      await server.close()

      const restored = await openDatabase({ url: restoredUrl })
      expect((await contentOf(restored.db)).rows).to.deep.equal(before.rows)
      await goOn(restored.db)
      await restored.close()
    })
  }
})

/** The block of the page's section that begins so. */
function commandOf(start: string): string {
  const blocks = [...section.matchAll(/```sh elsewhere\n([\s\S]*?)```/g)].map(
    ([, text = '']) => text,
  )
  const block = blocks.find((text) => text.startsWith(start))
  if (block === undefined) throw new Error(`The page has no block with ${start}`)
  return block
}

function isThere(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Something of each kind: users, money, transactions with their moves, tallies and events. */
async function work(db: Db): Promise<{ id: number }> {
  const user = await makeUser(db)
  await makeWalletTransfer(db, user.id)
  await makePayment(db, user.id)
  for (const status of ['pending', 'completed', 'failed', 'refunded'] as const) {
    await makeTransaction(db, { userId: user.id, status })
  }
  return user
}

/** What is restored is one that work goes on in: its schema is whole, and so are its numbers. */
async function goOn(db: Db): Promise<void> {
  expect((await readSchemaState(db)).pending).to.deep.equal([])
  expect(await readLedger(db)).to.deep.equal({ sum: 0n, astray: 0 })
  await work(db)
  expect(await readLedger(db)).to.deep.equal({ sum: 0n, astray: 0 })
}

/** Every row of every table, by a digest for each table, and where each sequence stands. */
async function contentOf(db: Db): Promise<{ rows: Record<string, string>; numbers: unknown[] }> {
  const { rows: tables } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'public' order by 1`.execute(db)
  const rows: Record<string, string> = {}
  for (const { name } of tables) {
    const { rows: found } = await sql<{ count: bigint; digest: string | null }>`
      select count(*) as count, md5(string_agg(row::text, '|' order by row::text)) as digest
      from ${sql.table(name)} as row`.execute(db)
    rows[name] = `${found[0]?.count} rows, ${found[0]?.digest}`
  }
  const { rows: numbers } = await sql`
    select sequencename, last_value from pg_sequences order by 1`.execute(db)
  return { rows, numbers }
}
