import { createServer, get, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'
import { sql } from 'kysely'

import type { Db } from '../../src/store/database.ts'
import { hashPassword } from '../../src/store/passwords.ts'
import { transact } from '../../src/store/transact.ts'
import { freshDatabase } from './database.ts'
import { takeWaitsInTransactions } from './transaction-guard.ts'

describe('the guard of transactions', () => {
  let server: Server
  let url: string
  let db: Db

  before(async () => {
    server = createServer((_request, response) => response.end())
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    ;({ db } = await freshDatabase())
  })

  after(() => server.close())

  const waits: Record<string, () => Promise<unknown>> = {
    'a fetch': async () => (await fetch(url)).text(),
    'a request of HTTP': () =>
      new Promise((done) => get(url, (answer) => answer.resume().on('end', done))),
    'the hash of a password': () => hashPassword('correct horse battery'),
  }
  for (const [name, wait] of Object.entries(waits)) {
    it(`finds ${name} in a transaction, and lets it be outside of one`, async () => {
      await wait()
      expect(takeWaitsInTransactions()).to.deep.equal([])
      await transact(db, async (open) => {
        await sql`select 1`.execute(open)
        await wait()
      })
      expect(takeWaitsInTransactions()).to.have.length(1)
      await wait()
      expect(takeWaitsInTransactions()).to.deep.equal([])
    })
  }

  it('leaves a transaction that a test holds open alone', async () => {
    await db.transaction().execute(waits['a fetch']!)
    expect(takeWaitsInTransactions()).to.deep.equal([])
  })
})
