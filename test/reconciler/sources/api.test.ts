import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'

import { createPlatformClient } from '../../../src/client/index.ts'
import { createApiSource } from '../../../src/reconciler/sources/api.ts'
import type { Chunk } from '../../../src/reconciler/sources/records.ts'

const A = `0x${'aa'.repeat(32)}`

describe('the records of a server', () => {
  let server: Server
  let url: string
  let rows: Record<string, unknown>[]
  /** What goes wrong, by the number of the request. */
  let faults: Record<number, number>
  let asked: URLSearchParams[]
  let shift = 0
  /** How many the total tells of that no page has, and how many more with each page. */
  let hidden = 0
  let growth = 0

  beforeEach(async () => {
    rows = []
    faults = {}
    asked = []
    shift = 0
    hidden = 0
    growth = 0
    server = createServer((request, response) => {
      const query = new URL(request.url ?? '', 'http://localhost').searchParams
      const status = faults[asked.length] ?? 200
      asked.push(query)
      response.setHeader('content-type', 'application/json')
      if (status !== 200) {
        response.writeHead(status, { 'retry-after': '0' })
        response.end('{"success": false, "error": "later", "code": "unavailable"}')
        return
      }
      const offset = Number(query.get('offset') ?? 0)
      const from = Math.max(0, offset - (offset > 0 ? shift : 0))
      const transactions = rows.slice(from, from + 100)
      const total = rows.length + hidden
      hidden += growth
      response.end(JSON.stringify({ transactions, total, limit: 100, offset }))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterEach(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })

  const read = async (times: { since?: Date; until?: Date } = {}): Promise<Chunk> => {
    const client = createPlatformClient({ baseUrl: url, apiKey: 'key' })
    const source = createApiSource(client, { name: 'server', ...times })
    const records = []
    const unreadable = []
    const { signal } = new AbortController()
    for await (const chunk of source.chunks({ after: undefined, signal })) {
      records.push(...chunk.records)
      unreadable.push(...chunk.unreadable)
    }
    return { records, unreadable, repeated: 0, cursor: '' }
  }
  const row = (at: number, more: Record<string, unknown> = {}) => ({
    id: at,
    transaction_id: `TX${at}`,
    amount: 1.5,
    currency: 'ETH',
    type: 'settlement',
    status: 'completed',
    description: 'x',
    eth_transaction_hash: A,
    created_at: '2025-01-01T00:00:00Z',
    updated_at: '2025-01-01T00:00:00Z',
    ...more,
  })

  it('are read page by page, those without a hash left out', async () => {
    rows = Array.from({ length: 250 }, (_, at) =>
      row(at, at % 2 === 0 ? {} : { eth_transaction_hash: null, currency: 'USD' }),
    )
    const { records, unreadable } = await read()
    expect(records).to.have.length(125)
    expect(unreadable).to.deep.equal([])
    expect(records[0]).to.include({ transactionId: 'TX0', hash: A, status: 'completed' })
    expect(records[0]?.amount).to.include({ text: '1.5', currency: 'ETH' })
  })

  it('have their amounts in the exact units of their currency', async () => {
    rows = [
      row(0, { amount: 0.1, currency: 'ETH' }),
      row(1, { amount: 12.5, currency: 'USD' }),
      row(2, { amount: 12.34, currency: 'EUR' }),
      row(3, { amount: 1200, currency: 'JPY' }),
      row(4, { amount: 12.345, currency: 'GBP' }),
      row(5, { amount: 12, currency: undefined }),
    ]
    const { records, unreadable } = await read()
    expect(records.map(({ amount }) => amount)).to.deep.equal([
      { text: '0.1', currency: 'ETH', money: undefined, isPrice: true },
      { text: '12.5', currency: 'USD', money: undefined, isPrice: true },
      { text: '12.34', currency: 'EUR', money: undefined, isPrice: true },
      { text: '1200', currency: 'JPY', money: undefined, isPrice: true },
    ])
    expect(unreadable.map(({ line }) => line)).to.deep.equal([5, 6])
  })

  it('of checkouts have what was due, which their one transaction need not have paid', async () => {
    const due = { type: 'payment', amount: 12.5 }
    rows = [row(0, { ...due, currency: 'USD' }), row(1, { ...due, currency: 'ETH' }), row(2)]
    const { records } = await read()
    expect(records.map(({ amount }) => [amount?.isPrice, amount?.isDue])).to.deep.equal([
      [true, true],
      [true, true],
      [true, undefined],
    ])
  })

  it('are asked for by the days that the times fall into', async () => {
    await read({ since: new Date('2025-01-01T12:00:00Z'), until: new Date('2025-02-01') })
    expect(asked[0]?.get('start_date')).to.equal('2025-01-01')
    expect(asked[0]?.get('end_date')).to.equal('2025-02-01')
  })

  it('are read once where new rows push old ones onto the next page', async () => {
    rows = Array.from({ length: 300 }, (_, at) => row(at))
    shift = 7
    const { records } = await read()
    expect(new Set(records.map(({ transactionId }) => transactionId)).size).to.equal(300)
    expect(records).to.have.length(300)
  })

  it('are read on behind each chunk, with their places, and not behind the last', async () => {
    rows = Array.from({ length: 4300 }, (_, at) => row(at, at % 1000 ? {} : { status: 'odd' }))
    const client = createPlatformClient({ baseUrl: url, apiKey: 'key' })
    const source = createApiSource(client, { name: 'server' })
    const readAfter = async (after: string | undefined) => {
      const chunks: Chunk[] = []
      const { signal } = new AbortController()
      for await (const chunk of source.chunks({ after, signal })) chunks.push(chunk)
      return chunks
    }
    const whole = await readAfter(undefined)
    expect(whole.map(({ records }) => records.length)).to.deep.equal([1998, 1998, 299])
    expect(whole.map(({ cursor }) => source.positionOf(cursor))).to.deep.equal([2000, 4000, 4300])
    for (const [at, { cursor }] of whole.entries()) {
      expect(await readAfter(cursor)).to.deep.equal(whole.slice(at + 1))
    }
    expect(whole.at(-1)?.unreadable.map(({ line }) => line)).to.deep.equal([4001])
  })

  it('that the server told of and did not give are told at the end of the list', async () => {
    rows = Array.from({ length: 120 }, (_, at) => row(at))
    hidden = 130
    const { records, unreadable } = await read()
    expect(records).to.have.length(120)
    const problem = 'the list ends after 120 rows, and the server counts 250'
    expect(unreadable).to.deep.equal([{ line: 121, problem }])
  })

  it('are all there although more came in meanwhile', async () => {
    rows = Array.from({ length: 150 }, (_, at) => row(at))
    growth = 7
    expect(await read())
      .to.include({ repeated: 0 })
      .and.to.deep.include({ unreadable: [] })
  })

  it('survive a server that is busy or broken now and then', async () => {
    rows = Array.from({ length: 150 }, (_, at) => row(at))
    faults = { 0: 500, 2: 429, 3: 503 }
    expect((await read()).records).to.have.length(150)
  })

  it('that cannot be read are told by their place', async () => {
    rows = [row(0), row(1, { eth_transaction_hash: '0x12' }), row(2, { status: 'odd' }), row(3)]
    const { records, unreadable } = await read()
    expect(records.map(({ transactionId }) => transactionId)).to.deep.equal(['TX0', 'TX3'])
    expect(unreadable.map(({ line }) => line)).to.deep.equal([2, 3])
  })
}).timeout(60_000)
