import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import type { Hex } from 'viem'

import {
  reconcile,
  type PaymentRow,
  type ReconcileOptions,
} from '../../../src/app/reconcile.ts'
import { csvFile, removeFiles } from '../../fixtures/books/reconcile.ts'
import { startPaidChain, type PaidChain } from '../../fixtures/books/verify.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const GHOST = `0x${'ee'.repeat(32)}`

describe('reconcile of the library', () => {
  let world: PaidChain
  let hash: Hex
  const folder = temporaryFolder()

  before(async () => {
    world = await startPaidChain()
    hash = await world.send({ to: world.payee, value: 10n ** 18n })
  })
  after(async () => {
    await world.chain.stop()
    folder.remove()
    removeFiles()
  })

  const run = (options: Partial<ReconcileOptions> & Pick<ReconcileOptions, 'source'>) =>
    reconcile({ rpcUrls: [world.chain.url], confirmations: 1, ...options })
  const good = (): PaymentRow => ({
    transaction_id: 'TX1',
    eth_transaction_hash: hash,
    to_address: world.payee,
    amount: '1',
    created_at: new Date(),
    nonce: null,
  })
  const missing = { transaction_id: 'TX2', eth_transaction_hash: GHOST, amount: 1, nonce: 7n }

  it('compares the rows of a program, and says which one is wrong', async () => {
    const report = await run({ source: [good(), missing, { transaction_id: 'TX3' }] })
    expect(report.summary).to.include({ records: 2, matched: 1, breaks: 1, unreadable: 1 })
    expect(report.breaks.map(({ kind, transaction_id: id }) => [kind, id])).to.deep.equal([
      ['missing', 'TX2'],
    ])
    expect(report.unreadable[0]).to.include({ line: 3 })
    expect(report.summary.chain_id).to.equal(31337)
  })

  it('reads rows as they come, in memory that does not grow, and tells how far it is', async () => {
    let open = 0
    async function* rows() {
      for (let at = 0; at < 12_000; at++) {
        open = at
        yield { transaction_id: `TX${at}`, eth_transaction_hash: GHOST, status: 'failed' }
      }
    }
    const told: Array<[number, number]> = []
    const onProgress: ReconcileOptions['onProgress'] = ({ done, total }) => {
      told.push([done, open])
      expect(total).to.equal(undefined)
    }
    const { summary } = await run({ source: rows(), onProgress })
    expect(summary.records).to.equal(12_000)
    // A chunk is done before the next one is read.
    expect(told).to.deep.equal([
      [5_000, 4_999],
      [10_000, 9_999],
      [12_000, 11_999],
    ])
  })

  it('reads a file, leaves out what is older, and writes the report', async () => {
    const out = join(folder.path, 'out')
    const since = new Date('2030-01-01T00:00:00Z')
    const row = { ...good(), created_at: '2029-12-31T00:00:00Z', nonce: '' } as Record<
      string,
      string
    >
    const source = csvFile([row, { ...row, transaction_id: 'TX4', created_at: '' }])
    const { summary } = await run({ source, since, out })
    expect(summary).to.include({ records: 1, matched: 1, breaks: 0 })
    expect(existsSync(join(out, 'report.html'))).to.equal(true)
  })

  it('refuses what it cannot do, and says what to set instead', async () => {
    const cases: ReadonlyArray<[string, Partial<ReconcileOptions>]> = [
      ['source_key_missing', { source: 'http://127.0.0.1:9' }],
      ['file_unreadable', { source: join(folder.path, 'absent.csv') }],
      ['address_invalid', { source: [], tokens: [{ address: '0x12' }] }],
      ['not_resumable', { source: [], out: folder.path, resume: true }],
      ['not_resumable', { source: csvFile([]), resume: true }],
    ]
    for (const [code, options] of cases) {
      const error = await failureOf(() => run({ source: [], ...options }))
      expect(error.code).to.equal(code)
    }
  })

  it('ends with its signal', async () => {
    const error = await run({ source: [good()], signal: AbortSignal.abort() }).then(
      () => undefined,
      (reason: Error) => reason,
    )
    expect(error).to.be.instanceOf(Error)
  })
})
