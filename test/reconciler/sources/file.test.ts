import { expect } from 'chai'

import { codeOf } from '../../../src/base/errors.ts'
import { createFileSource } from '../../../src/reconciler/sources/file.ts'
import type { Chunk, PaymentRecord } from '../../../src/reconciler/sources/records.ts'
import { removeFiles, textFile } from '../../fixtures/books/reconcile.ts'

const A = `0x${'aa'.repeat(32)}`
const B = `0x${'bb'.repeat(32)}`
const HEADER = 'transaction_id,eth_transaction_hash'

describe('the records of a file', () => {
  after(removeFiles)

  const read = async (text: string, chunkRecords = 100, after?: string): Promise<Chunk[]> => {
    const source = createFileSource(textFile(text), { chunkRecords })
    const chunks: Chunk[] = []
    const { signal } = new AbortController()
    for await (const chunk of source.chunks({ after, signal })) chunks.push(chunk)
    return chunks
  }
  const all = async (text: string): Promise<{ records: PaymentRecord[]; lines: number[] }> => {
    const chunks = await read(text)
    return {
      records: chunks.flatMap(({ records }) => records),
      lines: chunks.flatMap(({ unreadable }) => unreadable.map(({ line }) => line)),
    }
  }

  it('reads a table, whatever the order and case of its columns, and its line ends', async () => {
    const header = '\uFEFFEth_Transaction_Hash,Note, transaction_id'
    const text = `${header}\r\n${A},"x, ""y""",TX1\r\n\r\n${B},,TX2`
    const { records, lines } = await all(text)
    expect(records.map(({ transactionId, hash }) => [transactionId, hash])).to.deep.equal([
      ['TX1', A],
      ['TX2', B],
    ])
    expect(lines).to.deep.equal([])
  })

  it('reads a row over several lines, and tells later lines by their own number', async () => {
    const text = `${HEADER},note\nTX1,${A},"a\nb"\nTX2,nonsense,\n`
    const { records, lines } = await all(text)
    expect(records).to.have.length(1)
    expect(lines).to.deep.equal([4])
  })

  it('reads JSON lines, and numbers by their text', async () => {
    const row = { transaction_id: 'TX1', eth_transaction_hash: A, reference: B, status: 'failed' }
    const first = JSON.stringify({ ...row, note: [] })
    const last = JSON.stringify(row).replace('{', '{"amount":1.000000000000000001,')
    const text = `${first}\n{"transaction_id": nonsense}\n[]\n${last}\n`
    const { records, lines } = await all(text)
    expect(records[1]?.amount?.text).to.equal('1.000000000000000001')
    expect(records[0]).to.include({ status: 'failed', reference: B })
    expect(lines).to.deep.equal([2, 3])
  })

  const bad: readonly [string, string][] = [
    ['a hash that is none', 'TX1,0x12'],
    ['no hash', 'TX1,'],
    ['no id', `,${A}`],
    ['an id of other characters', `TX\u0007,${A}`],
    ['too few cells', 'TX1'],
    ['too many cells', `TX1,${A},x`],
    ['a quote inside of a cell', `T"X1,${A}`],
    ['text behind a quote', `"TX1"x,${A}`],
    ['a NUL', `TX1\0,${A}`],
    ['a row without end', `TX1,${'x'.repeat(200_000)}`],
  ]
  for (const [name, row] of bad) {
    it(`tells the line of ${name}, and reads the rest`, async () => {
      const { records, lines } = await all(`${HEADER}\nTX0,${A}\n${row}\nTX2,${B}\n`)
      expect(records.map(({ transactionId }) => transactionId)).to.deep.equal(['TX0', 'TX2'])
      expect(lines).to.deep.equal([3])
    })
  }

  const fields: readonly [string, string][] = [
    ['to_address', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'],
    ['amount', '-1'],
    ['amount', '1e3'],
    ['amount', '0'],
    ['amount', '0.0000000000000000001'],
    ['currency', 'US D'],
    ['currency', 'US\u0007D'],
    ['currency', 'D'.repeat(33)],
    ['token', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'],
    ['amount', '0.001,EUR'],
    ['reference', '0x1'],
    ['status', 'done'],
    ['created_at', '2025-02-30'],
    ['created_at', 'yesterday'],
    ['nonce', '-1'],
  ]
  for (const [field, value] of fields) {
    it(`refuses ${value} as ${field}`, async () => {
      const { records, lines } = await all(`${HEADER},${field}\nTX1,${A},${value}\n`)
      expect(records).to.deep.equal([])
      expect(lines).to.deep.equal([2])
    })
  }

  it('loses no more than one line to a quote that nobody closed', async () => {
    const good = Array.from({ length: 200 }, (_, at) => `TX${at},${A}`)
    const { records, lines } = await all([HEADER, '"TX,x', ...good].join('\n'))
    expect(records).to.have.length(200)
    expect(lines).to.deep.equal([2])
  })

  it('refuses a file without its columns, or with one of them twice', async () => {
    for (const text of ['', 'a,b\n', `${HEADER},${HEADER}\n`, 'transaction_id\nTX1\n']) {
      const failure = await all(text).catch((error: unknown) => codeOf(error))
      expect(failure).to.equal('source_invalid')
    }
    expect(() => createFileSource('/nowhere/at/all.csv'))
      .to.throw()
      .with.property('code')
  })

  it('goes on behind any chunk', async () => {
    const rows = Array.from({ length: 10 }, (_, at) => `TX${at},${at === 3 ? 'bad' : A}`)
    const text = [HEADER, ...rows].join('\n')
    const whole = (await all(text)).records.map(({ transactionId, line }) => [transactionId, line])
    for (const [at, { cursor }] of (await read(text, 3)).entries()) {
      const before = (await read(text, 3)).slice(0, at + 1).flatMap(({ records }) => records)
      const rest = (await read(text, 3, cursor)).flatMap(({ records }) => records)
      const both = [...before, ...rest].map(({ transactionId, line }) => [transactionId, line])
      expect(both).to.deep.equal(whole)
    }
  })
})
