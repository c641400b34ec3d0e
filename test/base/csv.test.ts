import { rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { expect } from 'chai'
import * as fc from 'fast-check'

import { readCsv, type CsvRow } from '../../src/base/csv.ts'
import { codeOf } from '../../src/base/errors.ts'
import { createFileSource } from '../../src/reconciler/sources/file.ts'
import type { Chunk } from '../../src/reconciler/sources/records.ts'
import { temporaryFolder } from '../fixtures/folder.ts'

const SEED = 11

/** Texts that are made of what a reader of CSV may stumble over. */
const tricky = fc.string({
  unit: fc.constantFrom('"', ',', '\n', '\r', ' ', 'a', 'é', '💶', '\0', '0x', '\uFEFF'),
  maxLength: 12,
})
const cell = tricky.map((text) => text.replaceAll('\0', ''))

describe('rows of a CSV', () => {
  const read = async (text: string): Promise<CsvRow[]> => {
    const lines = (async function* () {
      yield* text.split('\n')
    })()
    return listOf(readCsv(lines))
  }
  /** As RFC 4180 writes them. */
  const write = (rows: readonly (readonly string[])[]): string =>
    rows.map((row) => row.map((text) => `"${text.replaceAll('"', '""')}"`).join(',')).join('\r\n')

  it('read back as they were written, with the line that each begins in', async () => {
    const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 5 }), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(rows, async (written) => {
        const found = await read(write(written))
        expect(found.map((row) => ('cells' in row ? row.cells : row))).to.deep.equal(written)
        const before = written.map((_, at) => write(written.slice(0, at)).split('\n').length)
        expect(found.map(({ line }) => line)).to.deep.equal(
          before.map((lines, at) => (at === 0 ? 1 : lines + 1)),
        )
      }),
      { numRuns: 150, seed: SEED },
    )
  })

  it('are read or told by their line, each line once, whatever the text is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(tricky, { maxLength: 20 }), async (parts) => {
        const text = parts.join('')
        const rows = await read(text)
        const lines = rows.map(({ line }) => line)
        expect(lines).to.deep.equal([...new Set(lines)].toSorted((a, b) => a - b))
        expect(lines.at(-1) ?? 0).to.be.at.most(text.split('\n').length)
      }),
      { numRuns: 300, seed: SEED },
    )
  })

  it('after a bad one stand for themselves, however the bad one is bad', async () => {
    await fc.assert(
      fc.asyncProperty(tricky, async (bad) => {
        // Longer than one row may be, so that a quote which is never closed has an end.
        const good = Array.from({ length: 80 }, (_, at) => `TX${at},b`)
        const rows = await read([bad, ...good, '"'].join('\n'))
        const cells = rows.map((row) => ('cells' in row ? row.cells.join() : ''))
        expect(cells).to.include('TX79,b')
      }),
      { numRuns: 60, seed: SEED },
    )
  })
})

describe('a file of records', () => {
  const { path: folder } = temporaryFolder()
  after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'records')

  const read = async (bytes: Uint8Array, chunkRecords: number): Promise<Chunk[]> => {
    await writeFile(path, bytes)
    const { signal } = new AbortController()
    const source = createFileSource(path, { chunkRecords })
    return listOf(source.chunks({ after: undefined, signal }))
  }
  const line = fc.oneof(
    tricky,
    fc.json({ maxDepth: 1 }),
    fc.constantFrom(`TX1,0x${'ab'.repeat(32)},1.5`, `"TX2",0x${'cd'.repeat(32)},`, 'TX3,0x12,1'),
    fc.constantFrom(`{"transaction_id":"TX4","eth_transaction_hash":"0x${'ef'.repeat(32)}"}`),
  )
  const header = fc.constantFrom('transaction_id,eth_transaction_hash,amount', '{}')
  /** A quote that nobody closes holds back all lines after it, up to a bound. */
  const open = fc.nat({ max: 6 }).map((count) => ['TX5,"open', ...Array(count).fill('TX6,0x12,')])
  const file = fc
    .tuple(header, fc.array(line, { maxLength: 12 }), fc.oneof(open, fc.constant([])))
    .map((parts) => new TextEncoder().encode(parts.flat().join('\n')))

  it('is read or refused in our words, never with a crash, when it is any bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.uint8Array({ maxLength: 300 }), file), async (bytes) => {
        const failure = await read(bytes, 3).catch((error: unknown) => error)
        if (failure instanceof Error) expect(codeOf(failure)).to.equal('source_invalid')
      }),
      { numRuns: 60, seed: SEED },
    )
  })

  it('has the same records however it is cut into chunks, and from any cursor on', async () => {
    await fc.assert(
      fc.asyncProperty(file, async (bytes) => {
        const whole = await read(bytes, 1000)
        const chunks = await read(bytes, 2)
        expect(joined(chunks)).to.deep.equal(joined(whole))
        const { signal } = new AbortController()
        for (const [at, { cursor }] of chunks.entries()) {
          const rest = createFileSource(path).chunks({ after: cursor, signal })
          expect(joined(await listOf(rest))).to.deep.equal(joined(chunks.slice(at + 1)))
        }
      }),
      { numRuns: 20, seed: SEED },
    )
  })

  function joined(chunks: readonly Chunk[]): unknown {
    return {
      records: chunks.flatMap(({ records }) => records),
      unreadable: chunks.flatMap(({ unreadable }) => unreadable),
    }
  }
})

async function listOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = []
  for await (const item of items) list.push(item)
  return list
}
