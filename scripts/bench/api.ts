/** What a request costs in processor time, beside a bare Fastify route with the same SQL. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'

import { fastify, type FastifyInstance, type InjectOptions } from 'fastify'
import { Registry } from 'prom-client'
import { Type } from 'typebox'

import { createAccess } from '../../src/api/access/access.ts'
import { defineEndpoint, type Endpoint } from '../../src/api/admission/endpoint.ts'
import { createIdempotently } from '../../src/api/admission/idempotently.ts'
import { transactionDetailEndpoint } from '../../src/api/endpoints/api/transactions/detail.ts'
import { transactionListEndpoint } from '../../src/api/endpoints/api/transactions/list.ts'
import { walletTransferEndpoints } from '../../src/api/endpoints/v1/transfers.ts'
import { createServer } from '../../src/api/server/server.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { createId } from '../../src/domain/ids.ts'
import { transferBetween } from '../../src/ledger/wallet-transfers.ts'
import {
  findAnswer,
  findAnswers,
  storeAnswers,
  tryLockKeys,
  type RequestKey,
} from '../../src/store/access/idempotency.ts'
import type { Db } from '../../src/store/database/database.ts'
import { findWallet } from '../../src/store/ledger/wallets.ts'
import { findOrderOf } from '../../src/store/orders/orders.ts'
import { findArrival } from '../../src/store/rails/checkout-closings.ts'
import { listDisputes } from '../../src/store/rails/disputes.ts'
import { listRefunds } from '../../src/store/rails/refunds.ts'
import { listTransactions } from '../../src/store/transactions/list.ts'
import { listObjections, readObjections } from '../../src/store/transactions/objections.ts'
import {
  findTransaction,
  listMoves,
  recordTransaction,
} from '../../src/store/transactions/transactions.ts'
import {
  AMOUNT_FIELDS,
  amountFields,
  AmountInputSchema,
  CurrencySchema,
  readAmount,
} from '../../src/wire/amounts.ts'
import { requestObject } from '../../src/wire/shapes.ts'
import { createCpuTimer } from '../../test/engines/bench/cost.ts'
import { tellRows } from '../../test/engines/bench/result.ts'
import { makeKey, makeUser } from '../../test/fixtures/api/access.ts'
import { ledgerOf, makeWallets, noBurning, noMinting } from '../../test/fixtures/books/money.ts'
import { dropOwnDatabases, freshDatabase } from '../../test/fixtures/store/database.ts'
import { oneChain } from '../../test/fixtures/api/chains.ts'

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 15)
const REQUESTS = Number(process.env['BENCH_REQUESTS'] ?? 200)

const cpuTimeOf = await createCpuTimer(process.env['DATABASE_URL'])

const BODY = JSON.stringify({ amount: 12.5, currency: 'USD', description: 'row of the bench' })

async function main(): Promise<void> {
  const { db, kind } = await freshDatabase()
  const user = await makeUser(db)
  const { text: key } = await makeKey(db, { user })
  for (let count = 0; count < 200; count++) await record(db, { userId: user.id, amount: 1n })
  const { transactionId } = await record(db, { userId: user.id, amount: 1n })
  const wallets = await makeWallets(db, user.id, 1_000_000_000n)
  const ours = createOurs(db)
  const bare = createBare(db, user.id)
  await Promise.all([ours.ready(), bare.ready()])

  const headers = { 'x-api-key': key }
  const get = { method: 'GET', url: '/api/transactions?limit=20', headers } as const
  const one = { ...get, url: `/api/transactions/${transactionId}` }
  const posted = { ...headers, 'content-type': 'application/json' }
  const post = { method: 'POST', url: '/api/records', headers: posted, payload: BODY } as const
  const withKey = () => ({
    ...post,
    headers: { ...posted, 'idempotency-key': randomBytes(16).toString('hex') },
  })
  const sides = {
    source: { type: 'wallet', id: String(wallets.main) },
    destination: { type: 'wallet', id: String(wallets.second) },
  }
  const transfer = {
    ...post,
    url: '/v1/transfers',
    payload: JSON.stringify({ ...sides, amount: '0.01', currency: 'USD' }),
  }
  const rows = [
    await compare('GET of a list', { ours, bare, make: () => get }),
    await compare('GET of a transaction', { ours, bare, make: () => one }),
    await compare('validated POST', { ours, bare, make: () => post }),
    await compare('validated POST with a key', { ours, bare, make: withKey }),
    await compare('POST of a wallet transfer', { ours, bare, make: () => transfer }),
  ]
  console.log(`processor time per request, ${kind} engine, least of ${ROUNDS} × ${REQUESTS}\n`)
  console.log(
    'request'.padEnd(28),
    'ours µs'.padStart(8),
    'bare µs'.padStart(8),
    'more µs'.padStart(8),
  )
  for (const { name, oursUs, bareUs } of rows) {
    const shown = [oursUs, bareUs, oursUs - bareUs].map((us) => us.toFixed(0).padStart(8))
    console.log(name.padEnd(28), ...shown)
  }
  console.log(`\n${JSON.stringify({ engine: kind, rounds: ROUNDS, requests: REQUESTS, rows })}`)
  tellRows(
    'api',
    rows.map(({ name, oursUs, bareUs }) => ({
      what: `${name}, processor time`,
      unit: 'µs',
      ours: oursUs,
      floor: { what: 'a bare route with the same SQL', value: bareUs },
    })),
  )
  await Promise.all([ours.close(), bare.close()])
  await dropOwnDatabases()
}

/** All that stands before an operation in the real program, and four operations. */
function createOurs(db: Db): FastifyInstance {
  const rates = { groupA: 100_000_000, groupB: 100_000_000 }
  const { authenticate, limitRate } = createAccess({
    db,
    rates,
    clock: systemClock,
    environment: 'sandbox',
  })
  return createServer({
    logger: createLogger({ level: 'warn' }),
    registry: new Registry(),
    checks: () => [],
    isStopping: () => false,
    endpoints: [
      ...walletTransferEndpoints({
        ledger,
        bank: undefined,
        chains: oneChain({
          stablecoin: undefined,
          burning: noBurning,
          withdrawing: noMinting,
        }),
        randomBytes,
        createUuid: randomUUID,
      }),
      transactionListEndpoint({ chains: oneChain({}) }),
      transactionDetailEndpoint,
      recordEndpoint,
    ],
    hooks: { db, authenticate, limitRate, idempotently: createIdempotently({ db }) },
  })
}

