import { expect } from 'chai'
import { sql } from 'kysely'

import type { Db } from '../../../src/store/database/database.ts'
import { continueLogs } from '../../../src/store/reconciliation/settled-logs.ts'
import { hasEvent, listEvents, type Event } from '../../../src/store/transactions/events.ts'
import { listTransactions } from '../../../src/store/transactions/list.ts'
import { foldTallies } from '../../../src/store/transactions/tallies.ts'
import { moveTransaction } from '../../../src/store/transactions/transactions.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { makeTransaction } from '../../fixtures/store/transactions.ts'

describe('listEvents', () => {
  it('goes through the log page by page, each event once', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const { id: other } = await makeUser(db)
    for (let made = 0; made < 7; made++) {
      await makeTransaction(db, { userId })
      await makeTransaction(db, { userId: other })
    }
    const all = await settled(db, { userId, count: 7 })
    const seen: Event[] = []
    for (;;) {
      const page = await listEvents(db, { userId, after: seen.at(-1)?.id, limit: 3 })
      if (page.length === 0) break
      seen.push(...page)
    }
    expect(seen).to.deep.equal(all)
  })

  it('knows only the own events as places', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const { id: other } = await makeUser(db)
    await makeTransaction(db, { userId })
    const [event] = await settled(db, { userId, count: 1 })
    expect(await hasEvent(db, { userId, id: event!.id })).to.equal(true)
    expect(await hasEvent(db, { userId: other, id: event!.id })).to.equal(false)
    expect(await listEvents(db, { userId: other, after: event!.id, limit: 9 })).to.deep.equal([])
  })

  it('goes on where it was after a restore on a server with lower transaction ids', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const { transactionId } = await makeTransaction(db, { userId })
    // Transactions of other databases on the server hold back what is folded, as they do events.
    const [first] = await settled(db, { userId, count: 1 })
    await foldTallies(db, { userId })
    // What a dump of a busier server would have brought.
    const later = sql`log_key + 1000000000`
    await sql`alter table events disable trigger events_immutable`.execute(db)
    await sql`update events set log_key = ${later}`.execute(db)
    await sql`alter table events enable trigger events_immutable`.execute(db)
    await sql`update transactions set log_key = ${later}`.execute(db)
    await sql`update tally_horizons set log_key = ${later}`.execute(db)
    await continueLogs(db)
    await continueLogs(db)
    const move = { transactionId, from: 'pending', to: 'failed', actor: 'a', reason: 'b' } as const
    await moveTransaction(db, move)
    const [, second] = await settled(db, { userId, count: 2 })
    const next = await listEvents(db, { userId, after: first!.id, limit: 9 })
    expect(next).to.deep.equal([second])
    await foldTallies(db, { userId })
    const failed = { userId, status: 'failed' } as const
    expect((await listTransactions(db, failed, { limit: 1, offset: 0 })).total).to.equal(1)
  })

  // PGlite has one connection, so there a second transaction waits until the first has ended.
  if (process.env['DATABASE_URL'] !== undefined) {
    it('never skips an event whose transaction commits late', async () => {
      const { db } = await freshDatabase()
      const { id: userId } = await makeUser(db)
      const slow = await db.startTransaction().execute()
      const early = await makeTransaction(slow, { userId })
      const quick = await makeTransaction(db, { userId })
      // The quick one has committed, but the slow one may still write before it.
      expect(await listEvents(db, { userId, limit: 9 })).to.deep.equal([])
      await slow.commit().execute()
      const events = await settled(db, { userId, count: 2 })
      const subjects = events.map(({ subject }) => subject)
      expect(subjects).to.deep.equal([early.transactionId, quick.transactionId])
    })

    it('does not wait for one that was rolled back', async () => {
      const { db } = await freshDatabase()
      const { id: userId } = await makeUser(db)
      const slow = await db.startTransaction().execute()
      await makeTransaction(slow, { userId })
      const quick = await makeTransaction(db, { userId })
      await slow.rollback().execute()
      const [only] = await settled(db, { userId, count: 1 })
      expect(only?.subject).to.equal(quick.transactionId)
    })

    it('keeps the moves of one transaction in their order, whoever began first', async () => {
      const { db } = await freshDatabase()
      const { id: userId } = await makeUser(db)
      const old = await db.startTransaction().execute()
      // It has its transaction id before the transaction that it will move exists.
      await sql`select pg_current_xact_id()`.execute(old)
      const { transactionId } = await makeTransaction(db, { userId })
      const other = await db.startTransaction().execute()
      await makeTransaction(other, { userId })
      const move = {
        transactionId,
        from: 'pending',
        to: 'failed',
        actor: 'a',
        reason: 'b',
      } as const
      await moveTransaction(old, move)
      await old.commit().execute()
      // Now the older of the two open ones is gone, and the horizon lies between the two events.
      await other.commit().execute()
      const events = await settled(db, { userId, count: 3 })
      const own = events.filter(({ subject }) => subject === transactionId)
      expect(own.map(({ type }) => type)).to.deep.equal([
        'transaction.created',
        'transaction.failed',
      ])
    })

    it('shows every event once to a reader that never stops, while many write', async () => {
      const { db } = await freshDatabase()
      const { id: userId } = await makeUser(db)
      const write = async (): Promise<void> => {
        for (let made = 0; made < 20; made++) {
          await db.transaction().execute((open) => makeTransaction(open, { userId }))
        }
      }
      const writing = Promise.all([1, 2, 3, 4, 5, 6].map(write))
      const seen: bigint[] = []
      for (let looks = 0; looks < 10_000 && seen.length < 120; looks++) {
        const page = await listEvents(db, { userId, after: seen.at(-1), limit: 7 })
        seen.push(...page.map(({ id }) => id))
      }
      await writing
      expect(seen).to.have.length(120)
      expect(new Set(seen).size).to.equal(120)
    })
  }
})

/** Other transactions of the server hold the horizon back, so a reader may have to ask again. */
async function settled(db: Db, wanted: { userId: number; count: number }): Promise<Event[]> {
  for (let tries = 0; tries < 200; tries++) {
    const events = await listEvents(db, { userId: wanted.userId, limit: 100 })
    if (events.length >= wanted.count) return events
    await new Promise((later) => setTimeout(later, 10))
  }
  throw new Error('the events did not appear')
}
