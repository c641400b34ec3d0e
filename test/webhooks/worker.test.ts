import { expect } from 'chai'
import { sql } from 'kysely'
import { Webhook } from 'standardwebhooks'

import { createWebhookSecret } from '../../src/domain/webhook-secrets.ts'
import {
  leaseDeliveries,
  recordDelivered,
  recordFailed,
} from '../../src/store/webhooks/deliveries.ts'
import { cancelDeliveries } from '../../src/store/webhooks/deliveries.ts'
import { replayDelivery } from '../../src/store/webhooks/delivery-log.ts'
import {
  deleteSubscription,
  findSubscription,
  replaceSecret,
} from '../../src/store/webhooks/subscriptions.ts'
import {
  hang,
  hangUp,
  inTurn,
  startRawServer,
  startReceiver,
  status,
  type Received,
} from '../fixtures/api/receiver.ts'
import {
  createBench,
  makeSubscription,
  PAYMENT,
  until,
  type Bench,
} from '../fixtures/api/webhooks.ts'

const LEASE = {
  kind: 'sound',
  limit: 10,
  perEndpoint: 10,
  perUser: 10,
  held: [],
  leaseMs: 60_000,
} as const

const FAILED = {
  startedAt: new Date(),
  durationMs: 1,
  outcome: 'refused',
  status: 500,
  answerBytes: 0,
  error: null,
  retryAfterMs: 0,
  disableAfterMs: 1e9,
} as const

