import { Kysely, PostgresDialect, sql, type PostgresPool } from 'kysely'
import { types, type CustomTypesConfig } from 'pg'

import { systemClock } from '../../base/clock.ts'
import { nameOfDatabase, parseDatabaseAddress } from '../../base/database-address.ts'
import { BaseError, messageOf, codeOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { openConnections, PATIENCE, type Patience } from './connections.ts'
import { openEmbeddedConnection } from './embedded-connection.ts'
import { openPglite } from './embedded.ts'
import { createShortage, DatabaseUnavailableError, READ_ONLY, type Shortage } from './trouble.ts'

/** What every query runs on: the database, or the open transaction. */
export type Db = Kysely<unknown>

export type Database = {
  kind: 'embedded' | 'server'
  db: Db
  /** Rejects where the database does not answer, or lacked something a moment ago. */
  ping: () => Promise<void>
  close: () => Promise<void>
}

export type DatabaseOptions = {
  /**
   * A PostgreSQL server. Absent: PGlite in the folder, or in memory where there is no folder
   * either.
   */
  url?: string | undefined
  folder?: string | undefined
  /** What the one in memory begins with: a data folder, as PGlite dumps it. */
  image?: Blob | undefined
  connections?: number
  /** For a server; a request's where it is absent. */
  patience?: Patience
  /** A connection that breaks is reported here; the next query opens another. */
  onBroken?: (error: Error) => void
  /** Ends the wait for a server that says it is starting, as after a crash, before its time. */
  signal?: AbortSignal | undefined
  /** Told once, when that wait begins. */
  onStarting?: (error: unknown) => void
}

export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  return options.url === undefined
    ? openEmbedded(options)
    : openServer({ ...options, url: options.url })
}

async function openEmbedded({ folder, image }: DatabaseOptions): Promise<Database> {
  const pglite = await openPglite({ folder, image })
  const shortage = createShortage()
  const pool = openEmbeddedConnection(pglite, TYPES)
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }), ...shortage.logging })
  return {
    kind: 'embedded',
    db,
    ping: () => ping(db, shortage),
    async close() {
      await db.destroy()
      if (!pglite.closed) await pglite.close()
    },
  }
}

async function openServer(options: DatabaseOptions & { url: string }): Promise<Database> {
  const shortage = createShortage()
  const pool = openConnections({
    url: options.url,
    connections: options.connections ?? limits.databaseConnections,
    patience: options.patience ?? PATIENCE,
    types: TYPES,
    onBroken: (error) => options.onBroken?.(error),
    onRefused: shortage.note,
  })
  try {
    await untilLetIn(pool, options)
    await requireLimits(pool, options)
  } catch (error) {
    await pool.end()
    throw error instanceof PoolerLimitsError
      ? error
      : new DatabaseUnreachableError(options.url, error)
  }
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }), ...shortage.logging })
  return { kind: 'server', db, ping: () => ping(db, shortage), close: () => db.destroy() }
}

/** A server that starts, or that is about to be the primary. Every other refusal may last. */
async function untilLetIn(pool: PostgresPool, options: DatabaseOptions): Promise<void> {
  const late = AbortSignal.timeout(limits.databaseStartMs)
  const signal = options.signal ? AbortSignal.any([options.signal, late]) : late
  for (let tries = 0; ; tries++) {
    try {
      const connection = await pool.connect()
      connection.release()
      return
    } catch (refusal) {
      const error = refusal instanceof DatabaseUnavailableError ? refusal.cause : refusal
      if (!PASSING.has(codeOf(error) ?? '') || signal.aborted) throw error
      if (tries === 0) options.onStarting?.(error)
    }
    await systemClock.sleep(START_POLL_MS, signal)
  }
}

/**
 * Behind a pooler nothing can be set for our connections alone, so the database has to have set it.
 * A migration waits for as long as it takes.
 */
async function requireLimits(
  pool: PostgresPool,
  { url, patience }: DatabaseOptions,
): Promise<void> {
  if (!parseDatabaseAddress(url ?? '')?.isPooled || patience?.statementMs === 0) return
  const connection = await pool.connect()
  try {
    const { rows } = await connection.query<{ name: string }>(
      "select name from pg_settings where name = any($1) and setting = '0' order by name",
      [['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']],
    )
    if (rows.length > 0) throw new PoolerLimitsError(rows.map(({ name }) => name))
  } finally {
    connection.release()
  }
}

const PASSING: ReadonlySet<string> = new Set(['57P03', READ_ONLY])
const START_POLL_MS = 200

async function ping(db: Db, shortage: Shortage): Promise<void> {
  await sql`select 1`.execute(db)
  shortage.refuse()
}

/**
 * Rows look the same from both engines: whole numbers are bigints, days are text, bytes are
 * hexadecimal. int4 stays a number, and timestamps are dates: the schema keeps them to the
 * millisecond. A numeric with decimals is refused: a statement that reads one casts it to text.
 */
const PARSERS: Record<number, (text: string) => unknown> = {
  [types.builtins.INT8]: (text) => BigInt(text),
  [types.builtins.NUMERIC]: (text) => BigInt(text),
  [types.builtins.DATE]: (text) => text,
  [types.builtins.BYTEA]: (text) => `0x${text.slice(2)}`,
  [types.builtins.TIMESTAMPTZ]: (text) => new Date(text),
}

const TYPES: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary'): unknown =>
    PARSERS[oid] ?? types.getTypeParser(oid, format ?? 'text'),
}

/** The server's own words: to connect takes no parameters that they could quote. */
function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : messageOf(cause)
}

class DatabaseUnreachableError extends BaseError {
  constructor(url: string, cause: unknown) {
    const reason = codeOf(cause)
    const text = textOf(cause)
    const advice = text.includes('unsupported startup parameter')
      ? 'If that is PgBouncer, add pgbouncer=true to DATABASE_URL.'
      : 'Check DATABASE_URL, and that the server runs and accepts this user.'
    super(`PostgreSQL at ${nameOfDatabase(url)} cannot be used: ${text || reason}. ${advice}`, {
      code: 'database_unreachable',
      retryable: true,
      cause,
      details: { reason },
    })
  }
}

class PoolerLimitsError extends BaseError {
  constructor(missing: readonly string[]) {
    super(
      `Behind PgBouncer the database itself has to limit its sessions, and has no ` +
        `${missing.join(', ')}. Set each of them once, as in ` +
        `"alter database quittance set ${missing[0]} = '10s'", and let PgBouncer reconnect.`,
      { code: 'pooler_without_limits', details: { missing } },
    )
  }
}
