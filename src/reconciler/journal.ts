import { open, rm, truncate, type FileHandle } from 'node:fs/promises'

import { BaseError, codeOf } from '../base/errors.ts'
import type { Finding } from '../domain/breaks.ts'
import type { Carried, RunTotals, UncomparedRecord } from './reconcile.ts'
import type { UnreadableRow } from './sources/records.ts'

/** What one chunk of a run came to; all of them together are the run so far. */
export type JournalEntry = {
  cursor: string
  totals: RunTotals
  findings: readonly Finding[]
  unreadable: readonly UnreadableRow[]
  uncompared: readonly UncomparedRecord[]
  carried: Carried
  /** Of all chunks so far. */
  elapsedMs: number
}

/**
 * A file to which a run over a foreign source appends one line after each chunk. A run that is
 * killed, between any two bytes, has the lines that are whole, and goes on behind the last.
 */
export type Journal = {
  add: (entry: JournalEntry) => Promise<void>
  close: () => Promise<void>
}

/** What the run is over and how it judges; it goes on only as it was begun. */
export type JournalHead = Readonly<Record<string, string | number | undefined>>

export async function openJournal(
  path: string,
  options: {
    head: JournalHead
    /** Whether to go on where there is something to go on with. */
    isResumed: boolean
    /** Called for each chunk of the run that is gone on with, in their order. */
    onEntry: (entry: JournalEntry) => Promise<void>
  },
): Promise<Journal> {
  const head = JSON.stringify({ journal: 2, ...options.head })
  const kept = options.isResumed ? await readJournal(path, { ...options, head }) : 0
  if (kept > 0) await truncate(path, kept)
  const file = await open(path, kept > 0 ? 'a' : 'w', 0o600)
  if (kept === 0) await append(file, head)
  return {
    add: (entry) => append(file, JSON.stringify(entry)),
    close: () => file.close(),
  }
}

export async function removeJournal(path: string): Promise<void> {
  await rm(path, { force: true })
}

/** On the disk before the next chunk begins, so that it is there after a power cut as well. */
async function append(file: FileHandle, line: string): Promise<void> {
  await file.appendFile(`${line}\n`)
  await file.datasync()
}

/** How many bytes of it are complete. The run was killed while it wrote the rest. */
async function readJournal(
  path: string,
  { head, onEntry }: { head: string; onEntry: (entry: JournalEntry) => Promise<void> },
): Promise<number> {
  const file = await openIfThere(path)
  if (file === undefined) return 0
  try {
    const { size } = await file.stat()
    let kept = 0
    for await (const line of file.readLines({ autoClose: false })) {
      const end = kept + Buffer.byteLength(line) + 1
      const entry = end > size ? undefined : readEntry(line)
      if (entry === undefined) break
      if (kept > 0) await onEntry(entry)
      else if (line !== head) throw new RunDiffersError({ line, head })
      kept = end
    }
    return kept
  } finally {
    await file.close()
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** The program's own words, so only their being whole is in doubt. */
function readEntry(line: string): JournalEntry | undefined {
  try {
    return JSON.parse(line) as JournalEntry
  } catch {
    return undefined
  }
}

class RunDiffersError extends BaseError {
  constructor({ line, head }: { line: string; head: string }) {
    const [before, now] = [line, head].map((text) => JSON.parse(text) as Record<string, unknown>)
    const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(now ?? {})])]
    const others = names.filter((name) => before?.[name] !== now?.[name])
    super(
      `The run that stopped there had another ${others.join(', ')}. ` +
        'Use the same values, or start again without --resume.',
      { code: 'run_differs', details: { others } },
    )
  }
}
