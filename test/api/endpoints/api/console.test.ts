import { expect } from 'chai'
import { sql } from 'kysely'

import { openAlert } from '../../../../src/store/orders/sender-alerts.ts'
import { makeUser } from '../../../fixtures/api/access.ts'
import { startAdminApi, type AdminApi } from '../../../fixtures/api/admin-api.ts'
import { makeBatch } from '../../../fixtures/store/made-batch.ts'
import { makeTransaction } from '../../../fixtures/store/transactions.ts'

type Row = Record<string, unknown>

const HASH = `0x${'ab'.repeat(32)}` as const

describe('what the console asks for beside its lists', () => {
  let admin: AdminApi

  beforeEach(async () => {
    admin = await startAdminApi()
  })

  afterEach(() => admin.api.close())

  const get = (url: string) => admin.send({ url })
  const search = async (q: string): Promise<string[]> => {
    const { body } = await get(`/api/admin/search?q=${encodeURIComponent(q)}`)
    return (body['found'] as Row[]).map((row) => `${String(row['kind'])} ${String(row['id'])}`)
  }

  it('is refused to everybody else', async () => {
    for (const url of ['search?q=1', 'movements?kind=mint', 'disputes', 'statistics', 'alerts']) {
      expect((await admin.send({ url: `/api/admin/${url}` }, 'alice')).status).to.equal(403)
    }
  })

  it('finds one thing by whatever names it', async () => {
    const { db, alice } = admin
    const made = await makeTransaction(db, {
      userId: alice.id,
      description: 'Rent 100% of May',
      externalId: 'lease-7',
      amount: 1234n,
    })
    await makeTransaction(db, { userId: alice.id, description: 'Another', amount: 99n })
    const wanted = `transaction ${made.transactionId}`
    for (const q of [made.transactionId.toLowerCase(), 'lease-7', '100% OF', '12.34']) {
      expect(await search(q), q).to.deep.equal([wanted])
    }
    expect(await search('R_nt')).to.deep.equal([])
    expect(await search('ALI')).to.deep.equal([`user ${alice.id}`])
    expect(await search(HASH)).to.deep.equal([])
    expect(await search(`0x${'ab'.repeat(20)}`)).to.deep.equal([])
    for (const strange of ["'", '%', '\u0000', '0x12', 'TX1', '9'.repeat(40), '1e9']) {
      const { status } = await get(`/api/admin/search?q=${encodeURIComponent(strange)}`)
      expect(status, strange).to.be.oneOf([200, 400])
    }
  })

  it('finds what somebody has paid by the address of the payer', async () => {
    const { db, alice } = admin
    const { transactionId } = await makeTransaction(db, { userId: alice.id, type: 'deposit' })
    const payer = `0x${'ab'.repeat(20)}`
    await sql`
      insert into deposits (transaction_id, chain_id, transaction_hash, log_index, payer, payee,
        amount, block_number, block_hash, gas_used, gas_price, paid_at)
      values (${transactionId}, 31337, ${HASH}, -1, ${payer}, ${`0x${'cd'.repeat(20)}`}, 1, 1,
        ${HASH}, 21000, 1, now())`.execute(db)
    expect(await search(payer.toUpperCase().replace('0X', '0x'))).to.deep.equal([
      `transaction ${transactionId}`,
    ])
  })

  it('finds a batch by its id in any case', async () => {
    const { db, alice } = admin
    const { batchId } = await makeBatch(db, alice.id)
    expect(await search(batchId.toLowerCase())).to.deep.equal([`batch ${batchId}`])
  })

  it('sums the days, those before the first transaction left out', async () => {
    const { db, alice } = admin
    const none = await get('/api/admin/statistics')
    expect(none.body['days']).to.deep.equal([])
    await makeTransaction(db, { userId: alice.id, status: 'completed', amount: 500n })
    await makeTransaction(db, { userId: alice.id, status: 'failed', amount: 700n })
    const { body } = await get('/api/admin/statistics?days=7')
    const days = body['days'] as Row[]
    expect(days).to.have.length(1)
    expect(days[0]).to.deep.include({ transactions: 2, failed: 1, fees_wei: '0' })
    expect(days[0]?.['volume']).to.deep.equal([{ currency: 'USD', amount_decimal: '5' }])
  })

  it('keeps an alert open that somebody has acknowledged, with the note and the name', async () => {
    const { db } = admin
    const chainId = 31_337
    const kind = 'reorg_after_final'
    await openAlert(db, { kind, chainId, orderId: undefined, hash: HASH }, new Date())
    const list = async () => (await get('/api/admin/alerts')).body['alerts'] as Row[]
    const [alert] = await list()
    expect(alert).to.include({ kind, note: null, acknowledged_by: null })
    const path = `/api/admin/alerts/${String(alert?.['id'])}/acknowledge`
    const answer = await admin.send({ method: 'POST', url: path, body: { note: 'Ticket 7' } })
    expect(answer.status).to.equal(200)
    const [noted] = await list()
    expect(noted).to.include({ note: 'Ticket 7' })
    expect(noted?.['acknowledged_by']).to.match(/^user:\d+$/)
    const gone = { method: 'POST' as const, url: '/api/admin/alerts/99/acknowledge' }
    expect((await admin.send({ ...gone, body: { note: 'x' } })).status).to.equal(404)
    expect((await admin.send({ ...gone, body: { note: ' ' } })).status).to.equal(400)
  })

  it('lists no movements and no disputes where there are none', async () => {
    await makeUser(admin.db, { username: 'bob' })
    for (const kind of ['mint', 'redeem', 'wire']) {
      const { body } = await get(`/api/admin/movements?kind=${kind}`)
      expect(body).to.deep.include({ movements: [], next_after: null })
    }
    expect((await get('/api/admin/disputes')).body['disputes']).to.deep.equal([])
    expect((await get('/api/admin/movements?kind=gift')).status).to.equal(400)
  })
})
