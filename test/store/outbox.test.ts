import { expect } from 'chai'
import { sql } from 'kysely'

import type { Db } from '../../src/store/database.ts'
import { finishOutbox, leaseOutbox, retryOutbox, writeOutbox } from '../../src/store/outbox.ts'
import { prune } from '../../src/store/prune.ts'
import { makeUser } from '../support/access.ts'
import { freshDatabase } from '../support/database.ts'

const TOPIC = 'test.topic'
const WANTED = { topic: TOPIC, limit: 10, leaseMs: 60_000 }

describe('the outbox', () => {
  it('gives each row to one deliverer, oldest first, and to nobody once it is done', async () => {
    const { db } = await filled(5)
    const first = await leaseOutbox(db, { ...WANTED, limit: 2 })
    const second = await leaseOutbox(db, WANTED)
    const subjects = [...first, ...second].map(({ subject }) => subject)
    expect(subjects).to.deep.equal(['s0', 's1', 's2', 's3', 's4'])
    expect(first[0]).to.deep.include({ topic: TOPIC, tries: 1, data: { n: 0 } })
    for (const lease of [...first, ...second]) expect(await finishOutbox(db, lease)).to.equal(true)
    await endLeases(db)
    expect(await leaseOutbox(db, WANTED)).to.deep.equal([])
  })

  it('keeps topics apart', async () => {
    const { db } = await filled(1)
    expect(await leaseOutbox(db, { ...WANTED, topic: 'another.topic' })).to.deep.equal([])
  })

  it('brings back what a deliverer took and did not finish, and tells it so', async () => {
    const { db } = await filled(1)
    const [lost] = await leaseOutbox(db, WANTED)
    expect(await leaseOutbox(db, WANTED)).to.deep.equal([])
    await endLeases(db)
    const [again] = await leaseOutbox(db, WANTED)
    expect(again).to.deep.include({ id: lost!.id, tries: 2 })
    expect(await finishOutbox(db, lost!)).to.equal(false)
    expect(await retryOutbox(db, { ...lost!, afterMs: 0 })).to.equal(false)
    expect(await finishOutbox(db, again!)).to.equal(true)
  })

  it('brings back what is to be tried again, after its time', async () => {
    const { db } = await filled(1)
    const [lease] = await leaseOutbox(db, WANTED)
    expect(await retryOutbox(db, { ...lease!, afterMs: 60_000 })).to.equal(true)
    expect(await leaseOutbox(db, WANTED)).to.deep.equal([])
    expect(await retryOutbox(db, { ...lease!, afterMs: 0 })).to.equal(true)
    expect(await leaseOutbox(db, WANTED)).to.have.length(1)
  })

  it('has nothing of a transaction that was rolled back', async () => {
    const { db, userId } = await filled(0)
    const broken = db.transaction().execute(async (open) => {
      await writeOutbox(open, { topic: TOPIC, userId, subject: 's', data: {} })
      throw new Error('crashed')
    })
    expect(await broken.catch((error: Error) => error.message)).to.equal('crashed')
    expect(await leaseOutbox(db, WANTED)).to.deep.equal([])
  })

  it('shares the rows among deliverers that come at once', async () => {
    const { db } = await filled(40)
    const deliverers = Array.from({ length: 8 }, () => leaseOutbox(db, { ...WANTED, limit: 5 }))
    const taken = (await Promise.all(deliverers)).flat().map(({ id }) => id)
    expect(new Set(taken).size).to.equal(taken.length)
    expect(taken.length + (await leaseOutbox(db, { ...WANTED, limit: 100 })).length).to.equal(40)
  })

  it('loses what nobody wanted for long, a batch at a time', async () => {
    const { db } = await filled(5)
    await sql`update outbox set created_at = now() - interval '40 days' where id <= 3`.execute(db)
    const olderThan = new Date(Date.now() - 30 * 86_400_000)
    expect(await prune(db, { what: 'outbox', olderThan, limit: 2 })).to.equal(2)
    expect(await prune(db, { what: 'outbox', olderThan, limit: 2 })).to.equal(1)
    expect(await prune(db, { what: 'outbox', olderThan, limit: 2 })).to.equal(0)
    expect(await leaseOutbox(db, WANTED)).to.have.length(2)
  })
})

async function filled(count: number): Promise<{ db: Db; userId: number }> {
  const { db } = await freshDatabase()
  const { id: userId } = await makeUser(db)
  for (let n = 0; n < count; n++) {
    await writeOutbox(db, { topic: TOPIC, userId, subject: `s${n}`, data: { n } })
  }
  return { db, userId }
}

async function endLeases(db: Db): Promise<void> {
  await sql`update outbox set available_at = now() - interval '1 second'`.execute(db)
}
