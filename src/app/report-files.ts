import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'

import { BaseError, codeOf } from '../base/errors.ts'
import type { Finding } from '../domain/breaks.ts'
import { reportHtml } from '../reconciler/report-html.ts'
import { csvHeader, csvOfFinding } from '../reconciler/report-csv.ts'
import type { ReportJson } from '../reconciler/report-json.ts'

/** The files of a run. Breaks are written as they are found, so none is kept for it. */
export type ReportFiles = {
  add: (findings: readonly Finding[]) => Promise<void>
  finish: (report: ReportJson) => Promise<void>
}

export async function createReportFiles(folder: string | undefined): Promise<ReportFiles> {
  if (folder === undefined) return { add: async () => undefined, finish: async () => undefined }
  try {
    await mkdir(folder, { recursive: true })
  } catch (error) {
    throw new BaseError(`${folder} cannot be written (${codeOf(error)}). Name a folder.`, {
      code: 'folder_unwritable',
      cause: error,
    })
  }
  const csv = createWriteStream(join(folder, 'breaks.csv'))
  csv.write(csvHeader())
  return {
    async add(findings) {
      if (findings.length === 0) return
      const isTaken = csv.write(findings.map(csvOfFinding).join(''))
      if (!isTaken) await once(csv, 'drain')
    },
    async finish(report) {
      csv.end()
      await finished(csv)
      await writeFile(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`)
      await writeFile(join(folder, 'report.html'), reportHtml(report, new Date()))
    },
  }
}
