import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { expect } from 'chai'

import type { PageFiles } from '../../../src/api/pages/shells.ts'
import { insertReceipt } from '../../../src/store/transactions/receipts.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { randomToken } from '../../fixtures/api/admin-api.ts'
import { startApi, type Api } from '../../fixtures/api/api.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { makeTransaction } from '../../fixtures/store/transactions.ts'

const pages: PageFiles = {
  assets: new Map([['a-1.js', { type: 'text/javascript', body: Buffer.from('let a = 1') }]]),
  entries: {
    console: { script: 'a-1.js', style: 'a-1.css', parts: ['a-2.js'] },
    receipt: { script: 'b-1.js', style: 'b-1.css', parts: [] },
    checkout: { script: 'c-1.js', style: 'c-1.css', parts: [] },
  },
}

describe('the pages', () => {
  let api: Api
  let token: string
  let transactionId: string
  let failures = 0

  beforeEach(async () => {
    const { db } = await freshDatabase()
    const user = await makeUser(db)
    const description = '<script>alert(1)</script>'
    ;({ transactionId } = await makeTransaction(db, { userId: user.id, description }))
    token = randomToken()
    await insertReceipt(db, { token, transactionId, quittance: '{"version":1}' })
    const loadPages = async () => {
      if (failures > 0) throw new Error(`not built, ${failures--} to go`)
      return pages
    }
    const visitorRpcUrl = (chain: string | null) => `http://127.0.0.1/${chain}`
    const options = { db, loadPages, visitorRpcUrl }
    api = await startApi({ endpoints: [], server: { pages: options } })
  })

  afterEach(() => api.close())

  it('run only their own program, show no markup of others, and ask nobody else', async () => {
    const page = await api.send({ url: '/console' })
    expect(page.status).to.equal(200)
    expect(page.text).to.include('src="/console/assets/a-1.js"')
    expect(page.text).to.include('<link rel="modulepreload" href="/console/assets/a-2.js" />')
    expect(page.text).not.to.match(/<script(?![^>]+src=)|\sstyle=|\son\w+=/)
    const policy = String(page.headers['content-security-policy'])
    expect(policy).to.include("default-src 'none'").and.include("script-src 'self'")
    expect(policy).to.include("connect-src 'self'").and.include("frame-ancestors 'none'")
    expect(policy).to.include("require-trusted-types-for 'script'")
    expect(policy).not.to.match(/unsafe|https:/)
  })

  it('take a browser from the root to the console, and no program', async () => {
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8'
    const page = await api.send({ url: '/', headers: { accept } })
    expect(page.status).to.equal(302)
    expect(page.headers).to.include({ location: '/console', vary: 'accept' })
    for (const accept of ['*/*', 'application/json']) {
      const { status, body } = await api.send({ url: '/', headers: { accept } })
      expect(status).to.equal(404)
      expect(body).to.include({ code: 'not_found' })
    }
  })

  it('let the receipt, and it alone, ask a node of the visitor', async () => {
    const { headers } = await api.send({ url: `/r/${token}` })
    expect(headers['content-security-policy']).to.match(/connect-src 'self' https: http:\/\/127/)
    expect(headers).to.include({ 'x-robots-tag': 'noindex', 'referrer-policy': 'no-referrer' })
  })

  it('serve programs for good, and zipped to whom it helps', async () => {
    const url = '/console/assets/a-1.js'
    const plain = await api.send({ url })
    expect(plain.text).to.equal('let a = 1')
    expect(plain.headers['cache-control']).to.include('immutable')
    for (const [accepted, encoding, unzip] of [
      ['br, gzip', 'br', brotliDecompressSync],
      ['gzip', 'gzip', gunzipSync],
    ] as const) {
      const headers = { 'accept-encoding': accepted }
      const answer = await api.server.inject({ url, headers })
      expect(answer.headers['content-encoding']).to.equal(encoding)
      expect(unzip(answer.rawPayload).toString()).to.equal('let a = 1')
    }
    for (const other of ['b-1.js', '..%2f..%2fpackage.json', '__proto__']) {
      expect((await api.send({ url: `/console/assets/${other}` })).status).to.equal(404)
    }
  })

  it('give the facts of a receipt and its file to whoever has the address', async () => {
    const facts = await api.send({ url: `/r/${token}/receipt.json` })
    expect(facts.body).to.include({ transaction_id: transactionId, status: 'pending' })
    const file = await api.send({ url: `/r/${token}/quittance.json` })
    expect(file.text).to.equal('{"version":1}')
    expect(file.headers['content-disposition']).to.include(transactionId)
  })

  it('know nothing of a receipt that nobody made, and say so', async () => {
    for (const other of [randomToken(), token.slice(1), `${token}0`, 'a%3Cscript%3E']) {
      const page = await api.send({ url: `/r/${other}` })
      expect(page.status).to.equal(404)
      expect(page.headers['content-type']).to.include('text/html')
      expect(page.text).not.to.include(other)
      for (const file of ['receipt.json', 'quittance.json']) {
        expect((await api.send({ url: `/r/${other}/${file}` })).status).to.equal(404)
      }
    }
  })

  it('are tried again after they could not be built', async () => {
    failures = 1
    expect((await api.send({ url: '/console' })).status).to.equal(500)
    expect((await api.send({ url: '/console' })).status).to.equal(200)
  })
})
