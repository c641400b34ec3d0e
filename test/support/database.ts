import { sql } from 'kysely'
import { Client } from 'pg'

import { openDatabase, type Database, type Db } from '../../src/store/database.ts'
import { migrate } from '../../src/store/migrate.ts'
import { preparedImage } from './prepared-data.ts'

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
  if (database.kind === 'server') await truncateAll(database.db)
  else await deleteAll(database.db)
  return database
}

async function truncateAll(db: Db): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables
    where schemaname = current_schema() and tablename not like 'migrations%'`.execute(db)
  const tables = sql.join(rows.map((row) => sql.table(row.name)))
  await sql`truncate ${tables} restart identity cascade`.execute(db)
}

/**
 * The embedded database truncates fifty tables in 80 ms, and deletes a few rows from them in 10. A
 * table that has grown is truncated all the same, so that the next test begins with a small one.
 * Without replication's role the triggers would refuse to delete what must stay for ever.
 */
async function deleteAll(db: Db): Promise<void> {
  await sql`do $$
    declare
      name text;
      grown text;
    begin
      perform set_config('session_replication_role', 'replica', true);
      select string_agg(oid::regclass::text, ', ') into grown from pg_class
      where relnamespace = current_schema()::regnamespace and relkind = 'r'
        and relname not like 'migrations%' and pg_relation_size(oid) > 65536;
      if grown is not null then execute 'truncate ' || grown || ' cascade'; end if;
      for name in
        select format('%I', tablename) from pg_tables
        where schemaname = current_schema() and tablename not like 'migrations%'
      loop
        execute 'delete from ' || name;
      end loop;
      for name in
        select format('%I', sequencename) from pg_sequences
        where schemaname = current_schema() and last_value is not null
      loop
        execute 'alter sequence ' || name || ' restart';
      end loop;
    end $$`.execute(db)
}

/** A database of its own without a schema; the caller closes it. */
export async function emptyDatabase(): Promise<Database> {
  const url = await emptyDatabaseUrl()
  return openDatabase(url === undefined ? { image: await preparedImage() } : { url })
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

/** Once, when all tests of this process have run. */
export async function closeShared(): Promise<void> {
  const database = await shared
  shared = undefined
  await database?.close()
}

/** Once, when all tests have run and the processes that ran them have ended. */
export async function dropOwnDatabases(server = process.env['DATABASE_URL']): Promise<void> {
  await closeShared()
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
