import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { openDatabase } from '../../src/store/database.ts'
import { migrate } from '../../src/store/migrate.ts'
import { temporaryFolder } from './folder.ts'

let remove = (): void => undefined

/**
 * Makes one embedded database for the whole run. A new one takes three seconds and a copy a
 * fraction of one; those tests that are about a first start make their own.
 */
export async function prepareData(): Promise<void> {
  const folder = temporaryFolder()
  remove = folder.remove
  const database = await openDatabase({ folder: join(folder.path, 'database') })
  await migrate(database.db)
  await database.close()
  process.env[PREPARED] = folder.path
}

export function removePrepared(): void {
  remove()
}

/** Puts a migrated, empty database into a data folder, which is made where it is missing. */
export function fillDataFolder(data: string): void {
  mkdirSync(data, { recursive: true })
  const prepared = process.env[PREPARED]
  // Programs other than the tests have none, and begin with nothing.
  if (prepared === undefined) return
  cpSync(join(prepared, 'database'), join(data, 'database'), { recursive: true })
}

/** Where the programs that the tests run keep what Node compiled, which all of them load. */
export function preparedCode(): string | undefined {
  const prepared = process.env[PREPARED]
  return prepared === undefined ? undefined : join(prepared, 'code')
}

/** Handed to the processes that run the tests. */
const PREPARED = 'QUITTANCE_TESTS_PREPARED_DATA'
