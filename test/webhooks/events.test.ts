import { expect } from 'chai'

import { createBells } from '../../src/base/bells.ts'
import { listDeliveries } from '../../src/store/webhooks/delivery-log.ts'
import { deleteSubscription } from '../../src/store/webhooks/subscriptions.ts'
import { makeUser } from '../fixtures/api/access.ts'
import type { Received } from '../fixtures/api/receiver.ts'
import { createBench, until, type Bench } from '../fixtures/api/webhooks.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

/** Time enough for another look at the log. */
const turns = () => new Promise((later) => setTimeout(later, 1_200))

describe('webhooks of events', () => {
  let bench: Bench

  beforeEach(async () => {
    bench = await createBench()
  })

  afterEach(() => bench.stop())

  const move = async (status: 'processing' | 'completed' = 'completed') =>
    makeTransaction(bench.db, { userId: bench.user.id, status })
  const eventsOf = (received: readonly Received[]) =>
    received.map(({ body }) => (JSON.parse(body) as { event?: Record<string, unknown> }).event)

  it('tells each event once from the subscription on, in their order', async () => {
    await move()
    await bench.subscribe({ types: ['transactions'] })
    const { transactionId } = await move()
    bench.start()
    bench.start()
    await until(
      async () => (await bench.states()).filter((state) => state === 'delivered').length === 3,
    )
    const inOrder = bench.receiver.received.toSorted((a, b) => a.sequence - b.sequence)
    expect(inOrder.map(({ sequence }) => sequence)).to.deep.equal([1, 2, 3])
    const told = eventsOf(inOrder).map((event) => [event?.['transaction_id'], event?.['type']])
    expect(told).to.deep.equal(
      ['created', 'processing', 'completed'].map((type) => [transactionId, `transaction.${type}`]),
    )
    await move()
    await until(
      async () => (await bench.states()).filter((state) => state === 'delivered').length === 6,
    )
    const about = await listDeliveries(bench.db, { about: transactionId, limit: 10 })
    expect(about).to.have.length(3)
  })

  it('tells the first subscription at once, however long its loops rested before', async () => {
    const bell = createBells().of('webhooks')
    bench.start({ bell })
    await turns()
    await bench.subscribe({ types: ['transactions'] })
    bell.ring()
    await move()
    const movedAt = performance.now()
    await until(async () => (await bench.states()).includes('delivered'))
    expect(performance.now() - movedAt).to.be.below(5_000)
  })

  it('numbers more events than a page has without a gap', async () => {
    await bench.subscribe({ types: ['transactions'] })
    for (let count = 0; count < 80; count++) await move()
    bench.start()
    await until(async () => (await bench.deliveries()).length === 240)
    const sequences = (await bench.deliveries()).map((one) => Number(one.notification.sequence))
    expect(sequences.toSorted((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 240 }, (_, place) => place + 1),
    )
  })

  it('tells nothing of them to a subscription to other types', async () => {
    await bench.subscribe()
    await move()
    bench.start()
    await bench.tell()
    await until(async () => (await bench.states()).includes('delivered'))
    await turns()
    expect(eventsOf(bench.receiver.received)).to.deep.equal([undefined])
  })

  it('tells one user nothing of another', async () => {
    await bench.subscribe({ types: ['transactions', 'batches'] })
    const other = await makeUser(bench.db)
    await makeTransaction(bench.db, { userId: other.id })
    const { transactionId } = await move('processing')
    bench.start()
    await until(
      async () => (await bench.states()).filter((state) => state === 'delivered').length === 2,
    )
    await turns()
    const told = eventsOf(bench.receiver.received).map((event) => event?.['transaction_id'])
    expect(told).to.deep.equal([transactionId, transactionId])
  })

  it('begins anew after all that were told of them have ended', async () => {
    const { id } = await bench.subscribe({ types: ['transactions'] })
    await deleteSubscription(bench.db, { userId: bench.user.id, id })
    await move()
    await bench.subscribe({ types: ['transactions'] })
    bench.start()
    const { transactionId } = await move('processing')
    await until(
      async () => (await bench.states()).filter((state) => state === 'delivered').length === 2,
    )
    const told = eventsOf(bench.receiver.received).map((event) => event?.['transaction_id'])
    expect(told).to.deep.equal([transactionId, transactionId])
  })
})
