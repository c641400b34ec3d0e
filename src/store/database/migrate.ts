import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { sql } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'

import { BaseError, messageOf, codeOf } from '../../base/errors.ts'
import type { Db } from './database.ts'

export type SchemaState = {
  applied: string[]
  pending: string[]
}

/**
 * Migrates the schema to the newest version and returns the migrations that it ran. Processes that
 * call it at the same time take turns.
 */
export async function migrate(db: Db): Promise<string[]> {
  await readSchemaState(db)
  const { error, results = [] } = await migratorOf(db).migrateToLatest()
  if (error !== undefined) {
    const failed = results.find((result) => result.status === 'Error')
    throw new MigrationFailedError(failed?.migrationName, error)
  }
  return results.map((result) => result.migrationName)
}

export function migratorOf(db: Db): Migrator {
  return new Migrator({
    db,
    migrationTableName: TABLE,
    migrationLockTableName: `${TABLE}_lock`,
    provider: { getMigrations: async () => loadMigrations() },
  })
}

/**
 * Reads only. A schema with migrations that this program has never heard of is refused, and so is a
 * database that is not made for all texts.
 */
export async function readSchemaState(db: Db): Promise<SchemaState> {
  const known = Object.keys(loadMigrations())
  const applied = await readApplied(db)
  const unknown = applied.filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new SchemaUnknownError(unknown)
  return { applied, pending: known.filter((name) => !applied.includes(name)) }
}

const TABLE = 'migrations'

async function readApplied(db: Db): Promise<string[]> {
  const { rows: found } = await sql<{ exists: boolean; encoding: string }>`
    select to_regclass(${TABLE}) is not null as exists,
      current_setting('server_encoding') as encoding`.execute(db)
  const { exists, encoding } = found[0]!
  if (encoding !== 'UTF8') throw new EncodingError(encoding)
  if (!exists) return []
  const { rows } = await sql<{ name: string }>`
    select name from ${sql.table(TABLE)} order by name`.execute(db)
  return rows.map((row) => row.name)
}

let loaded: Record<string, Migration> | undefined

/** The numbered files of `../migrations`, in their order. */
function loadMigrations(): Record<string, Migration> {
  if (loaded) return loaded
  const folder = fileURLToPath(new URL('../migrations', import.meta.url))
  const files = readdirSync(folder).filter((file) => /^\d{4}_[a-z_]+\.sql$/.test(file))
  loaded = Object.fromEntries(
    files.toSorted().map((file) => {
      const script = readFileSync(join(folder, file), 'utf8')
      // One block is one statement, which both engines take whole.
      const block = `do $migration$ begin\n${script}\nend $migration$`
      const up = async (db: Db) => {
        // What fills a new column of a large table takes longer than any request may.
        await sql`set local statement_timeout = 0`.execute(db)
        await sql.raw(block).execute(db)
      }
      return [file.replace('.sql', ''), { up }]
    }),
  )
  return loaded
}

class SchemaUnknownError extends BaseError {
  constructor(unknown: string[]) {
    super(
      `Another version of this program made the schema of this database (${unknown.join(', ')}). ` +
        'Install that version, or point DATABASE_URL or QUITTANCE_DATA at an empty database.',
      { code: 'schema_unknown', details: { unknown } },
    )
  }
}

/** Others have no place for some characters, or count and cut a text by its bytes. */
class EncodingError extends BaseError {
  constructor(encoding: string) {
    super(
      `This database keeps text as ${encoding}. Create one that keeps it as UTF8, with "create ` +
        `database … encoding 'UTF8' locale 'C' template template0", and name it in DATABASE_URL.`,
      { code: 'encoding_unsupported', details: { encoding } },
    )
  }
}

class MigrationFailedError extends BaseError {
  constructor(name: string | undefined, cause: unknown) {
    const what = name === undefined ? 'The migrations' : `Migration ${name}`
    const advice =
      codeOf(cause) === '42501'
        ? 'Grant this user the right to create tables in the schema.'
        : codeOf(cause) !== undefined
          ? 'It changed nothing. Correct the cause and run migrate again.'
          : 'The connection to the database was lost. Check that it runs, and run migrate again.'
    super(`${what} failed: ${messageOf(cause)}. ${advice}`, { code: 'migration_failed', cause })
  }
}
