import { createHmac } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { sql } from 'kysely'

import { createBells, type Bell } from '../../src/base/bells.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { openDatabase, type Db } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import {
  leaseDeliveries,
  recordDelivered,
  type DeliveryLease,
} from '../../src/store/webhooks/deliveries.ts'
import { notify } from '../../src/store/webhooks/notifications.ts'
import { insertSubscription } from '../../src/store/webhooks/subscriptions.ts'
import { SCHEDULES } from '../../src/webhooks/schedule.ts'
import { createSend } from '../../src/webhooks/send.ts'
import { createTargets, resolveByDns } from '../../src/webhooks/targets.ts'
import { startWebhookWorker } from '../../src/webhooks/worker.ts'
import { createCpuTimer } from '../../test/engines/bench/cost.ts'
import { tellRows, type BenchRow } from '../../test/engines/bench/result.ts'

const RATE = Number(process.env['BENCH_RATE'] ?? 100)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 20)
const USERS = 20
const DEAD = 10
const COUNTED = Number(process.env['BENCH_WEBHOOKS'] ?? 1000)
const ROUNDS = 5

/**
 * Times each webhook from the commit of its change to its arrival, at a steady rate, and counts the
 * processor time of those that wait.
 */
async function main(): Promise<void> {
  const database = await openDatabase({ url: process.env['DATABASE_URL'] })
  const { db, kind } = database
  await migrate(db)
  // First, while nothing else waits.
  const cost = await measureCost(db)
  console.log(`${kind} engine, ${RATE} a second for ${SECONDS} s, ${USERS} users`)
  console.log(
    `${'case'.padEnd(40)}${['p50 ms', 'p99 ms', 'max ms'].map((name) => name.padStart(9)).join('')}`,
  )
  const cases = [
    { name: 'first try, kicked', kicks: true, dead: 0 },
    { name: 'first try, by polling', kicks: false, dead: 0 },
    { name: `by polling, ${DEAD} dead endpoints beside`, kicks: false, dead: DEAD },
  ]
  const rows: Omit<BenchRow, 'part'>[] = []
  for (const { name, ...options } of cases) {
    const ours = await measure(name, { db, ...options })
    rows.push({ what: `${name}, p99 until it arrives`, unit: 'ms', ours })
  }
  const shown = `${cost.oursUs.toFixed(0)} µs, the floor ${cost.floorUs.toFixed(0)} µs`
  console.log(`processor time of one, least of ${ROUNDS} × ${COUNTED}: ${shown}`)
  const floor = { what: 'a signed POST and the same SQL', value: cost.floorUs }
  const what = 'one that waits, processor time of sender and receiver'
  tellRows('webhooks', [...rows, { what, unit: 'µs', ours: cost.oursUs, floor }])
  await database.close()
}

async function measure(
  name: string,
  { db, kicks, dead }: { db: Db; kicks: boolean; dead: number },
): Promise<number> {
  const arrivals = new Map<string, number>()
  const receiver = await listen((body) => {
    const { transfer } = JSON.parse(body) as { transfer?: { id: string } }
    if (transfer) arrivals.set(transfer.id, performance.now())
  })
  const hanging = await listen(undefined)
  const userIds = await makeUsers(db)
  for (const userId of userIds) await subscribe(db, { userId, url: receiver.url })
  for (const userId of userIds.slice(0, dead)) await subscribe(db, { userId, url: hanging.url })
  const bell = createBells().of('webhooks')
  const stop = work(db, bell)
  const commits = await tellSteadily(db, { userIds, onCommit: kicks ? bell.ring : undefined })
  for (let waited = 0; arrivals.size < commits.size && waited < 600; waited++) {
    await new Promise((later) => setTimeout(later, 100))
  }
  await stop()
  await Promise.all([receiver.close(), hanging.close()])
  return report(name, { commits, arrivals })
}

/** Starts a worker, and gives what stops it. */
function work(db: Db, bell: Bell): () => Promise<void> {
  const controller = new AbortController()
  const targets = { environment: 'sandbox', host: '127.0.0.1', resolve: resolveByDns } as const
  const worker = startWebhookWorker({
    db,
    clock: systemClock,
    random: Math.random,
    logger: createLogger({ level: 'silent' }),
    send: createSend({
      targets: createTargets(targets),
      clock: systemClock,
      timeoutMs: 15_000,
    }),
    schedule: SCHEDULES.production,
    signal: controller.signal,
    bell,
  })
  return async () => {
    controller.abort()
    await worker.done
  }
}

/** In turns with the floor, so that what the machine does meanwhile meets both. */
async function measureCost(db: Db): Promise<{ oursUs: number; floorUs: number }> {
  const receiver = await listen(() => undefined)
  const userIds = await makeUsers(db)
  for (const userId of userIds) await subscribe(db, { userId, url: receiver.url })
  const cpuTimeOf = await createCpuTimer(process.env['DATABASE_URL'])
  const costs: { ours: number[]; floor: number[] } = { ours: [], floor: [] }
  for (let round = 0; round < ROUNDS; round++) {
    await fill(db, userIds)
    costs.ours.push(await cpuTimeOf(() => drainByWorker(db)))
    await fill(db, userIds)
    costs.floor.push(await cpuTimeOf(() => drainBare(db)))
  }
  await receiver.close()
  return { oursUs: leastUs(costs.ours), floorUs: leastUs(costs.floor) }
}

