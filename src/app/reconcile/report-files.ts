import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { BaseError, codeOf } from '../../base/errors.ts'
import { makeFolder } from '../../base/lock.ts'
import type { Finding } from '../../domain/breaks.ts'
import type { UncomparedRecord } from '../../reconciler/reconcile.ts'
import { csvHeader, csvOfFinding, csvOfUncompared } from '../../reconciler/reports/csv.ts'
import { reportHtml } from '../../reconciler/reports/html.ts'
import type { ReportJson } from '../../reconciler/reports/json.ts'

/** The files of a run. Breaks are written as they are found, so none is kept for it. */
export type ReportFiles = {
  add: (found: {
    findings: readonly Finding[]
    uncompared?: readonly UncomparedRecord[]
  }) => Promise<void>
  finish: (report: ReportJson) => Promise<void>
}

export async function createReportFiles(folder: string | undefined): Promise<ReportFiles> {
  if (folder === undefined) return { add: async () => undefined, finish: async () => undefined }
  const csv = join(folder, 'breaks.csv')
  await writingInto(folder, async () => {
    makeFolder(folder)
    await writeFile(csv, csvHeader())
  })
  return {
    async add({ findings, uncompared = [] }) {
      const rows = [...findings.map(csvOfFinding), ...uncompared.map(csvOfUncompared)]
      if (rows.length === 0) return
      await writingInto(folder, () => appendFile(csv, rows.join('')))
    },
    finish: (report) =>
      writingInto(folder, async () => {
        await writeFile(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`)
        await writeFile(join(folder, 'report.html'), reportHtml(report, new Date()))
      }),
  }
}

/** A right that is missing or a disk that is full is the folder's failure, and told as such. */
export async function writingInto<Result>(
  folder: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const code = codeOf(error)
    throw error instanceof BaseError || code === undefined
      ? error
      : new FolderUnwritableError(folder, { code, cause: error })
  }
}

class FolderUnwritableError extends BaseError {
  constructor(folder: string, { code, cause }: { code: string; cause: unknown }) {
    super(
      `${folder} cannot be written (${code}). Free space or get the right to write there, ` +
        'or choose another folder.',
      { code: 'folder_unwritable', cause },
    )
  }
}
