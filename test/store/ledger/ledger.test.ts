import { expect } from 'chai'
import { sql } from 'kysely'

import type { Db } from '../../../src/store/database/database.ts'
import { post, readBalance, type Posting } from '../../../src/store/ledger/ledger.ts'
import { mainWallet } from '../../../src/store/ledger/wallets.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { deposit, DOLLAR, makeWallets, readLedger } from '../../fixtures/books/money.ts'
import { databaseCodeOf, expectFailure } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('the ledger', () => {
  let db: Db
  let main: bigint
  let second: bigint

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    const { id } = await makeUser(db)
    ;({ main, second } = await makeWallets(db, id, 10n * DOLLAR))
  })

  let subjects = 0
  const posting = (change: Partial<Posting> = {}): Posting => ({
    kind: 'transfer',
    subject: `subject ${(subjects += 1)}`,
    from: { wallet: main },
    to: { wallet: second },
    amount: DOLLAR,
    currency: 'USD',
    ...change,
  })

  it('moves money from one account to another', async () => {
    expect(await post(db, posting({ amount: 3n }))).to.equal(true)
    expect(await readBalance(db, { wallet: main })).to.equal(10n * DOLLAR - 3n)
    expect(await readBalance(db, { wallet: second })).to.equal(3n)
    expect(await readLedger(db)).to.deep.equal({ sum: 0n, astray: 0 })
  })

  it('opens a wallet with each user, and both of its accounts with each wallet', async () => {
    const { id } = await makeUser(db)
    const wallet = await mainWallet(db, id)
    expect(wallet).to.include({ userId: id, type: 'merchant', amount: 0n, currency: 'USD' })
    expect(await readBalance(db, { heldOf: wallet.id })).to.equal(0n)
  })

  it('holds more than a 64-bit number of millionths', async () => {
    const fortune = 9_999_999_999_999n * DOLLAR
    await deposit(db, main, fortune)
    expect(await readBalance(db, { wallet: main })).to.equal(fortune + 10n * DOLLAR)
  })

  it('posts each step of a subject once', async () => {
    const first = posting({ subject: 'once', kind: 'hold', to: { heldOf: main } })
    expect(await post(db, first)).to.equal(true)
    expect(await post(db, first)).to.equal(false)
    expect(await readBalance(db, { heldOf: main })).to.equal(DOLLAR)
  })

  it('ends a hold one way only', async () => {
    const subject = 'ends'
    await post(db, posting({ subject, kind: 'hold', to: { heldOf: main }, amount: 4n }))
    const from = { heldOf: main }
    const out = posting({ subject, from, kind: 'pay_out', to: { system: 'bank' }, amount: 4n })
    expect(await post(db, out)).to.equal(true)
    await deposit(db, main, 4n)
    const back = posting({ subject, from, kind: 'release', to: { wallet: main }, amount: 4n })
    expect(await post(db, back)).to.equal(false)
  })

  it('refuses to take more than there is, and takes all of it', async () => {
    const amount = 10n * DOLLAR
    await expectFailure(() => post(db, posting({ amount: amount + 1n })), 'insufficient_funds')
    expect(await post(db, posting({ amount }))).to.equal(true)
    await expectFailure(() => post(db, posting({ amount: 1n })), 'insufficient_funds')
    expect(await readLedger(db)).to.deep.equal({ sum: 0n, astray: 0 })
  })

  it('leaves nothing of a transaction that is rolled back', async () => {
    const broken = db.transaction().execute(async (open) => {
      await post(open, posting())
      throw new Error('crashed')
    })
    expect(await broken.catch((error: Error) => error.message)).to.equal('crashed')
    expect(await readBalance(db, { wallet: second })).to.equal(0n)
  })

  it('refuses what is no posting', async () => {
    const refused = (change: Partial<Posting>) => databaseCodeOf(post(db, posting(change)))
    expect(await refused({ amount: 0n })).to.equal('23514')
    expect(await refused({ amount: -1n })).to.equal('23514')
    expect(await refused({ to: { wallet: main } })).to.equal('23514')
    expect(await refused({ to: { wallet: 7n } })).to.equal('23502')
    expect(await refused({ subject: '' })).to.equal('23514')
  })

  it('cannot be changed behind its back', async () => {
    await post(db, posting())
    const run = (statement: ReturnType<typeof sql>) => databaseCodeOf(statement.execute(db))
    expect(await run(sql`update postings set amount = 1`)).to.equal('23001')
    expect(await run(sql`delete from postings`)).to.equal('23001')
    expect(await run(sql`update accounts set balance = balance + 1`)).to.equal('23001')
    expect(await run(sql`delete from accounts where balance = 0`)).to.equal('23001')
    expect(await readLedger(db)).to.deep.equal({ sum: 0n, astray: 0 })
  })

  it('pays what there is and no more when 200 ask at once, in both directions', async () => {
    await deposit(db, second, 5n * DOLLAR)
    const tries = Array.from({ length: 200 }, async (_, index) => {
      const isForth = index % 4 !== 0
      const sides = isForth
        ? { from: { wallet: main }, to: { wallet: second } }
        : { from: { wallet: second }, to: { wallet: main } }
      const amount = isForth ? 2n * DOLLAR : DOLLAR
      const request = posting({ ...sides, amount })
      try {
        await db.transaction().execute((open) => post(open, request))
        return isForth ? amount : -amount
      } catch (error) {
        expect(error).to.include({ code: 'insufficient_funds' })
        return 0n
      }
    })
    const moved = (await Promise.all(tries)).reduce((sum, amount) => sum + amount)
    const [left, right] = [
      await readBalance(db, { wallet: main }),
      await readBalance(db, { wallet: second }),
    ]
    expect(left).to.equal(10n * DOLLAR - moved)
    expect(left + right).to.equal(15n * DOLLAR)
    expect(left >= 0n && right >= 0n).to.equal(true)
    expect(await readLedger(db)).to.deep.equal({ sum: 0n, astray: 0 })
  })
})
