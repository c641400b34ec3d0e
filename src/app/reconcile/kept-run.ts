import { join } from 'node:path'

import { lockFolder } from '../../base/lock.ts'
import type { Finding } from '../../domain/breaks.ts'
import {
  openJournal,
  removeJournal,
  type Journal,
  type JournalEntry,
  type JournalHead,
} from '../../reconciler/journal.ts'
import { createDuplicates } from '../../reconciler/judge/duplicates.ts'
import type { ChunkDone, StoppedRun, UncomparedRecord } from '../../reconciler/reconcile.ts'
import type { ReportJson } from '../../reconciler/reports/json.ts'
import type { UnreadableRow } from '../../reconciler/sources/records.ts'
import { createReportFiles, writingInto, type ReportFiles } from './report-files.ts'

/** What a run over a foreign source has found, and where it goes on after a kill. */
export type KeptRun = {
  from: StoppedRun | undefined
  findings: readonly Finding[]
  unreadable: readonly UnreadableRow[]
  uncompared: readonly UncomparedRecord[]
  /** How long the run took before it was stopped. */
  earlierMs: number
  add: (done: ChunkDone, elapsedMs: number) => Promise<void>
  addLate: (findings: readonly Finding[]) => Promise<void>
  finish: (report: ReportJson) => Promise<void>
  close: () => Promise<void>
}

/** So many are kept for JSON and HTML; the CSV is written as they are found, and has all. */
const MAX_KEPT = 100_000

type Kept = Pick<KeptRun, 'from' | 'earlierMs'> & {
  findings: Finding[]
  unreadable: UnreadableRow[]
  uncompared: UncomparedRecord[]
}

/** With a folder, each chunk is on the disk before the next one begins. */
export async function keepRun(options: {
  folder: string | undefined
  head: JournalHead
  isResumed: boolean
}): Promise<KeptRun> {
  const { folder, head, isResumed } = options
  const found = { findings: [], unreadable: [], uncompared: [] }
  const kept: Kept = { from: undefined, earlierMs: 0, ...found }
  if (folder === undefined) return runOf(kept, await createReportFiles(undefined), undefined)
  const lock = await lockFolder(folder, { called: 'folder', namedBy: 'name with --out' })
  try {
    const files = await createReportFiles(folder)
    const path = join(folder, 'journal.jsonl')
    const duplicates = createDuplicates()
    const deferred: Finding[] = []
    const onEntry = async (entry: JournalEntry): Promise<void> => {
      const { cursor, totals, carried, elapsedMs } = entry
      deferred.push(...carried.deferred)
      duplicates.addTaken(carried.seen)
      kept.from = { cursor, totals, deferred, duplicates }
      kept.earlierMs = elapsedMs
      keep(kept, entry)
      await files.add(entry)
    }
    const journal = await writingInto(folder, () => openJournal(path, { head, isResumed, onEntry }))
    return runOf(kept, files, {
      add: (entry) => writingInto(folder, () => journal.add(entry)),
      close: journal.close,
      remove: () => removeJournal(path),
      free: lock.release,
    })
  } catch (error) {
    lock.release()
    throw error
  }
}

type OpenFolder = Journal & { remove: () => Promise<void>; free: () => void }

function runOf(kept: Kept, files: ReportFiles, open: OpenFolder | undefined): KeptRun {
  return {
    ...kept,
    async add(done, elapsedMs) {
      const { cursor, totals, findings, unreadable, uncompared, carried } = done
      keep(kept, done)
      await files.add(done)
      await open?.add({ cursor, totals, findings, unreadable, uncompared, carried, elapsedMs })
    },
    async addLate(findings) {
      keep(kept, { findings, unreadable: [], uncompared: [] })
      await files.add({ findings })
    },
    async finish(report) {
      await files.finish(report)
      await open?.remove()
    },
    async close() {
      await open?.close()
      open?.free()
    },
  }
}

function keep(
  { findings, unreadable, uncompared }: Kept,
  more: Pick<ChunkDone, 'findings' | 'unreadable' | 'uncompared'>,
): void {
  findings.push(...more.findings.slice(0, MAX_KEPT - findings.length))
  unreadable.push(...more.unreadable.slice(0, MAX_KEPT - unreadable.length))
  uncompared.push(...more.uncompared.slice(0, MAX_KEPT - uncompared.length))
}
