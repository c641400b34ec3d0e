import { expect } from 'chai'

import { exportEndpoint } from '../../../../src/api/endpoints/api/export.ts'
import type { User } from '../../../../src/store/access/users.ts'
import type { Db } from '../../../../src/store/database/database.ts'
import { claimAddress } from '../../../../src/store/transactions/addresses.ts'
import { recordTransaction } from '../../../../src/store/transactions/transactions.ts'
import { callerOf, makeUser } from '../../../fixtures/api/access.ts'
import { startApi, type Api } from '../../../fixtures/api/api.ts'
import { oneChain } from '../../../fixtures/api/chains.ts'
import { deposit, DOLLAR, makePayment, makeWallets } from '../../../fixtures/books/money.ts'
import { createTestClock } from '../../../fixtures/clock.ts'
import { freshDatabase } from '../../../fixtures/store/database.ts'
import { insertManyTransactions } from '../../../fixtures/store/many-transactions.ts'
import { storePaidOrders } from '../../../fixtures/store/paid-orders.ts'

const ADDRESS = `0x${'aa'.repeat(20)}` as const

type Row = Record<string, string | null> & {
  row: 'opening' | 'entry' | 'closing'
  account: string
  change: string
  balance: string
}

describe('/api/export', () => {
  let db: Db
  let api: Api
  let url: string
  let alice: User
  let bob: User
  let admin: User

  beforeEach(async () => {
    db = (await freshDatabase()).db
    ;[alice, bob] = [await makeUser(db), await makeUser(db)]
    admin = await makeUser(db, { scopes: ['admin'] })
    // Ahead of the database's own time, so that nothing is too young.
    const clock = createTestClock(new Date(Date.now() + 60_000))
    const users = [alice, bob, admin]
    api = await startApi({
      endpoints: [exportEndpoint({ clock, chains: oneChain({}) })],
      hooks: {
        db,
        authenticate: async ({ 'x-api-key': key }) =>
          callerOf(users.find(({ username }) => username === key)!),
      },
    })
    url = await api.server.listen({ host: '127.0.0.1', port: 0 })
  })
  afterEach(() => api.close())

  const ask = (query: string, as = alice): Promise<Response> =>
    fetch(`${url}/api/export?${query}`, { headers: { 'x-api-key': as.username } })

  const rowsOf = async (query: string, as = alice): Promise<Row[]> => {
    const answer = await ask(`${query}&format=jsonl`, as)
    expect(answer.status).to.equal(200)
    const lines = (await answer.text()).trimEnd().split('\n')
    return lines.map((line) => JSON.parse(line) as Row)
  }

  const units = (text: string, decimals: number): bigint => {
    const [whole = '', fraction = ''] = text.replace('-', '').split('.')
    const amount = BigInt(whole + fraction.padEnd(decimals, '0'))
    return text.startsWith('-') ? -amount : amount
  }

  /** Each account begins, goes from balance to balance, and ends; as `{account: [first, last]}`. */
  const balancesOf = (rows: readonly Row[], decimals: number): Record<string, string[]> => {
    const now = new Map<string, string>()
    const ends: Record<string, string[]> = {}
    for (const { row, account, change, balance } of rows) {
      if (row === 'opening') {
        ends[account] = [balance]
      } else {
        const before = units(now.get(account)!, decimals)
        expect(units(balance, decimals)).to.equal(before + units(change, decimals))
        if (row === 'closing') ends[account]!.push(balance)
      }
      now.set(account, balance)
    }
    return ends
  }

  it('streams every transaction once, over pages, with sums by currency', async () => {
    await insertManyTransactions(db, { userId: alice.id, count: 2500 })
    await insertManyTransactions(db, { userId: bob.id, count: 0 })
    const rows = await rowsOf('kind=transactions')
    const entries = rows.filter(({ row }) => row === 'entry')
    expect(new Set(entries.map((one) => one['transaction_id'])).size).to.equal(2500)
    const { USD, ETH } = balancesOf(rows, 2)
    expect(ETH).to.deep.equal(['0', '0'])
    // n + 0.25 each; every fiftieth failed, and two kinds of five come in.
    let cents = 0n
    for (let n = 1n; n <= 2500n; n++) {
      const isIn = n % 5n === 0n || n % 5n === 2n
      if (n % 50n !== 1n) cents += (n * 100n + 25n) * (isIn ? 1n : -1n)
    }
    expect(units(USD![1]!, 2)).to.equal(cents)
    expect((await rowsOf('kind=transactions', bob)).filter(({ row }) => row === 'entry')).to.be
      .empty
  })

  it('goes on where the export before it ended', async () => {
    await insertManyTransactions(db, { userId: alice.id, count: 100 })
    const middle = '2025-01-01T00:00:40.500Z'
    const first = balancesOf(await rowsOf(`kind=transactions&to=${middle}`), 2)
    const second = balancesOf(await rowsOf(`kind=transactions&from=${middle}`), 2)
    const whole = balancesOf(await rowsOf('kind=transactions'), 2)
    expect(first['USD']![0]).to.equal('0')
    expect(second['USD']![0]).to.equal(first['USD']![1])
    expect(second['USD']![1]).to.equal(whole['USD']![1])
  })

  it('streams postings account by account, and all of them sum to nothing', async () => {
    await makePayment(db, alice.id)
    await makeWallets(db, bob.id)
    const own = balancesOf(await rowsOf('kind=postings'), 6)
    expect(Object.values(own)).to.deep.equal([
      ['0', '99'],
      ['0', '1'],
      ['0', '0'],
      ['0', '0'],
    ])
    const all = Object.values(balancesOf(await rowsOf('kind=postings', admin), 6))
    expect(all.reduce((sum, [, last]) => sum + units(last!, 6), 0n)).to.equal(0n)
    const later = balancesOf(await rowsOf(`kind=postings&from=${new Date().toISOString()}`), 6)
    expect(Object.values(later).map(([first]) => first)).to.deep.equal(['99', '1', '0', '0'])
  })

  it('streams more postings of one account than a page has', async () => {
    const { main } = await makeWallets(db, alice.id, DOLLAR)
    for (let count = 0; count < 1100; count++) await deposit(db, main, 1n)
    const rows = (await rowsOf('kind=postings')).filter(
      ({ account }) => account === `wallet:${main}`,
    )
    expect(rows.filter(({ row }) => row === 'entry')).to.have.length(1101)
    expect(balancesOf(rows, 6)[`wallet:${main}`]).to.deep.equal(['0', '1.0011'])
  })

  it('streams what transactions on the chain have cost, to whom they have cost it', async () => {
    // Orders TX…1 to TX…3, of 21,000 wei each. That none has a transaction changes nothing.
    const payee = `0x${'bb'.repeat(20)}` as const
    await storePaidOrders(db, { chainId: 31337, signer: ADDRESS, payee, count: 3 })
    expect((await rowsOf('kind=fees')).filter(({ row }) => row === 'entry')).to.deep.equal([])
    await claimAddress(db, { userId: alice.id, address: ADDRESS })
    const own = await rowsOf('kind=fees')
    expect(own.filter(({ row }) => row === 'entry')).to.have.length(3)
    expect(balancesOf(own, 18)['ETH']).to.deep.equal(['0', '-0.000000000000063'])
    const all = await rowsOf('kind=fees', admin)
    expect(balancesOf(all, 18)['ETH']).to.deep.equal(['0', '-0.000000000000063'])
    expect(all[1]).to.include({ transaction_id: 'TX00000000000000000001', gas_used: '21000' })
    const later = await rowsOf(`kind=fees&from=${new Date(Date.now() + 20_000).toISOString()}`)
    expect(balancesOf(later, 18)['ETH']).to.deep.equal(['-0.000000000000063', '-0.000000000000063'])
  })

  it('is CSV that no spreadsheet runs, and says what it is', async () => {
    await recordTransaction(db, {
      transactionId: 'TX00000000000000000001',
      userId: alice.id,
      type: 'payment',
      amount: 5n,
      currency: 'USD',
      description: '=1+1, "two"',
      actor: 'test',
      reason: 'test',
    })
    const answer = await ask('kind=transactions')
    expect(answer.headers.get('content-type')).to.equal('text/csv; charset=utf-8')
    expect(answer.headers.get('content-disposition')).to.include('transactions.csv')
    const text = await answer.text()
    expect(text).to.match(/^row,at,account,currency,change,balance,transaction_id,/)
    expect(text).to.include('"\'=1+1, ""two"""')
  })

  it('refuses what ends before it begins, and a kind that it does not know', async () => {
    const late = await ask('kind=fees&from=2100-01-01T00:00:00Z')
    expect(late.status).to.equal(400)
    expect(await late.json()).to.include({ code: 'invalid_request' })
    expect((await ask('kind=everything')).status).to.equal(400)
  })
})
