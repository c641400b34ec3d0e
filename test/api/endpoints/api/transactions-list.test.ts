import { expect } from 'chai'

import { startTransactionsApi } from '../../../fixtures/api/transactions-api.ts'
import { recordChain } from '../../../../src/store/database/chains.ts'
import { LOCAL } from '../../../fixtures/api/chains.ts'
import { insertManyTransactions } from '../../../fixtures/store/many-transactions.ts'
import { storePaidOrders } from '../../../fixtures/store/paid-orders.ts'
import { makeTransaction } from '../../../fixtures/store/transactions.ts'

const idsOf = (body: Record<string, unknown>) =>
  (body['transactions'] as { id: number }[]).map(({ id }) => id)

const codesOf = (body: Record<string, unknown>) =>
  (body['details'] as { field: string; code: string }[]).map(({ field, code }) => ({ field, code }))

describe('GET /api/transactions', () => {
  it('shows every field, and the amount exact', async () => {
    const { db, alice, get } = await startTransactionsApi()
    const made = await makeTransaction(db, {
      userId: alice.id,
      type: 'settlement',
      amount: 1_000_000_000_000_000_001n,
      currency: 'ETH',
      description: 'Invoice 14',
      ethTransactionHash: `0x${'ab'.repeat(32)}`,
      createdAt: new Date('2026-03-01T00:00:00.123Z'),
    })
    const { status, text } = await get('/api/transactions')
    expect(status).to.equal(200)
    expect(text).to.include('"amount":1.000000000000000001,')
    expect(JSON.parse(text)).to.deep.equal({
      success: true,
      transactions: [
        {
          id: 1,
          transaction_id: made.transactionId,
          amount: 1,
          amount_decimal: '1.000000000000000001',
          amount_wei: '1000000000000000001',
          currency: 'ETH',
          type: 'settlement',
          status: 'pending',
          description: 'Invoice 14',
          eth_transaction_hash: made.ethTransactionHash,
          external_id: null,
          batch_id: null,
          chain: null,
          to_address: null,
          disputed_by: [],
          created_at: '2026-03-01T00:00:00.123Z',
          updated_at: '2026-03-01T00:00:00.123Z',
        },
      ],
      total: 1,
      total_is_exact: true,
      limit: 50,
      offset: 0,
      next_cursor: null,
    })
  })

  it('finds what keeps an address, a word, a currency or an amount, and only the own', async () => {
    const { db, alice, bob, get } = await startTransactionsApi()
    const toAddress = '0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'
    const common = { type: 'settlement', currency: 'ETH', toAddress } as const
    const one = 10n ** 18n
    const tricky = `'; drop table transactions; --`
    const make = (userId: number, more: object) =>
      makeTransaction(db, { userId, ...common, ...more })
    const a = await make(alice.id, { amount: one, metadata: { order_id: '42', shop: 'main' } })
    const b = await make(alice.id, { amount: 2n * one, metadata: { order_id: tricky } })
    const c = await makeTransaction(db, { userId: alice.id, metadata: { shop: 'main' } })
    await make(bob.id, { amount: one, metadata: { order_id: '42', shop: 'main' } })
    const found = async (query: Record<string, string>) => {
      const { status, body } = await get(
        `/api/transactions?${new URLSearchParams(query).toString()}`,
      )
      expect(status, JSON.stringify(body)).to.equal(200)
      expect(body['total'], JSON.stringify(query)).to.equal(idsOf(body).length)
      return idsOf(body).map(BigInt)
    }
    const both = [b.id, a.id]
    expect(await found({ to_address: toAddress })).to.deep.equal(both)
    const mixed = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    expect(await found({ to_address: mixed })).to.deep.equal(both)
    expect(await found({ currency: 'ETH' })).to.deep.equal(both)
    expect(await found({ currency: 'USD' })).to.deep.equal([c.id])
    expect(await found({ currency: 'ETH', min_amount: '1.000000000000000001' })).to.deep.equal([
      b.id,
    ])
    expect(await found({ currency: 'ETH', max_amount: '1' })).to.deep.equal([a.id])
    expect(await found({ currency: 'ETH', min_amount: '0', max_amount: '3' })).to.deep.equal(both)
    expect(await found({ 'metadata[order_id]': '42' })).to.deep.equal([a.id])
    expect(await found({ 'metadata[order_id]': tricky })).to.deep.equal([b.id])
    expect(await found({ 'metadata[order_id]': '4' })).to.deep.equal([])
    expect(await found({ 'metadata[shop]': 'main' })).to.deep.equal([c.id, a.id])
    const all = { 'metadata[shop]': 'main', 'metadata[order_id]': '42', to_address: toAddress }
    const more = { currency: 'ETH', min_amount: '1', max_amount: '1', type: 'settlement' }
    expect(await found({ ...all, ...more, status: 'pending' })).to.deep.equal([a.id])
    expect(await found({ ...all, ...more, status: 'failed' })).to.deep.equal([])
    const { body } = await get(`/api/transactions/${a.transactionId}`)
    expect(body['metadata']).to.deep.equal({ order_id: '42', shop: 'main' })
    expect(body['to_address']).to.equal(mixed)
  })

  it('refuses what cannot be searched for, and names it', async () => {
    const { get } = await startTransactionsApi()
    const refused = async (query: string) => {
      const { status, body } = await get(`/api/transactions?${query}`)
      expect(status, query).to.equal(400)
      return codesOf(body).map(({ field, code }) => `${field} ${code}`)
    }
    const words = ['a', 'b', 'c', 'd'].map((key) => `metadata[${key}]=1`).join('&')
    const cases: Record<string, string[]> = {
      'to_address=0x12': ['query.to_address pattern'],
      'to_address=0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed': ['query.to_address checksum'],
      'currency=': ['query.currency minLength'],
      'min_amount=1': ['query.currency required'],
      'max_amount=1': ['query.currency required'],
      'currency=USD&min_amount=2&max_amount=1.999': ['query.min_amount above_max_amount'],
      'currency=USD&min_amount=1e999': ['query.min_amount pattern'],
      'currency=USD&max_amount=NaN': ['query.max_amount pattern'],
      'currency=USD&max_amount=-1': ['query.max_amount pattern'],
      'currency=USD&min_amount=1&min_amount=2': ['query.min_amount duplicate_key'],
      'metadata=1': ['query.metadata type'],
      'metadata[]=1': ['query.metadata[] unknown_field'],
      'metadata[a][b]=1': ['query.metadata.a][b unknown_field'],
      'metadata[a b]=1': ['query.metadata.a b unknown_field'],
      'metadata[a]=1&metadata%5Ba%5D=2': ['query.metadata[a] duplicate_key'],
      'type[a]=payment': ['query.type[a] unknown_field'],
      [words]: ['query.metadata maxProperties'],
      [`metadata[a]=${'x'.repeat(501)}`]: ['query.metadata.a maxLength'],
    }
    for (const [query, expected] of Object.entries(cases)) {
      expect(await refused(query), query).to.deep.equal(expected)
    }
    const { body } = await get('/api/transactions?to_address=0x12')
    expect(body['error']).to.equal('query.to_address: This must be 0x and 40 hexadecimal digits.')
    const { body: amount } = await get('/api/transactions?currency=USD&min_amount=1e999')
    expect(amount['error']).to.include('This must be a decimal such as 12.5, of at most 13 digits')
    const { status } = await get('/api/transactions?metadata[__proto__]=1')
    expect(status).to.equal(200)
  })

  it('finds what a hash or a reference names, and counts only what is the own', async () => {
    const { db, alice, bob, get } = await startTransactionsApi()
    await recordChain(db, LOCAL)
    const hash = `0x${'ab'.repeat(32)}` as const
    const own = [
      await makeTransaction(db, { userId: alice.id, ethTransactionHash: hash }),
      await makeTransaction(db, { userId: alice.id, ethTransactionHash: hash, type: 'deposit' }),
    ]
    await makeTransaction(db, { userId: bob.id, ethTransactionHash: hash })
    await insertManyTransactions(db, { userId: alice.id, count: 3 })
    // Orders of those three, each with an attempt whose hash is its reference.
    const [signer, payee] = [`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`] as const
    await storePaidOrders(db, { chainId: 31337, signer, payee, count: 3 })
    const second = `0x${'2'.padStart(64, '0')}`
    const found = async (query: string) => {
      const { body } = await get(`/api/transactions?${query}`)
      const rows = body['transactions'] as { transaction_id: string }[]
      return { ids: rows.map((one) => one.transaction_id), total: body['total'] }
    }
    const [first, last] = own.map(({ transactionId }) => transactionId)
    expect(await found(`hash=${hash}`)).to.deep.equal({ ids: [last, first], total: 2 })
    expect(await found(`hash=${hash}&limit=1`)).to.deep.equal({ ids: [last], total: 2 })
    expect(await found(`hash=${hash}&offset=1`)).to.deep.equal({ ids: [first], total: 2 })
    expect(await found(`hash=${hash}&offset=5`)).to.deep.equal({ ids: [], total: 2 })
    expect(await found(`hash=${hash}&type=deposit`)).to.deep.equal({ ids: [last], total: 1 })
    const one = { ids: ['TX00000000000000000002'], total: 1 }
    expect(await found(`hash=${second}`)).to.deep.equal(one)
    expect(await found(`reference=${second}`)).to.deep.equal(one)
    expect(await found(`reference=${second}&hash=${hash}`)).to.deep.equal({ ids: [], total: 0 })
    expect((await get('/api/transactions?hash=0x12')).status).to.equal(400)
  })

  it('filters by type and status, and shows only what is the own', async () => {
    const { db, alice, bob, get } = await startTransactionsApi()
    await makeTransaction(db, { userId: alice.id, type: 'deposit', status: 'failed' })
    await makeTransaction(db, { userId: alice.id, type: 'payment', status: 'failed' })
    await makeTransaction(db, { userId: alice.id, type: 'payment' })
    await makeTransaction(db, { userId: bob.id, type: 'payment', status: 'failed' })
    const list = async (query: string) => idsOf((await get(`/api/transactions?${query}`)).body)
    expect(await list('')).to.deep.equal([3, 2, 1])
    expect(await list('type=payment')).to.deep.equal([3, 2])
    expect(await list('status=failed')).to.deep.equal([2, 1])
    expect(await list('type=payment&status=failed')).to.deep.equal([2])
    expect(await list('type=withdrawal')).to.deep.equal([])
    expect(idsOf((await get('/api/transactions', bob)).body)).to.deep.equal([4])
  })

  it('takes both days whole, in UTC', async () => {
    const { db, alice, get } = await startTransactionsApi()
    const times = [
      '2026-02-27T23:59:59.999Z',
      '2026-02-28T00:00:00.000Z',
      '2026-02-28T23:59:59.999Z',
      '2026-03-01T00:00:00.000Z',
    ]
    for (const time of times) {
      await makeTransaction(db, { userId: alice.id, createdAt: new Date(time) })
    }
    const list = async (query: string) => {
      const { body } = await get(`/api/transactions?${query}`)
      return { ids: idsOf(body), total: body['total'] }
    }
    const day = '2026-02-28'
    const one = await list(`start_date=${day}&end_date=${day}`)
    expect(one).to.deep.equal({ ids: [3, 2], total: 2 })
    expect(await list(`start_date=${day}`)).to.deep.equal({ ids: [4, 3, 2], total: 3 })
    expect(await list(`end_date=${day}`)).to.deep.equal({ ids: [3, 2, 1], total: 3 })
    expect(await list('end_date=9999-12-31')).to.deep.equal({ ids: [4, 3, 2, 1], total: 4 })
  })

  it('pages by offset, and counts all the same', async () => {
    const { db, alice, get } = await startTransactionsApi()
    for (let made = 0; made < 5; made++) await makeTransaction(db, { userId: alice.id })
    const { body } = await get('/api/transactions?limit=2&offset=3')
    expect(idsOf(body)).to.deep.equal([2, 1])
    expect(body).to.deep.include({ total: 5, limit: 2, offset: 3, next_cursor: null })
    const beyond = await get('/api/transactions?offset=1000000')
    expect(beyond.body).to.deep.include({ transactions: [], total: 5, next_cursor: null })
  })

  it('takes a limit that is too large as the largest, and says so', async () => {
    const { get } = await startTransactionsApi()
    expect((await get('/api/transactions?limit=100000')).body['limit']).to.equal(100)
  })

  it('pages by cursor through all, each once, with a filter too', async () => {
    const { db, alice, get } = await startTransactionsApi()
    const createdAt = new Date('2026-03-01T12:00:00.000Z')
    for (let made = 0; made < 7; made++) {
      const type = made % 3 === 0 ? 'deposit' : 'payment'
      // Of one moment, so that the id alone decides.
      await makeTransaction(db, { userId: alice.id, type, createdAt })
    }
    for (const [filter, wanted] of [
      ['', [7, 6, 5, 4, 3, 2, 1]],
      ['&type=payment', [6, 5, 3, 2]],
      ['&type=payment&start_date=2026-03-01', [6, 5, 3, 2]],
      ['&start_date=2026-03-02', []],
    ] as const) {
      const seen: number[] = []
      let cursor: string | null = ''
      for (let pages = 0; pages < 9 && cursor !== null; pages++) {
        const place = cursor === '' ? '' : `&cursor=${cursor}`
        const { body } = await get(`/api/transactions?limit=2${filter}${place}`)
        seen.push(...idsOf(body))
        expect(body['total']).to.equal(wanted.length)
        cursor = body['next_cursor'] as string | null
      }
      expect(seen).to.deep.equal(wanted)
    }
  })

  const refused = {
    'type=gift': { field: 'query.type', code: 'enum' },
    'status=Completed': { field: 'query.status', code: 'enum' },
    'start_date=2025-02-30': { field: 'query.start_date', code: 'format' },
    'end_date=2025-13-01': { field: 'query.end_date', code: 'format' },
    'start_date=2025-03-02&end_date=2025-03-01': {
      field: 'query.start_date',
      code: 'after_end_date',
    },
    'limit=0': { field: 'query.limit', code: 'minimum' },
    'limit=1e2': { field: 'query.limit', code: 'type' },
    'offset=-1': { field: 'query.offset', code: 'minimum' },
    'offset=1000001': { field: 'query.offset', code: 'maximum' },
    'page=2': { field: 'query.page', code: 'unknown_field' },
    'cursor=': { field: 'query.cursor', code: 'pattern' },
    'cursor=AAAA': { field: 'query.cursor', code: 'bad_cursor' },
  }
  for (const [query, problem] of Object.entries(refused)) {
    it(`refuses ${query}`, async () => {
      const { get } = await startTransactionsApi()
      const { status, body } = await get(`/api/transactions?${query}`)
      expect(status).to.equal(400)
      expect(codesOf(body)).to.deep.equal([problem])
    })
  }

  for (const place of [
    '0,1',
    '1,0',
    '1,-1',
    '01,1',
    '1,1;',
    '9'.repeat(16) + ',1',
    '1,' + '9'.repeat(19),
  ]) {
    it(`refuses a cursor that says ${place}`, async () => {
      const { get } = await startTransactionsApi()
      const cursor = Buffer.from(place).toString('base64url')
      const { status, body } = await get(`/api/transactions?cursor=${cursor}`)
      expect(status).to.equal(400)
      expect(codesOf(body)).to.deep.equal([{ field: 'query.cursor', code: 'bad_cursor' }])
    })
  }

  it('takes the furthest places that a cursor can say', async () => {
    const { db, alice, get } = await startTransactionsApi()
    await makeTransaction(db, { userId: alice.id })
    for (const [place, found] of [
      ['1,1', 0],
      [`${'9'.repeat(14)},${'9'.repeat(18)}`, 1],
    ] as const) {
      const cursor = Buffer.from(place).toString('base64url')
      const { status, body } = await get(`/api/transactions?cursor=${cursor}`)
      expect([status, idsOf(body).length]).to.deep.equal([200, found])
    }
  })

  it('refuses a cursor and an offset at once', async () => {
    const { get } = await startTransactionsApi()
    const cursor = Buffer.from('1,1').toString('base64url')
    const { status, body } = await get(`/api/transactions?cursor=${cursor}&offset=1`)
    expect(status).to.equal(400)
    expect(codesOf(body)).to.deep.equal([{ field: 'query.offset', code: 'conflict' }])
  })
})
