import { expect } from 'chai'

import { findEverywhere } from '../../../src/store/access/everything.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { insertManyTransactions } from '../../fixtures/store/many-transactions.ts'
import { makeTransaction } from '../../fixtures/store/transactions.ts'

describe('findEverywhere', () => {
  it('finds what is old by its words and its amount, however much is new', async () => {
    const { db } = await freshDatabase()
    const alice = await makeUser(db)
    const search = async (text: string): Promise<string[]> =>
      (await findEverywhere(db, text)).map(({ kind, id }) => `${kind} ${id}`)
    const old = { userId: alice.id, amount: 123_456n, description: "May's rent, O'Neil (Büro)" }
    const { transactionId } = await makeTransaction(db, old)
    await makeTransaction(db, { userId: alice.id, description: 'Rent of April', amount: 99n })
    const younger = { userId: alice.id, description: 'Büros', amount: 99n }
    const { transactionId: longer } = await makeTransaction(db, younger)
    await insertManyTransactions(db, { userId: alice.id, count: 2000, from: '2100-01-01' })
    const wanted = `transaction ${transactionId}`
    for (const q of ["rent o'neil", 'neil may', '1234.56', '1,234.560', '1\u202f234.56']) {
      expect(await search(q), q).to.deep.equal([wanted])
    }
    expect(await search('rent')).to.have.length(2)
    // A whole word comes before one that only begins so, which is younger.
    expect(await search('büro')).to.deep.equal([wanted, `transaction ${longer}`])
    // The beginning of a word is enough, but not one or two letters, and only of the last word.
    expect(await search('may ren')).to.deep.equal([wanted])
    for (const q of ['re', 'ren may', 'may april', '=1234.56', "'", '!', '| &']) {
      expect(await search(q), q).to.deep.equal([])
    }
  })
})
