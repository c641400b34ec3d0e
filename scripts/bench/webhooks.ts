import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { sql } from 'kysely'

import { createBells } from '../../src/base/bells.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { openDatabase, type Db } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { notify } from '../../src/store/webhooks/notifications.ts'
import { insertSubscription } from '../../src/store/webhooks/subscriptions.ts'
import { SCHEDULES } from '../../src/webhooks/schedule.ts'
import { createSend } from '../../src/webhooks/send.ts'
import { createTargets, resolveByDns } from '../../src/webhooks/targets.ts'
import { startWebhookWorker } from '../../src/webhooks/worker.ts'
import { tellRows, type BenchRow } from '../../test/engines/bench/result.ts'

const RATE = Number(process.env['BENCH_RATE'] ?? 100)
const SECONDS = Number(process.env['BENCH_SECONDS'] ?? 20)
const USERS = 20
const DEAD = 10

/** Times each webhook from the commit of its change to its arrival, at a steady rate. */
async function main(): Promise<void> {
  const database = await openDatabase({ url: process.env['DATABASE_URL'] })
  const { db, kind } = database
  await migrate(db)
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
  tellRows('webhooks', rows)
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
  const controller = new AbortController()
  const bell = createBells().of('webhooks')
  const worker = startWebhookWorker({
    db,
    clock: systemClock,
    random: Math.random,
    logger: createLogger({ level: 'silent' }),
    send: createSend({
      targets: createTargets({ environment: 'sandbox', host: '127.0.0.1', resolve: resolveByDns }),
      clock: systemClock,
      timeoutMs: 15_000,
    }),
    schedule: SCHEDULES.production,
    signal: controller.signal,
    bell,
  })
  const commits = await tellSteadily(db, { userIds, onCommit: kicks ? bell.ring : undefined })
  for (let waited = 0; arrivals.size < commits.size && waited < 600; waited++) {
    await new Promise((later) => setTimeout(later, 100))
  }
  controller.abort()
  await worker.done
  await Promise.all([receiver.close(), hanging.close()])
  return report(name, { commits, arrivals })
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
