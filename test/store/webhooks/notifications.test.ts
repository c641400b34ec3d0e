import { expect } from 'chai'
import { sql } from 'kysely'

import type { Db } from '../../../src/store/database/database.ts'
import { notify } from '../../../src/store/webhooks/notifications.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { makeSubscription } from '../../fixtures/api/webhooks.ts'
import { databaseCodeOf } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

const body = { id: 'p-1', status: 'paid', amount: '1.00' }

describe('notify', () => {
  it('numbers what a user is told from 1, whatever the type, and each user apart', async () => {
    const { db } = await freshDatabase()
    const alice = await makeUser(db)
    const bob = await makeUser(db)
    await notify(db, { userId: alice.id, type: 'payments', body })
    await notify(db, { userId: bob.id, type: 'chargebacks', body })
    await notify(db, { userId: alice.id, type: 'transfers', body })
    expect(await sequencesOf(db, alice.id)).to.deep.equal([1n, 2n])
    expect(await sequencesOf(db, bob.id)).to.deep.equal([1n])
  })

  it('gives the number of a change that is rolled back to the next one', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const broken = db.transaction().execute(async (open) => {
      await notify(open, { userId, type: 'payments', body })
      throw new Error('crashed')
    })
    expect(await broken.catch((error: Error) => error.message)).to.equal('crashed')
    await notify(db, { userId, type: 'payments', body })
    expect(await sequencesOf(db, userId)).to.deep.equal([1n])
  })

  it('follows the commits of changes that are made at once, without a gap', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const committed: number[] = []
    const changes = Array.from({ length: 40 }, async (_, n) => {
      const work = db.transaction().execute(async (open) => {
        await notify(open, { userId, type: 'transfers', body: { n } })
        await sql`select pg_sleep(0.002)`.execute(open)
        committed.push(n)
        if (n % 4 === 0) throw new Error('crashed')
      })
      await work.catch(() => undefined)
    })
    await Promise.all(changes)
    const { rows } = await sql<{ n: number; sequence: bigint }>`
      select (body ->> 'n')::int as n, sequence from notifications order by sequence`.execute(db)
    expect(rows.map(({ sequence }) => Number(sequence))).to.deep.equal(
      Array.from({ length: 30 }, (_, index) => index + 1),
    )
    expect(rows.map(({ n }) => n)).to.deep.equal(committed.filter((n) => n % 4 !== 0))
  })

  it('is on its way to the confirmed endpoints that want its type, and to no other', async () => {
    const { db } = await freshDatabase()
    const alice = await makeUser(db)
    const bob = await makeUser(db)
    const userId = alice.id
    const wanted = await makeSubscription(db, { userId, types: ['payments', 'transfers'] })
    await makeSubscription(db, { userId, types: ['chargebacks'] })
    await makeSubscription(db, { userId, types: ['payments'], state: 'pending' })
    await makeSubscription(db, { userId, types: ['payments'], state: 'disabled' })
    await makeSubscription(db, { userId: bob.id, types: ['payments'] })
    await notify(db, { userId, type: 'payments', body })
    const { rows } = await sql`
      select e.subscription_id as subscription, d.state, d.tries, n.body
      from webhook_deliveries d join notifications n on n.id = d.notification_id
      join webhook_endpoints e on e.id = d.endpoint_id where n.type <> 'ping'`.execute(db)
    expect(rows).to.deep.equal([{ subscription: wanted.id, state: 'pending', tries: 0, body }])
  })

  it('keeps the object as it was written, its fields in their order', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const text = '{"zebra":"1.10","amount":"0.000001","äöü":"\\u0000"}'
    await notify(db, { userId, type: 'payments', body: JSON.parse(text) as typeof body })
    const { rows } = await sql<{ text: string }>`
      select body::text as text from notifications`.execute(db)
    expect(rows).to.deep.equal([{ text }])
  })

  it('tells nobody who does not exist', async () => {
    const { db } = await freshDatabase()
    const told = notify(db, { userId: 77, type: 'payments', body })
    expect(await databaseCodeOf(told)).to.equal('23503')
  })
})

async function sequencesOf(db: Db, userId: number): Promise<bigint[]> {
  const { rows } = await sql<{ sequence: bigint }>`
    select sequence from notifications where user_id = ${userId} order by sequence`.execute(db)
  return rows.map(({ sequence }) => sequence)
}
