import { expect } from 'chai'

import { listDeliveries } from '../../../../src/store/webhooks/delivery-log.ts'
import { notify } from '../../../../src/store/webhooks/notifications.ts'
import { makeUser } from '../../../fixtures/api/access.ts'
import { startAdminApi, type AdminApi } from '../../../fixtures/api/admin-api.ts'
import { makeSubscription } from '../../../fixtures/api/webhooks.ts'
import { makePayment, makeWalletTransfer } from '../../../fixtures/books/money.ts'

type Row = Record<string, string>

describe('what administrators see of the ledger', () => {
  let admin: AdminApi

  beforeEach(async () => {
    admin = await startAdminApi()
  })

  afterEach(() => admin.api.close())

  const get = (path: string, as?: string) => admin.send({ url: `/api/admin/${path}` }, as)
  const rowsOf = async (path: string, name = path.split('?')[0] ?? '') =>
    (await get(path)).body[name] as Row[]

  it('is refused to everybody else', async () => {
    for (const path of ['wallets', 'postings']) {
      expect((await get(path, 'alice')).status).to.equal(403)
    }
  })

  it('lists the wallets of all users with what is in them and what is held', async () => {
    const { db, alice } = admin
    await makePayment(db, alice.id)
    const [main, second, ...others] = await rowsOf(`wallets?user_id=${alice.id}`)
    expect(main).to.include({ username: 'alice', type: 'merchant', balance: '99.00', held: '1.00' })
    expect(second).to.include({ description: 'Savings', balance: '0.00', held: '0.00' })
    expect(others).to.have.length(0)
    const [one] = await rowsOf(`wallets?wallet_id=${second?.['wallet_id']}`)
    expect(one).to.deep.equal(second)
  })

  it('sums to zero over all wallets and what is in none', async () => {
    const { db, alice } = admin
    await makePayment(db, alice.id)
    const { body } = await get('wallets')
    const cents = (text = '') => BigInt(text.replace('.', ''))
    const wallets = body['wallets'] as Row[]
    const inWallets = wallets.map((row) => cents(row['balance']) + cents(row['held']))
    const inNone = (body['platform'] as Row[]).map((row) => cents(row['balance']))
    expect(inNone).to.have.length(4)
    expect([...inWallets, ...inNone].reduce((sum, part) => sum + part, 0n)).to.equal(0n)
    expect(inWallets.reduce((sum, part) => sum + part, 0n)).to.equal(10_000n)
  })

  it('goes through wallets page by page, and shows none twice', async () => {
    const { db } = admin
    for (let count = 0; count < 3; count++) await makeUser(db)
    const all = await rowsOf('wallets')
    const seen: Row[] = []
    for (let after = ''; after !== 'null';) {
      const { body } = await get(`wallets?limit=2${after && `&after=${after}`}`)
      seen.push(...(body['wallets'] as Row[]))
      after = String(body['next_after'])
    }
    expect(seen).to.deep.equal(all)
    expect(all).to.have.length(5)
  })

  it('lists the postings of a wallet once each, though both sides are its own', async () => {
    const { db, alice } = admin
    const { walletId, id } = await makePayment(db, alice.id)
    const postings = await rowsOf(`postings?wallet_id=${walletId}`)
    expect(postings.map((row) => [row['kind'], row['amount']])).to.deep.equal([
      ['hold', '1.00'],
      ['deposit', '100.00'],
    ])
    const wallet = { account: 'wallet', wallet_id: String(walletId) }
    expect(postings[0]).to.deep.include({ subject: id, from: wallet })
    expect(postings[0]).to.deep.include({ to: { ...wallet, account: 'held' } })
    expect(postings[1]).to.deep.include({ from: { account: 'bank', wallet_id: null } })
    const { body } = await get(`postings?wallet_id=${walletId}&limit=1`)
    expect(body['postings']).to.deep.equal(postings.slice(0, 1))
    const rest = await rowsOf(`postings?wallet_id=${walletId}&after=${String(body['next_after'])}`)
    expect(rest).to.deep.equal(postings.slice(1))
  })

  it('lists the postings for one thing, in whichever wallet, and nothing of others', async () => {
    const { db, alice } = admin
    const transfer = await makeWalletTransfer(db, alice.id)
    await makePayment(db, alice.id)
    const postings = await rowsOf(`postings?subject=${transfer.id}`)
    expect(postings.map((row) => row['kind'])).to.deep.equal(['transfer'])
    const received = await rowsOf(`postings?wallet_id=${transfer.toWalletId}`)
    expect(received).to.deep.equal(postings)
    expect(await rowsOf('postings?subject=TX404')).to.deep.equal([])
    expect(await rowsOf('postings')).to.have.length(4)
  })

  it('refuses ids that are none', async () => {
    for (const query of ['wallets?after=x', 'wallets?wallet_id=0', 'postings?after=-1']) {
      expect((await get(query)).status).to.equal(400)
    }
    expect((await get('postings?subject=')).status).to.equal(400)
  })

  it('finds who was told of a transaction by the chargeback that names it', async () => {
    const { db, alice } = admin
    await makeSubscription(db, { userId: alice.id })
    const told = [
      { type: 'payments', body: { id: 'p-1' } },
      { type: 'chargebacks', body: { id: 'dispute-1', paymentId: 'TX1' } },
    ] as const
    for (const notification of told) await notify(db, { userId: alice.id, ...notification })
    const about = async (id: string) =>
      (await listDeliveries(db, { about: id, limit: 9 })).map((row) => row.notification.type)
    expect(await about('TX1')).to.deep.equal(['chargebacks'])
    expect(await about('p-1')).to.deep.equal(['payments'])
    expect(await about('dispute-1')).to.deep.equal([])
  })
})
