import { createBells, type Bells } from '../base/bells.ts'
import { runBellLine } from '../store/database/bell-line.ts'
import type { Ground } from './ground.ts'

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