const recordEndpoint: Endpoint = defineEndpoint({
  route: 'POST /api/records',
  operationId: 'record',
  summary: 'Records a transaction',
  tag: 'Bench',
  access: 'payments:write',
  body: requestObject({
    amount: AmountInputSchema,
    currency: CurrencySchema,
    description: Type.String({ minLength: 1, maxLength: 512 }),
  }),
  status: 201,
  answer: Type.Object({ success: Type.Literal(true), id: Type.String(), ...AMOUNT_FIELDS }),
  async handle({ body, caller, db }) {
    const amount = readAmount(body)
    const { transactionId } = await record(db, { userId: caller.userId, amount })
    return { success: true as const, id: transactionId, ...amountFields({ ...body, amount }) }
  },
})

/** The same SQL for one known user, and nothing else: nobody is asked who they are. */
function createBare(db: Db, userId: number): FastifyInstance {
  const server = fastify()
  server.get('/api/transactions', async () => {
    const { transactions, total } = await listTransactions(db, { userId }, { limit: 21, offset: 0 })
    const page = transactions.slice(0, 20)
    const objections = await listObjections(
      db,
      page.map(({ transactionId }) => transactionId),
    )
    const shown = page.map((one) => ({
      ...one,
      id: Number(one.id),
      amount: Number(one.amount) / 100,
      objections: objections.get(one.transactionId) ?? [],
    }))
    return { success: true, transactions: shown, total }
  })
  server.get('/api/transactions/:id', (request) => {
    const { id: transactionId } = request.params as { id: string }
    return readBare(db, { userId, transactionId })
  })
  server.post('/api/records', async (request, reply) => {
    const { amount } = request.body as { amount: number }
    const make = async (open: Db) => {
      const made = await record(open, { userId, amount: BigInt(amount * 100) })
      return { success: true, id: made.transactionId, amount }
    }
    const key = request.headers['idempotency-key']
    const made = await (key === undefined
      ? db.transaction().execute(make)
      : onceBare(db, { userId, operation: 'bare', key: String(key) }, make))
    return reply.code(201).send(made)
  })
  server.post('/v1/transfers', async (request, reply) => {
    const { source, destination, amount } = request.body as TransferBody
    const made = await db.transaction().execute((open) =>
      transferBare(open, {
        userId,
        from: BigInt(source.id),
        to: BigInt(destination.id),
        amount: BigInt(Number(amount) * 1_000_000),
      }),
    )
    return reply.code(201).send({ data: { id: made.id, status: 'complete', amount } })
  })
  return server
}