describe('the webhook worker', () => {
  let bench: Bench

  beforeEach(async () => {
    bench = await createBench()
  })

  afterEach(() => bench.stop())

  const stateOf = async (id: string) =>
    (await findSubscription(bench.db, { userId: bench.user.id, id }))?.endpoints[0]?.state

  it('delivers what the standardwebhooks package verifies', async () => {
    const { secret } = await bench.subscribe()
    bench.start()
    await bench.tell()
    await until(async () => (await bench.states())[0] === 'delivered')
    const [one] = bench.receiver.received
    const payload = verify(secret, one!) as Record<string, unknown>
    const [delivery] = await bench.deliveries()
    expect(payload).to.deep.equal({
      clientId: String(bench.user.id),
      notificationType: 'payments',
      version: 1,
      customAttributes: { clientId: String(bench.user.id) },
      payment: PAYMENT,
      id: delivery!.notification.id,
      timestamp: delivery!.createdAt.toISOString(),
      sequence: 1,
    })
    expect(one!.headers).to.include({
      'webhook-id': delivery!.notification.id,
      'content-type': 'application/json',
    })
    expect(() => verify(secret, { ...one!, body: one!.body.replace('paid', 'void') })).to.throw()
  })

  it('tells a new endpoint nothing until it has answered a signed ping', async () => {
    const { id, secret } = await bench.subscribe({ state: 'pending' })
    bench.receiver.answer(inTurn(status(500), status(204)))
    await bench.tell()
    bench.start()
    await until(async () => (await stateOf(id)) === 'confirmed')
    await bench.tell()
    await until(() => bench.receiver.received.length === 3)
    const payloads = bench.receiver.received.map((one) => verify(secret, one) as Told)
    expect(payloads.map((one) => [one.notificationType, one.sequence])).to.deep.equal([
      ['ping', undefined],
      ['ping', undefined],
      ['payments', 2],
    ])
  })

  it('counts an answer of status 000 as no answer, and gives up after as many tries', async () => {
    const raw = await startRawServer('HTTP/1.1 000 \r\nContent-Length: 0\r\n\r\n')
    await bench.subscribe({ url: raw.url })
    bench.start()
    await bench.tell()
    await until(async () => (await bench.states())[0] === 'failed')
    const [delivery] = await bench.deliveries()
    expect(delivery!.tries).to.equal(4)
    expect(
      delivery!.latestTries.map((made) => [made.outcome, made.status, made.error]),
    ).to.deep.equal(Array.from({ length: 4 }, () => ['unreachable', null, 'status_invalid']))
    expect(raw.connections()).to.equal(4)
    await raw.close()
  })

  it('gives up an endpoint that never answers its ping, until that is replayed', async () => {
    const { id } = await bench.subscribe({ state: 'pending' })
    bench.receiver.answer(status(503))
    bench.start()
    await until(async () => (await stateOf(id)) === 'disabled')
    expect(bench.receiver.received).to.have.length(4)
    bench.receiver.answer(status(200))
    const { rows } = await sql<{ id: string }>`select id from webhook_deliveries`.execute(bench.db)
    expect(await replayDelivery(bench.db, rows[0]!.id)).to.equal(true)
    await until(async () => (await stateOf(id)) === 'confirmed')
  })

  it('cancels nothing of an endpoint that a replay has enabled meanwhile', async () => {
    await bench.subscribe()
    await bench.tell()
    const { rows } = await sql<{ id: bigint }>`select id from webhook_endpoints`.execute(bench.db)
    await cancelDeliveries(bench.db, [rows[0]!.id])
    expect(await bench.states()).to.deep.equal(['pending'])
    await sql`update webhook_endpoints set state = 'disabled', disabled_code = 'gone'`.execute(
      bench.db,
    )
    await cancelDeliveries(bench.db, [rows[0]!.id])
    expect(await bench.states()).to.deep.equal(['canceled'])
  })

  it('tries again what was refused, lost or hung up on, and logs each try', async () => {
    await bench.subscribe()
    bench.receiver.answer(
      inTurn(
        (response) => void response.writeHead(500).end('out of order'),
        hang,
        hangUp,
        status(200),
      ),
    )
    bench.start({ timeoutMs: 150 })
    await bench.tell()
    await until(async () => (await bench.states())[0] === 'delivered')
    const [delivery] = await bench.deliveries()
    expect(delivery!.tries).to.equal(4)
    expect(
      delivery!.latestTries
        .map((made) => [made.outcome, made.status, made.answerBytes, made.error])
        .toReversed(),
    ).to.deep.equal([
      ['refused', 500, 12, null],
      ['timed_out', null, null, 'timed_out'],
      ['unreachable', null, null, 'ECONNRESET'],
      ['delivered', 200, 0, null],
    ])
    const ids = bench.receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(new Set(ids).size).to.equal(1)
    expect(new Set(bench.receiver.received.map(({ body }) => body)).size).to.equal(1)
  })

  it('ends after the last try, and begins anew when it is replayed', async () => {
    await bench.subscribe()
    bench.receiver.answer(status(500))
    bench.start()
    await bench.tell()
    await until(async () => (await bench.states())[0] === 'failed')
    expect(bench.receiver.received).to.have.length(4)
    bench.receiver.answer(status(200))
    const [failed] = await bench.deliveries()
    expect(await replayDelivery(bench.db, failed!.id)).to.equal(true)
    await until(async () => (await bench.states())[0] === 'delivered')
    expect(await replayDelivery(bench.db, failed!.id)).to.equal(true)
    await until(async () => (await bench.states())[0] === 'delivered')
    const ids = bench.receiver.received.map(({ headers }) => headers['webhook-id'])
    expect(ids).to.deep.equal(Array.from({ length: 6 }, () => failed!.notification.id))
  })

  it('disables an endpoint that answers 410, and cancels what was on its way', async () => {
    const { id } = await bench.subscribe()
    bench.receiver.answer(status(410))
    await bench.tell(3)
    bench.start({ pace: { perEndpoint: 1 } })
    await until(async () => !(await bench.states()).includes('pending'))
    expect(await bench.states()).to.deep.equal(['failed', 'canceled', 'canceled'])
    expect(await stateOf(id)).to.equal('disabled')
    await bench.tell()
    expect(await bench.states()).to.have.length(3)
    const [failed] = await bench.deliveries()
    expect(await replayDelivery(bench.db, failed!.id)).to.equal(false)
  })

  it('disables an endpoint that has failed for five days', async () => {
    const { id } = await bench.subscribe()
    bench.receiver.answer(status(500))
    await sql`update webhook_endpoints set failing_since = now() - interval '119 hours'`.execute(
      bench.db,
    )
    const { stop } = bench.start()
    await bench.tell()
    await until(async () => (await bench.states())[0] === 'failed')
    expect(await stateOf(id)).to.equal('confirmed')
    await stop()
    await sql`update webhook_endpoints set failing_since = now() - interval '121 hours'`.execute(
      bench.db,
    )
    bench.start()
    await bench.tell()
    await until(async () => (await stateOf(id)) === 'disabled')
  })

  it('forgets the failures of an endpoint that answers again', async () => {
    await bench.subscribe()
    bench.receiver.answer(inTurn(status(500), status(200)))
    bench.start()
    await bench.tell()
    await until(async () => (await bench.states())[0] === 'delivered')
    const { rows } = await sql`select failing_since as since from webhook_endpoints`.execute(
      bench.db,
    )
    expect(rows).to.deep.equal([{ since: null }])
  })

  it('waits for as long as the receiver asks', async () => {
    await bench.subscribe()
    bench.receiver.answer(status(429, { 'retry-after': '3600' }))
    bench.start()
    await bench.tell()
    await until(async () => (await bench.deliveries())[0]?.tries === 1)
    const [delivery] = await bench.deliveries()
    const waitMs = delivery!.dueAt!.getTime() - delivery!.updatedAt.getTime()
    expect(waitMs).to.equal(3_600_000)
  })

  it('follows no redirect', async () => {
    const elsewhere = await startReceiver()
    await bench.subscribe()
    bench.receiver.answer(status(307, { location: elsewhere.url }))
    bench.start({ schedule: { pausesMs: [], disableAfterMs: 1e9 } })
    await bench.tell()
    await until(async () => (await bench.states())[0] === 'failed')
    const [delivery] = await bench.deliveries()
    expect(delivery!.latestTries[0]).to.include({ outcome: 'redirected', status: 307 })
    expect(elsewhere.received).to.deep.equal([])
    await elsewhere.close()
  })

  it('does not make others wait for an endpoint that hangs', async () => {
    await bench.subscribe()
    const quick = await startReceiver()
    await makeSubscription(bench.db, { userId: bench.user.id, url: quick.url })
    bench.receiver.answer(hang)
    bench.start({ timeoutMs: 60_000 })
    await bench.tell(30)
    await until(() => quick.received.length === 30)
    expect(bench.receiver.most()).to.equal(8)
    await quick.close()
  })

  it('tries an endpoint that failed with one request at a time', async () => {
    await bench.subscribe()
    await sql`update webhook_endpoints set failing_since = now()`.execute(bench.db)
    bench.receiver.answer((response) => void setTimeout(() => response.writeHead(500).end(), 20))
    bench.start({ schedule: { pausesMs: [], disableAfterMs: 1e9 } })
    await bench.tell(4)
    await until(async () => !(await bench.states()).includes('pending'))
    expect(bench.receiver.received).to.have.length(4)
    expect(bench.receiver.most()).to.equal(1)
  })

  it('delivers again, as the same notification, what a crash left unrecorded', async () => {
    const { secret } = await bench.subscribe()
    await bench.tell()
    const [lost] = await leaseDeliveries(bench.db, LEASE)
    const { stop } = bench.start()
    await new Promise((later) => setTimeout(later, 50))
    expect(bench.receiver.received).to.deep.equal([])
    await sql`update webhook_deliveries set due_at = now() where is_leased`.execute(bench.db)
    await until(async () => (await bench.states())[0] === 'delivered')
    await stop()
    expect(lost!.notification.id).to.equal(bench.receiver.received[0]!.headers['webhook-id'])
    verify(secret, bench.receiver.received[0]!)
    // The one that had it may come back to life, and only adds to the log.
    expect(await recordFailed(bench.db, lost!, FAILED)).to.equal(undefined)
    const late = { ...FAILED, outcome: 'delivered', status: 200 } as const
    expect(await recordDelivered(bench.db, lost!, late)).to.equal(false)
    const [delivery] = await bench.deliveries()
    expect(delivery).to.include({ state: 'delivered', tries: 1 })
    expect(delivery!.latestTries).to.have.length(3)
  })

  it('records nothing for a worker whose delivery another one has taken over', async () => {
    await bench.subscribe()
    await bench.tell()
    const [lost] = await leaseDeliveries(bench.db, LEASE)
    // The column rounds to the millisecond, and may round up.
    await sql`update webhook_deliveries set due_at = now() - interval '1 s'
      where is_leased`.execute(bench.db)
    const [taken] = await leaseDeliveries(bench.db, LEASE)
    const late = { ...FAILED, outcome: 'delivered', status: 200 } as const
    expect(await recordDelivered(bench.db, lost!, late)).to.equal(false)
    expect(await recordFailed(bench.db, lost!, FAILED)).to.equal(undefined)
    expect(await bench.states()).to.deep.equal(['pending'])
    expect(await recordDelivered(bench.db, taken!, late)).to.equal(true)
  })

  it('delivers each once with two workers at once, and tells their order', async () => {
    await bench.subscribe()
    bench.start()
    bench.start()
    await bench.tell(60)
    await until(async () => (await bench.states()).every((state) => state === 'delivered'))
    const sequences = bench.receiver.received.map(({ sequence }) => sequence)
    expect(sequences.toSorted((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 60 }, (_, index) => index + 1),
    )
  })

  it('signs with both secrets for a day after a rotation', async () => {
    const { id, secret } = await bench.subscribe()
    const next = createWebhookSecret(() => Buffer.alloc(32, 7))
    await replaceSecret(bench.db, { userId: bench.user.id, id, secret: next })
    bench.start()
    await bench.tell()
    await until(() => bench.receiver.received.length === 1)
    await sql`update webhook_subscriptions set previous_secret_until = now()`.execute(bench.db)
    await bench.tell()
    await until(() => bench.receiver.received.length === 2)
    const [both, one] = bench.receiver.received
    expect(String(both!.headers['webhook-signature']).split(' ')).to.have.length(2)
    verify(secret, both!)
    verify(next, both!)
    verify(next, one!)
    expect(() => verify(secret, one!)).to.throw()
  })

  it('sends nothing more to a subscription that was deleted', async () => {
    const { id } = await bench.subscribe()
    await bench.tell(2)
    await deleteSubscription(bench.db, { userId: bench.user.id, id })
    bench.start()
    const pending = async () => {
      const { rows } = await sql<{ state: string }>`
        select distinct state from webhook_deliveries where state <> 'delivered'`.execute(bench.db)
      return rows.map(({ state }) => state)
    }
    await until(async () => (await pending()).join() === 'canceled')
    expect(bench.receiver.received).to.deep.equal([])
  })

  it('gives back what it had not finished when it stops', async () => {
    await bench.subscribe()
    bench.receiver.answer(hang)
    const { stop } = bench.start()
    await bench.tell()
    await until(() => bench.receiver.received.length === 1)
    await stop()
    const [delivery] = await bench.deliveries()
    expect(delivery).to.include({ state: 'pending', tries: 0 })
    expect(await leaseDeliveries(bench.db, LEASE)).to.have.length(1)
  })
})

type Told = { notificationType: string; sequence?: number }

function verify(secret: string, { body, headers }: Received): unknown {
  return new Webhook(secret).verify(body, headers as Record<string, string>)
}
