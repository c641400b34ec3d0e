import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import type { Hex } from 'viem'

import { keepRun } from '../../../src/app/reconcile/kept-run.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { Finding } from '../../../src/domain/breaks.ts'
import { createExaminer } from '../../../src/reconciler/judge/examine.ts'
import { reconcile, type RunTotals } from '../../../src/reconciler/reconcile.ts'
import { reportJson } from '../../../src/reconciler/reports/json.ts'
import { ownCurrencies } from '../../../src/reconciler/sources/currencies.ts'
import { createFileSource } from '../../../src/reconciler/sources/file.ts'
import type { UnreadableRow } from '../../../src/reconciler/sources/records.ts'
import { csvFile, nodesAt, removeFiles, type Row } from '../../fixtures/books/reconcile.ts'
import {
  CHAIN_ID,
  startPaidChain,
  takeNonce,
  type PaidChain,
  type Taken,
} from '../../fixtures/books/verify.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const GHOST: Hex = `0x${'ee'.repeat(32)}`
const HEAD = { source: 'a', chainId: CHAIN_ID }

type Outcome = {
  totals: RunTotals
  findings: readonly Finding[]
  unreadable: readonly UnreadableRow[]
  csv: string
  /** Of each chunk that this run itself read. */
  cursors: string[]
}

describe('a run over a file that is broken off', () => {
  let world: PaidChain
  let direct: Hex
  let taken: Taken
  let file: string
  const folder = temporaryFolder()
  let folders = 0

  before(async () => {
    world = await startPaidChain()
    direct = await world.send({ to: world.payee, value: 5n })
    taken = await takeNonce(world)
    await world.mine(3)
    file = csvFile(rows())
  })
  after(async () => {
    await world.chain.stop()
    folder.remove()
    removeFiles()
  })

  const paid = (id: string, hash: string, more: Row = {}): Row => ({
    transaction_id: id,
    eth_transaction_hash: hash,
    status: 'completed',
    ...more,
  })
  const replaced = () => paid('TX3', taken.ghost, { from_address: taken.from, nonce: 0 })

  /** Each chunk of three has something that a later one needs to be judged rightly. */
  const rows = (): Row[] => [
    paid('TX1', direct, { to_address: world.payee, amount: '0.000000000000000005' }),
    paid('TX2', GHOST),
    replaced(),
    paid('TX4', 'nonsense'),
    paid('TX5', GHOST, { status: 'failed' }),
    paid('TX6', GHOST, { status: 'failed' }),
    paid('TX7', direct, { to_address: world.payee, amount: '0.000000000000000005' }),
    paid('TX2', GHOST),
    paid('TX8', direct, { amount: '0.000000000000000006' }),
    paid('TX9', taken.by),
  ]

  const newFolder = (journal?: Buffer): string => {
    folders += 1
    const path = join(folder.path, String(folders))
    mkdirSync(path)
    if (journal !== undefined) writeFileSync(join(path, 'journal.jsonl'), journal)
    return path
  }

  const go = async (
    path: string,
    { isResumed = false, isFinished = true, head = HEAD } = {},
  ): Promise<Outcome> => {
    const run = await keepRun({ folder: path, head, isResumed })
    const cursors: string[] = []
    const nodes = nodesAt([world.chain.url])
    try {
      const totals = await reconcile({
        source: createFileSource(file, { chunkRecords: 3 }),
        examiner: createExaminer({
          chainId: CHAIN_ID,
          nodes,
          contracts: { settlement: world.settlement, tokens: new Map() },
          currencies: ownCurrencies([], { coin: 'ETH', nodes }),
          clock: systemClock,
        }),
        signal: new AbortController().signal,
        from: run.from,
        async onChunk(done) {
          cursors.push(done.cursor)
          await run.add(done, 1)
        },
        onEnd: run.addLate,
      })
      const { findings, unreadable } = run
      if (isFinished) await run.finish(reportOf(totals))
      const csv = isFinished ? readFileSync(join(path, 'breaks.csv'), 'utf8') : ''
      return { totals, findings, unreadable, csv, cursors }
    } finally {
      await run.close()
    }
  }

  const resultOf = ({ totals, findings, unreadable, csv }: Outcome) => {
    return { totals, findings, unreadable, csv }
  }

  it('finds what it should when nothing breaks it off', async () => {
    const path = newFolder()
    const { totals, findings, unreadable } = await go(path)
    expect(findings.map(({ transactionId, kind }) => `${transactionId} ${kind}`)).to.deep.equal([
      'TX2 missing',
      'TX7 duplicate_payment',
      'TX8 wrong_amount',
      'TX3 replaced_by_ours',
    ])
    expect(totals).to.include({ records: 8, matched: 4, breaks: 4, repeated: 1, unreadable: 1 })
    expect(unreadable.map(({ line }) => line)).to.deep.equal([5])
    expect(readdirSync(path).toSorted()).to.deep.equal(['breaks.csv', 'report.html', 'report.json'])
  })

  it('ends as an unbroken one, whatever byte of its journal was the last', async () => {
    const whole = await go(newFolder())
    const path = newFolder()
    await go(path, { isFinished: false })
    const journal = readFileSync(join(path, 'journal.jsonl'))
    const ends = [...journal.entries()].flatMap(([at, byte]) => (byte === 0x0a ? [at + 1] : []))
    expect(ends).to.have.length.above(4)
    for (const [lines, end] of ends.entries()) {
      for (const cut of [end - 20, end - 1, end]) {
        const chunks = Math.max(0, cut === end ? lines : lines - 1)
        const broken = newFolder(journal.subarray(0, cut))
        const resumed = await go(broken, { isResumed: true })
        expect(resultOf(resumed), `cut at ${cut}`).to.deep.equal(resultOf(whole))
        const fresh = resumed.cursors.filter(
          (cursor) => !whole.cursors.slice(0, chunks).includes(cursor),
        )
        expect(fresh).to.deep.equal(whole.cursors.slice(chunks))
      }
    }
  })

  it('begins anew unless told to go on, and where nothing is there to go on with', async () => {
    const path = newFolder()
    const whole = await go(path, { isFinished: false })
    expect((await go(path, { isFinished: false })).cursors).to.deep.equal(whole.cursors)
    expect((await go(newFolder(), { isResumed: true })).cursors).to.deep.equal(whole.cursors)
  })

  it('is not gone on with as another one', async () => {
    const path = newFolder()
    await go(path, { isFinished: false })
    const other = { ...HEAD, source: 'b' }
    const error = await failureOf(() => go(path, { isResumed: true, head: other }))
    expect(error.code).to.equal('run_differs')
    expect((await go(path, { isResumed: true })).totals).to.include({ records: 8 })
  })

  it('is left alone while its process lives', async () => {
    const path = newFolder()
    const run = await keepRun({ folder: path, head: HEAD, isResumed: false })
    const error = await failureOf(() => keepRun({ folder: path, head: HEAD, isResumed: true }))
    await run.close()
    expect(error.code).to.equal('folder_in_use')
  })
}).timeout(60_000)

function reportOf(totals: RunTotals) {
  const found = { findings: [], unreadable: [], uncompared: [] }
  return reportJson({ ...found, chainId: CHAIN_ID, source: 'a', elapsedMs: 1, totals })
}
