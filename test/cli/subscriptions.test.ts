import { expect } from 'chai'

import { findDelivery } from '../../src/store/webhooks/delivery-log.ts'
import { findSubscription } from '../../src/store/webhooks/subscriptions.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { makeDelivery, makeSubscription } from '../fixtures/api/webhooks.ts'
import { createCommandBench, type CommandBench } from '../fixtures/commands.ts'
import { runToEnd } from '../fixtures/program.ts'

const MISSING = '00000000-0000-4000-8000-000000000000'

describe('quittance subscriptions', () => {
  let bench: CommandBench

  before(async () => {
    bench = await createCommandBench()
  })

  after(() => bench.remove())

  it('lists those of everybody or of one user, page by page', async () => {
    const { alice, bobs } = await bench.withDatabase(async ({ db }) => {
      const { id: userId } = await makeUser(db, { username: 'alice' })
      const { id: bobId } = await makeUser(db, { username: 'bob' })
      await makeSubscription(db, { userId, url: 'https://alice.example/', types: ['payments'] })
      const made = await makeSubscription(db, { userId: bobId, state: 'disabled' })
      return { alice: userId, bobs: made.id }
    })
    const all = await bench.run('subscriptions', 'list')
    expect(all.answer['subscriptions']).to.have.length(2)
    const own = await bench.run('subscriptions', 'list', '--user', 'alice')
    const [first] = own.answer['subscriptions'] as Array<Record<string, unknown>>
    expect(first).to.include({ userId: alice, username: 'alice' }).and.not.have.property('secret')
    const next = await bench.run('subscriptions', 'list', '--after', String(first!['id']))
    expect((next.answer['subscriptions'] as object[])[0]).to.include({ id: bobs })
    const { stdout } = await runToEnd(['subscriptions', 'list'], bench.env)
    expect(stdout).to.match(/alice .* confirmed +payments +https:\/\/alice\.example\//)
    expect(stdout).to.match(/bob .* disabled: gone +all +https:\/\/hooks\.example\//)
  })

  it('deletes one, whoever has it, and only once', async () => {
    const { id, userId } = await bench.withDatabase(async ({ db }) =>
      makeSubscription(db, { userId: (await makeUser(db)).id }),
    )
    const deleted = await bench.run('subscriptions', 'delete', id)
    expect(deleted).to.deep.equal({ code: 0, answer: { id, deleted: true } })
    const found = await bench.withDatabase(({ db }) => findSubscription(db, { userId, id }))
    expect(found).to.equal(undefined)
    const again = await bench.run('subscriptions', 'delete', id)
    expect(again.code).to.equal(2)
    expect(again.answer['error']).to.include({ code: 'subscription_not_found' })
    expect((await bench.show('subscriptions', 'delete', '17')).code).to.equal(2)
  })

  it('replays a delivery', async () => {
    const { id } = await bench.withDatabase(async ({ db }) =>
      makeDelivery(db, { userId: (await makeUser(db)).id }),
    )
    const replayed = await bench.run('subscriptions', 'replay', id)
    expect(replayed.answer).to.include({ id, replayed: true })
    const delivery = await bench.withDatabase(({ db }) => findDelivery(db, { id }))
    expect(delivery).to.include({ state: 'pending', tries: 0 })
    const missing = await bench.run('subscriptions', 'replay', MISSING)
    expect(missing.code).to.equal(2)
    expect(missing.answer['error']).to.include({ code: 'delivery_not_found' })
  })
})
