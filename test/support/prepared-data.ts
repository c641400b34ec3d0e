import { cpSync, mkdirSync, openAsBlob, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { PGlite } from '@electric-sql/pglite'

import { openDatabase } from '../../src/store/database.ts'
import { migrate } from '../../src/store/migrate.ts'
import { temporaryFolder } from './folder.ts'

let remove = (): void => undefined

/**
 * Makes one embedded database for the whole run, as it is before and after the migrations. A new
 * one takes four seconds of the processor and a copy a fraction of one; those tests that are about
 * the making of one make their own.
 */
export async function prepareData(): Promise<void> {
  const folder = temporaryFolder()
  remove = folder.remove
  const [empty, migrated] = [join(folder.path, 'empty'), join(folder.path, 'database')]
  const pglite = await PGlite.create({ dataDir: empty })
  const image = await pglite.dumpDataDir('none')
  writeFileSync(join(folder.path, 'image'), await image.bytes())
  await pglite.close()
  cpSync(empty, migrated, { recursive: true })
  const database = await openDatabase({ folder: migrated })
  await migrate(database.db)
  await database.close()
  process.env[PREPARED] = folder.path
}

export function removePrepared(): void {
  remove()
}

/** Puts a migrated, empty database into a data folder, which is made where it is missing. */
export function fillDataFolder(data: string): void {
  copyDatabase('database', data)
}

/** The same without its schema, for what migrates. */
export function fillUnmigrated(data: string): void {
  copyDatabase('empty', data)
}

function copyDatabase(name: 'database' | 'empty', data: string): void {
  mkdirSync(data, { recursive: true })
  const prepared = process.env[PREPARED]
  // Programs other than the tests have none, and begin with nothing.
  if (prepared === undefined) return
  cpSync(join(prepared, name), join(data, 'database'), { recursive: true })
}

/** What a database in memory begins with, before the migrations. */
export async function preparedImage(): Promise<Blob | undefined> {
  const prepared = process.env[PREPARED]
  return prepared === undefined ? undefined : openAsBlob(join(prepared, 'image'))
}

/** Where the programs that the tests run keep what Node compiled, which all of them load. */
export function preparedCode(): string | undefined {
  const prepared = process.env[PREPARED]
  return prepared === undefined ? undefined : join(prepared, 'code')
}

/** Handed to the processes that run the tests. */
const PREPARED = 'QUITTANCE_TESTS_PREPARED_DATA'
