import { join } from 'node:path'

import { openDatabase, type Database } from '../../src/store/database.ts'
import { migrate } from '../../src/store/migrate.ts'
import { emptyDatabaseUrl } from './database.ts'
import { temporaryFolder } from './folder.ts'
import { fillDataFolder } from './prepared-data.ts'
import { runToEnd } from './program.ts'

export type CommandBench = {
  /** Runs the command with --json; resolves to its exit code and answer. */
  run: (...args: string[]) => Promise<{ code: unknown; answer: Record<string, unknown> }>
  /** Without --json, for what a person reads. */
  show: (...args: string[]) => Promise<{ code: unknown; stdout: string; stderr: string }>
  env: Record<string, string | undefined>
  /** Only one process may hold the embedded database, so it is open during the work alone. */
  withDatabase: <T>(work: (database: Database) => Promise<T>) => Promise<T>
  remove: () => void
}

/** A migrated database and an environment for commands that run as processes of their own. */
export async function createCommandBench(): Promise<CommandBench> {
  const folder = temporaryFolder()
  const url = await emptyDatabaseUrl()
  if (url === undefined) fillDataFolder(folder.path)
  const env = { QUITTANCE_DATA: folder.path, DATABASE_URL: url }
  const where = url === undefined ? { folder: join(folder.path, 'database') } : { url }
  const withDatabase: CommandBench['withDatabase'] = async (work) => {
    const database = await openDatabase(where)
    try {
      return await work(database)
    } finally {
      await database.close()
    }
  }
  await withDatabase(({ db }) => migrate(db))
  return {
    env,
    withDatabase,
    show: (...args) => runToEnd(args, env),
    async run(...args) {
      const { code, stdout } = await runToEnd([...args, '--json'], env)
      return { code, answer: JSON.parse(stdout) as Record<string, unknown> }
    },
    remove: folder.remove,
  }
}
