import { sql } from 'kysely'
import { Client } from 'pg'

import { openDatabase, type Database } from '../../src/store/database.ts'
import { migrate } from '../../src/store/migrate.ts'

const runner = process.env['MOCHA_WORKER_ID'] === undefined ? process.pid : process.ppid
/** Names what one run of the tests makes, in whichever of its processes. */
const RUN = `quittance_test_${runner}`

let shared: Promise<Database> | undefined
let made = 0

/** The migrated database of this process with all tables empty: in memory, or on DATABASE_URL. */
export async function freshDatabase(): Promise<Database> {
  shared ??= (async () => {
    const database = await emptyDatabase()
    await migrate(database.db)
    return database
  })()
  const database = await shared
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables
    where schemaname = current_schema() and tablename not like 'migrations%'`.execute(database.db)
  const tables = sql.join(rows.map((row) => sql.table(row.name)))
  await sql`truncate ${tables} restart identity cascade`.execute(database.db)
  return database
}

/** A database of its own without a schema; the caller closes it. */
export async function emptyDatabase(): Promise<Database> {
  const url = await emptyDatabaseUrl()
  return openDatabase({ url })
}

/** The address of a new database on the server of DATABASE_URL; undefined stands for PGlite. */
export async function emptyDatabaseUrl(): Promise<string | undefined> {
  const server = process.env['DATABASE_URL']
  if (server === undefined) return undefined
  const name = `${RUN}_${process.pid}_${made}`
  made += 1
  await onServer(server, `create database ${name}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

/** Once, when all tests have run and the processes that ran them have ended. */
export async function dropOwnDatabases(server = process.env['DATABASE_URL']): Promise<void> {
  await (await shared)?.close()
  if (server === undefined) return
  const listing = `select datname from pg_database where datname like '${RUN}\\_%'`
  for (const name of await onServer(server, listing)) {
    await onServer(server, `drop database if exists ${name} with (force)`)
  }
}

async function onServer(server: string, statement: string): Promise<string[]> {
  const client = new Client({ connectionString: server })
  await client.connect()
  try {
    const { rows } = await client.query<{ datname: string }>(statement)
    return rows.map(({ datname }) => datname)
  } finally {
    await client.end()
  }
}
