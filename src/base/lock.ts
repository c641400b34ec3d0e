import {
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { BaseError, codeOf } from './errors.ts'
import { birthOf, isAlive } from './process.ts'

export type FolderLock = { release: () => void }

/** What the folder is to the one who named it, and where another one is named. */
export type FolderUse = { called: string; namedBy: string }

const DATA: FolderUse = { called: 'data folder', namedBy: 'set QUITTANCE_DATA to' }

/**
 * Makes this process the only one that uses a folder. The lock of a process that is gone is taken
 * over; that of a living one is refused by its name.
 */
export async function lockFolder(folder: string, use: FolderUse = DATA): Promise<FolderLock> {
  makeUsedFolder(folder, use)
  const file = join(folder, 'lock.json')
  const mine = JSON.stringify(describeMyself())
  const draft = `${file}.${process.pid}`
  try {
    writeFileSync(draft, mine)
    await takeLock({ file, draft, mine, folder, use })
  } catch (error) {
    throw error instanceof BaseError
      ? error
      : new FolderNotWritableError(folder, { use, cause: error })
  } finally {
    rmSync(draft, { force: true })
  }
  return {
    release() {
      if (readText(file) === mine) rmSync(file, { force: true })
    },
  }
}

type Owner = { pid: number; birth: string; host: string; since: string }

async function takeLock(options: {
  file: string
  draft: string
  mine: string
  folder: string
  use: FolderUse
}): Promise<void> {
  const { file, draft, mine, folder, use } = options
  for (let round = 0; round < MAX_ROUNDS; round++) {
    try {
      linkSync(draft, file)
      return
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
    const found = readText(file)
    if (found === undefined) continue
    const owner = parseOwner(found)
    if (owner && isHeld(owner)) throw new FolderInUseError(folder, { use, owner })
    // Two processes may both find the stale lock. Each puts its own in its place; after the pause
    // one stands.
    const replacement = `${draft}.takeover`
    writeFileSync(replacement, mine)
    renameSync(replacement, file)
    await sleep(SETTLE_MS)
    if (readText(file) === mine) return
  }
  throw new FolderInUseError(folder, { use, owner: parseOwner(readText(file) ?? '') })
}

const MAX_ROUNDS = 5
const SETTLE_MS = 100

function describeMyself(): Owner {
  return {
    pid: process.pid,
    birth: birthOf(process.pid),
    host: hostname(),
    since: new Date().toISOString(),
  }
}

/** A process on another host cannot be seen from here, so its lock counts as held. */
function isHeld(owner: Owner): boolean {
  if (owner.host !== hostname()) return true
  if (owner.pid === process.pid) return owner.birth === birthOf(process.pid)
  return isAlive(owner)
}

function parseOwner(text: string): Owner | undefined {
  try {
    const owner = JSON.parse(text) as Partial<Owner>
    if (!Number.isSafeInteger(owner.pid) || typeof owner.host !== 'string') return undefined
    return {
      pid: owner.pid as number,
      birth: String(owner.birth),
      host: owner.host,
      since: String(owner.since),
    }
  } catch {
    return undefined
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Makes a folder and those above it that are missing. Node's own recursive `mkdir` tries for ever
 * where the system makes nothing, as below /proc.
 */
export function makeFolder(folder: string, mode?: number): void {
  if (existsSync(folder) && statSync(folder).isDirectory()) return
  const above = dirname(folder)
  if (above !== folder) makeFolder(above, mode)
  try {
    mkdirSync(folder, { mode })
  } catch (error) {
    // Another process may have made it meanwhile. A file in its place makes the next write fail.
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

function makeUsedFolder(folder: string, use: FolderUse): void {
  try {
    makeFolder(folder, 0o700)
  } catch (error) {
    throw new FolderNotWritableError(folder, { use, cause: error })
  }
}

class FolderInUseError extends BaseError {
  constructor(folder: string, held: { use: FolderUse; owner: Owner | undefined }) {
    const { use, owner } = held
    const who = owner
      ? `process ${owner.pid} on ${owner.host}, since ${owner.since}`
      : 'another process'
    super(
      `The ${use.called} ${folder} is in use by ${who}. ` +
        `Stop that process, or ${use.namedBy} another folder.`,
      { code: 'folder_in_use', details: { folder, ...owner } },
    )
  }
}

class FolderNotWritableError extends BaseError {
  constructor(folder: string, { use, cause }: { use: FolderUse; cause: unknown }) {
    const reason = codeOf(cause) ?? String(cause)
    super(
      `The ${use.called} ${folder} cannot be written (${reason}). ` +
        `To continue, ${use.namedBy} a folder that you own.`,
      { code: 'folder_not_writable', cause, details: { folder } },
    )
  }
}
