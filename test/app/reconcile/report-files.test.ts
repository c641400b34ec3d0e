import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { keepRun } from '../../../src/app/reconcile/kept-run.ts'
import { createReportFiles } from '../../../src/app/reconcile/report-files.ts'
import type { Finding } from '../../../src/domain/breaks.ts'
import { emptyTotals } from '../../../src/reconciler/reconcile.ts'
import { reportJson } from '../../../src/reconciler/reports/json.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

describe('the files of a report', () => {
  const folder = temporaryFolder()
  let folders = 0
  after(() => folder.remove())

  const empty = (): string => {
    const path = join(folder.path, String(folders++))
    mkdirSync(path)
    return path
  }
  /** A folder in the place of a file fails as a full disk does, for every user. */
  const spoil = (path: string, name: string): void => {
    rmSync(join(path, name), { force: true })
    mkdirSync(join(path, name))
  }
  const finding: Finding = {
    id: 'a',
    kind: 'missing',
    transactionId: 'TX1',
    hash: `0x${'ee'.repeat(32)}`,
    recorded: {},
    onChain: {},
    evidence: {},
  }
  const report = reportJson({
    totals: { ...emptyTotals(), records: 1, breaks: 1 },
    findings: [finding],
    unreadable: [],
    uncompared: [],
    chainId: 1,
    source: 'a',
    elapsedMs: 1,
  })

  it('have each break as soon as it is added', async () => {
    const path = empty()
    const files = await createReportFiles(path)
    await files.add({ findings: [finding] })
    await files.add({ findings: [{ ...finding, transactionId: 'TX2' }] })
    const lines = readFileSync(join(path, 'breaks.csv'), 'utf8').trimEnd().split('\r\n')
    expect(lines.map((line) => line.split(',')[2])).to.deep.equal(['transaction_id', 'TX1', 'TX2'])
  })

  it('are refused by name where one of them cannot be opened', async () => {
    const path = empty()
    spoil(path, 'breaks.csv')
    expect(await failureOf(() => createReportFiles(path))).to.include({ code: 'folder_unwritable' })
  })

  it('tell whoever adds that a write has failed, and do not end the process', async () => {
    const path = empty()
    const files = await createReportFiles(path)
    spoil(path, 'breaks.csv')
    expect(await failureOf(() => files.add({ findings: [finding] }))).to.include({
      code: 'folder_unwritable',
    })
  })

  it('tell whoever finishes that a write has failed', async () => {
    const path = empty()
    const files = await createReportFiles(path)
    spoil(path, 'report.json')
    expect(await failureOf(() => files.finish(report))).to.include({ code: 'folder_unwritable' })
  })

  it('leave no lock behind where the journal of a run cannot be written', async () => {
    const path = empty()
    spoil(path, 'journal.jsonl')
    const run = () => keepRun({ folder: path, head: {}, isResumed: false })
    expect(await failureOf(run)).to.include({ code: 'folder_unwritable' })
    expect(await failureOf(run)).to.include({ code: 'folder_unwritable' })
  })
})
