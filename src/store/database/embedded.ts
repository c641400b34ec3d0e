import { existsSync, openAsBlob, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setFlagsFromString } from 'node:v8'

import { PGlite, type PGliteOptions } from '@electric-sql/pglite'

import { BaseError, messageOf } from '../../base/errors.ts'

export type EmbeddedOptions = {
  /** Absent: the database is in memory. */
  folder?: string | undefined
  /** What the one in memory begins with: a data folder, as PGlite dumps it. */
  image?: Blob | undefined
}

/**
 * Opens PGlite, and makes its data folder where there is none. In memory, where tests and
 * simulations ask it a thousand questions, its code is optimized.
 */
export async function openPglite({ folder, image }: EmbeddedOptions): Promise<PGlite> {
  try {
    if (folder === undefined) {
      return await create(image ? { loadDataDir: image } : {})
    }
    return await withoutOptimizer(async () => {
      await createWhole(folder)
      return create({ dataDir: folder })
    })
  } catch (error) {
    throw new DatabaseDamagedError(folder ?? 'memory', error)
  }
}

/**
 * PostgreSQL clears its buffers when it starts. The 128 MB that it would take by itself cost every
 * command half a second; what does not fit here is in the system's own cache of files. There every
 * page is as near as the next one, so that a plan made for a small table looks up rows by an index,
 * and does not read all of them when there are many. Everybody waits while a file of its log is
 * begun, which takes up to 84 ms where 16 MB are written first.
 */
function create(options: PGliteOptions): Promise<PGlite> {
  const settings = [
    'shared_buffers=16MB',
    'random_page_cost=1',
    'wal_init_zero=off',
    `default_statistics_target=${STATISTICS}`,
  ]
  const startParams = [...PGlite.defaultStartParams, ...settings.flatMap((one) => ['-c', one])]
  return PGlite.create({ ...options, startParams })
}

/** A fifth of a server's: everybody waits while a table is looked at, half a second with all. */
const STATISTICS = 20

/**
 * V8 would compile the largest function of PostgreSQL a second time, which takes two seconds and
 * 500 MB of each process and makes payments a tenth faster. It decides when code is loaded, so the
 * WebAssembly code of others, such as that of the signatures, is optimized as ever.
 */
async function withoutOptimizer<T>(load: () => Promise<T>): Promise<T> {
  setFlagsFromString('--no-wasm-tier-up')
  setFlagsFromString('--no-wasm-dynamic-tiering')
  try {
    return await load()
  } finally {
    setFlagsFromString('--wasm-tier-up')
    setFlagsFromString('--wasm-dynamic-tiering')
  }
}

/** A start that was killed while it created the database must not leave half of one behind. */
async function createWhole(folder: string): Promise<void> {
  if (existsSync(folder)) return
  const draft = `${folder}.new`
  rmSync(draft, { recursive: true, force: true })
  const pglite = await create({ dataDir: draft, loadDataDir: await emptyFolder() })
  await pglite.close()
  renameSync(draft, folder)
}

/**
 * A data folder with nothing in it, from those who keep PGlite. To make one here takes 220 MB and
 * half a second more than to unpack it. The build puts it next to this module.
 */
function emptyFolder(): Promise<Blob> {
  const name = 'prepopulatedfs.tgz'
  const folder = existsSync(join(import.meta.dirname, name))
    ? import.meta.dirname
    : dirname(createRequire(import.meta.url).resolve('@electric-sql/pglite-prepopulatedfs'))
  return openAsBlob(join(folder, name), { type: 'application/gzip' })
}

class DatabaseDamagedError extends BaseError {
  constructor(where: string, cause: unknown) {
    super(
      `The embedded database in ${where} cannot be opened (${messageOf(cause)}). ` +
        'Restore the data folder from a backup, or set QUITTANCE_DATA to a new one.',
      { code: 'database_damaged', cause },
    )
  }
}