/** Asks before, and again with the key locked, whether there is an answer. */
async function onceBare(db: Db, key: RequestKey, make: (open: Db) => Promise<object>) {
  const earlier = await findAnswer(db, key)
  if (earlier !== undefined) return JSON.parse(earlier.body) as object
  return db.transaction().execute(async (open) => {
    const [isLocked] = await tryLockKeys(open, [key])
    const [stored] = await findAnswers(open, [key])
    if (!isLocked || stored !== undefined) throw new Error('every key of the bench is new')
    const made = await make(open)
    const fingerprint = createHash('sha256').update(BODY).digest('hex')
    const answer = { fingerprint, status: 201, body: JSON.stringify(made) }
    await storeAnswers(open, [{ ...key, ...answer }])
    return made
  })
}

type TransferBody = { source: { id: string }; destination: { id: string }; amount: string }

async function transferBare(
  db: Db,
  asked: { userId: number; from: bigint; to: bigint; amount: bigint },
) {
  const { userId, from, to, amount } = asked
  const walletId = (await findWallet(db, { userId, id: from }))!.id
  const toWalletId = (await findWallet(db, { userId, id: to }))!.id
  const sides = { userId, walletId, toWalletId }
  return transferBetween(ledger, db, { kind: 'wallet', ...sides, amount, currency: 'USD' })
}

const ledger = ledgerOf()

async function readBare(db: Db, wanted: { userId: number; transactionId: string }) {
  const { transactionId } = wanted
  const found = (await findTransaction(db, wanted))!
  const history = await listMoves(db, found)
  const objections = await readObjections(db, transactionId)
  const disputes = await listDisputes(db, transactionId)
  const refunds = await listRefunds(db, transactionId)
  const order = await findOrderOf(db, transactionId)
  const arrival = await findArrival(db, transactionId)
  const shown = { ...found, id: Number(found.id), amount: Number(found.amount) / 100 }
  return { success: true, ...shown, history, objections, disputes, refunds, order, arrival }
}

function record(db: Db, { userId, amount }: { userId: number; amount: bigint }) {
  return recordTransaction(db, {
    userId,
    amount,
    transactionId: createId('TX', randomBytes),
    type: 'payment',
    currency: 'USD',
    description: 'row of the bench',
    actor: 'bench',
    reason: 'made by the bench',
  })
}

/** In turns, so that what the machine does meanwhile meets both; the least is what it costs. */
async function compare(
  name: string,
  options: { ours: FastifyInstance; bare: FastifyInstance; make: () => InjectOptions },
): Promise<{ name: string; oursUs: number; bareUs: number }> {
  const { ours, bare, make } = options
  const costs: { ours: number[]; bare: number[] } = { ours: [], bare: [] }
  for (let round = 0; round < ROUNDS; round++) {
    costs.ours.push(await cpuTimeOf(() => sendMany(ours, make)))
    costs.bare.push(await cpuTimeOf(() => sendMany(bare, make)))
  }
  return { name, oursUs: leastUs(costs.ours), bareUs: leastUs(costs.bare) }
}

function leastUs(batchesMs: readonly number[]): number {
  return (Math.min(...batchesMs) / REQUESTS) * 1000
}

async function sendMany(server: FastifyInstance, make: () => InjectOptions): Promise<void> {
  for (let count = 0; count < REQUESTS; count++) {
    // An injected request takes no turn of the event loop, and a server whose loop stands still
    // refuses requests.
    await turn()
    const { statusCode, body } = await server.inject(make())
    if (statusCode >= 300) throw new Error(`${statusCode} ${body}`)
  }
}

await main()
