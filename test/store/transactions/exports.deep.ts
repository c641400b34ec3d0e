import { expect } from 'chai'

import { measureExport } from '../../engines/bench/exports.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { insertManyTransactions } from '../../fixtures/store/many-transactions.ts'

describe('an export of many rows', () => {
  it('holds a page of them, and not all', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const count = 30_000
    await insertManyTransactions(db, { userId, count })
    const { lines, last, heldMb } = await measureExport(db, { userId, lookEvery: 5_000 })
    // An opening and a closing line for each of four currencies.
    expect(lines).to.equal(count + 8)
    expect(JSON.parse(last)).to.include({ row: 'closing' })
    // Held at one time they are 9 MB, and a page is less than one.
    expect(heldMb).to.be.lessThan(4)
  }).timeout(60_000)
})