function leastUs(all: readonly number[]): number {
  return (Math.min(...all) / COUNTED) * 1000
}

async function fill(db: Db, userIds: readonly number[]): Promise<void> {
  for (let n = 0; n < COUNTED; n++) {
    const body = { id: `waits-${n}`, amount: '1.00', currency: 'USD', status: 'complete' }
    await notify(db, { userId: userIds[n % userIds.length] ?? 0, type: 'transfers', body })
  }
}

async function drainByWorker(db: Db): Promise<void> {
  const stop = work(db, createBells().of('webhooks'))
  for (;;) {
    const { rows } = await sql<{ open: boolean }>`
      select exists (select from webhook_deliveries where state = 'pending') as open`.execute(db)
    if (rows[0]?.open === false) break
    await new Promise((later) => setTimeout(later, 50))
  }
  await stop()
}

/** All are leased at once, and 32 are on their way at a time. */
async function drainBare(db: Db): Promise<void> {
  const [limit, held] = [COUNTED, []]
  const of = { kind: 'sound', perEndpoint: limit, perUser: limit, leaseMs: 60_000 } as const
  const leases = await leaseDeliveries(db, { ...of, limit, held })
  if (leases.length !== COUNTED) throw new Error(`${leases.length} of ${COUNTED} wait`)
  const send = async (): Promise<void> => {
    for (let lease = leases.pop(); lease !== undefined; lease = leases.pop()) {
      await sendBare(db, lease)
    }
  }
  await Promise.all(Array.from({ length: 32 }, send))
}

async function sendBare(db: Db, lease: DeliveryLease): Promise<void> {
  const { notification, url, secrets } = lease
  const startedAt = new Date()
  const body = JSON.stringify(notification.body)
  const signed = `${notification.id}.${startedAt.getTime()}.${body}`
  const signature = createHmac('sha256', secrets[0] ?? '')
    .update(signed)
    .digest('base64')
  const headers = { 'content-type': 'application/json', 'webhook-signature': `v1,${signature}` }
  const { status } = await fetch(url, { method: 'POST', headers, body })
  const answer = { outcome: 'delivered', status, answerBytes: 0, error: null } as const
  await recordDelivered(db, lease, { startedAt, durationMs: 1, ...answer })
}

async function makeUsers(db: Db): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    insert into users (username, password_hash, scopes)
    select 'bench-' || gen_random_uuid(), '$argon2id$', '{}' from generate_series(1, ${USERS})
    returning id`.execute(db)
  return rows.map(({ id }) => id)
}

/** As if it had answered its ping. */
async function subscribe(db: Db, wanted: { userId: number; url: string }): Promise<void> {
  const { userId, url } = wanted
  const { id } = await insertSubscription(db, {
    userId,
    url,
    secret: `whsec_${'A'.repeat(43)}=`,
    endpoints: [{ url, types: ['transfers'] }],
  })
  await sql`
    update webhook_endpoints set state = 'confirmed' where subscription_id = ${id}`.execute(db)
}

/** Each change at its time, whether or not the one before has been committed. */
async function tellSteadily(
  db: Db,
  options: { userIds: readonly number[]; onCommit: (() => void) | undefined },
): Promise<Map<string, number>> {
  const { userIds, onCommit } = options
  const commits = new Map<string, number>()
  const startedAt = performance.now()
  const changes: Promise<void>[] = []
  for (let n = 0; n < RATE * SECONDS; n++) {
    const waitMs = startedAt + (n * 1000) / RATE - performance.now()
    if (waitMs > 0) await new Promise((later) => setTimeout(later, waitMs))
    const userId = userIds[n % userIds.length] ?? 0
    const id = `${startedAt}-${n}`
    const body = { id, amount: '1.00', currency: 'USD', status: 'complete' }
    const change = async (): Promise<void> => {
      await db.transaction().execute((open) => notify(open, { userId, type: 'transfers', body }))
      commits.set(id, performance.now())
      onCommit?.()
    }
    changes.push(change())
  }
  await Promise.all(changes)
  return commits
}

/** A receiver that answers 204, or one that never answers. */
async function listen(
  onBody: ((body: string) => void) | undefined,
): Promise<{ url: string; close: () => Promise<void> }> {
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (!onBody) return
      onBody(Buffer.concat(chunks).toString())
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function report(
  name: string,
  { commits, arrivals }: Record<'commits' | 'arrivals', Map<string, number>>,
): number {
  const latencies = [...commits]
    .map(([id, at]) => (arrivals.get(id) ?? Number.POSITIVE_INFINITY) - at)
    .toSorted((a, b) => a - b)
  const at = (share: number) => latencies[Math.ceil(latencies.length * share) - 1] ?? Number.NaN
  const figures = [0.5, 0.99, 1].map((share) => at(share).toFixed(1).padStart(9))
  console.log(`${name.padEnd(40)}${figures.join('')}`)
  return at(0.99)
}

await main()
