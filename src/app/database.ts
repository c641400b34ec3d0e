import { join, relative, resolve } from 'node:path'

import { createBells, type Bells } from '../base/bells.ts'
import type { Config } from '../base/config.ts'
import { nameOfDatabase } from '../base/database-address.ts'
import { BaseError, messageOf } from '../base/errors.ts'
import { lockFolder } from '../base/lock.ts'
import { createLogger, type Logger } from '../base/logger.ts'
import type { Shutdown } from '../base/shutdown.ts'
import { runBellLine } from '../store/database/bell-line.ts'
import { MIGRATION_PATIENCE } from '../store/database/connections.ts'
import { openDatabase, type Database, type DatabaseOptions } from '../store/database/database.ts'
import { migrate, readSchemaState } from '../store/database/migrate.ts'
import { continueLogs } from '../store/reconciliation/settled-logs.ts'
import type { Ground } from './ground.ts'

/** Opens the database that the configuration names, for commands that need no more than that. */
export async function withDatabase<T>(
  { config, ...options }: { config: Config } & Pick<DatabaseOptions, 'signal' | 'patience'>,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const logger = createLogger({ level: config.logLevel ?? 'warn' })
  const lock = config.databaseUrl ? undefined : await lockFolder(config.dataFolder)
  try {
    const database = await openDatabase({
      ...whereIsDatabase(config),
      ...options,
      onStarting: tellStarting(logger),
    })
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  } finally {
    lock?.release()
  }
}

/** `up` migrates by itself. On a shared server the operator runs `migrate`. */
export async function startDatabase(options: {
  config: Config
  logger: Logger
  migrates: boolean
  shutdown: Shutdown
  signal: AbortSignal | undefined
}): Promise<Database & { detail: string }> {
  const { config, logger, migrates, shutdown, signal } = options
  const database = await openDatabase({
    ...whereIsDatabase(config),
    onBroken: (error) => logger.warn({ err: error }, 'a database connection broke'),
    signal,
    onStarting: tellStarting(logger),
  })
  shutdown.add('the database', database.close)
  if (migrates) await migrateThere(config, database)
  else await requireMigrated(database)
  await continueLogs(database.db)
  const detail =
    database.kind === 'server'
      ? `PostgreSQL at ${nameOfDatabase(config.databaseUrl ?? '')}`
      : `embedded PostgreSQL in ${shorten(config.dataFolder)}`
  return { ...database, detail }
}

/** On a server a migration has connections of its own, which wait for as long as it takes. */
async function migrateThere(config: Config, database: Database): Promise<void> {
  const { pending } = await readSchemaState(database.db)
  if (pending.length === 0) return
  if (database.kind === 'embedded') await migrate(database.db)
  else await withDatabase({ config, patience: MIGRATION_PATIENCE }, ({ db }) => migrate(db))
}

function tellStarting(logger: Logger): (error: unknown) => void {
  return (error) => {
    const reason = messageOf(error)
    logger.warn({ reason }, 'the database server is starting; it is waited for')
  }
}

export async function requireMigrated(database: Database): Promise<void> {
  const { pending } = await readSchemaState(database.db)
  if (pending.length > 0) throw new MigrationsPendingError(pending)
}

function shorten(folder: string): string {
  const near = relative('.', folder)
  return near.startsWith('..') ? resolve(folder) : near
}

function whereIsDatabase(config: Config): { url?: string; folder?: string } {
  return config.databaseUrl
    ? { url: config.databaseUrl }
    : { folder: join(config.dataFolder, 'database') }
}

class MigrationsPendingError extends BaseError {
  constructor(pending: string[]) {
    super(`The database lacks ${pending.join(', ')}. Run: quittance migrate`, {
      code: 'migrations_pending',
      retryable: true,
      details: { pending },
    })
  }
}

/** Bells that are heard in every process that shares the database. */
export function startBells(
  ground: Pick<Ground, 'config' | 'database' | 'clock' | 'logger' | 'shutdown'>,
): Bells {
  const { config, database, shutdown } = ground
  const bells = createBells()
  const { databaseUrl: url } = config
  if (url === undefined) return bells
  const { signal } = shutdown
  const running = runBellLine(bells, { ...ground, url, db: database.db, signal })
  shutdown.add('the line of the bells', () => running)
  return bells
}
