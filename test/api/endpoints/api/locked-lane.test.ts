import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import { sql } from 'kysely'

import { createIdempotently } from '../../../../src/api/admission/idempotently.ts'
import { blockchainCreateEndpoint } from '../../../../src/api/endpoints/api/blockchain/transactions.ts'
import { limits } from '../../../../src/base/limits.ts'
import { recordMoves } from '../../../../src/sender/record.ts'
import { addressFrom } from '../../../engines/sim/world.ts'
import { callerOf, makeUser } from '../../../fixtures/api/access.ts'
import { startApi, type Api } from '../../../fixtures/api/api.ts'
import { paymentsOf } from '../../../fixtures/books/payments.ts'
import { createBench, type Bench } from '../../../fixtures/books/sender-bench.ts'
import { oneChain } from '../../../fixtures/api/chains.ts'

const PAYMENTS = 20

type Payer = 'locked' | 'free'
type Answer = { status: number; retryAfter: string | null; id: string; tookMs: number }

// The embedded database has one connection, so nobody else can hold a lock there.
if (process.env['DATABASE_URL'] !== undefined) {
  describe('payments behind a lane that somebody holds', () => {
    let bench: Bench
    let api: Api
    let url: string

    before(async () => {
      bench = await createBench()
      const { db } = bench
      const sender = bench.sender({ onMoved: recordMoves })
      const users = { locked: await makeUser(db), free: await makeUser(db) }
      const payments = paymentsOf(bench, sender, (id) =>
        Promise.resolve(bench.signers.addresses[id === users.free.id ? 1 : 0]!),
      )
      api = await startApi({
        endpoints: [blockchainCreateEndpoint({ chains: oneChain({ payments }), randomBytes })],
        hooks: {
          db,
          authenticate: (headers) =>
            Promise.resolve(callerOf(users[headers['x-api-key'] as Payer])),
          idempotently: createIdempotently({ db }),
        },
      })
      url = await api.server.listen({ host: '127.0.0.1', port: 0 })
    })
    let release: (() => void) | undefined
    after(async () => {
      release?.()
      await api.close()
      await bench.stop()
    })

    const pay = async (payer: Payer, name: string | number): Promise<Answer> => {
      const startedAt = performance.now()
      for (;;) {
        const answer = await payOnce(payer, name)
        const tookMs = performance.now() - startedAt
        // The front door lets in no more than it can do soon: whoever was not let in comes again.
        if (answer.code !== 'overloaded') return { ...answer, tookMs }
        await new Promise((later) => setTimeout(later, 100))
      }
    }
    const payOnce = async (payer: Payer, name: string | number) => {
      const answer = await fetch(`${url}/api/blockchain/transactions`, {
        method: 'POST',
        headers: {
          'x-api-key': payer,
          'content-type': 'application/json',
          'idempotency-key': `${payer}-${name}`,
        },
        body: JSON.stringify({
          to_address: addressFrom('locked lane'),
          amount: '0.5',
          description: 'a payment',
        }),
      })
      const body = (await answer.json()) as { transaction_id?: string; code?: string }
      const { transaction_id: id = '', code } = body
      return { status: answer.status, retryAfter: answer.headers.get('retry-after'), id, code }
    }
    const payAll = (payer: Payer): Array<Promise<Answer>> =>
      Array.from({ length: PAYMENTS }, (_, place) => pay(payer, place))
    const slowest = (answers: readonly Answer[]): number =>
      Math.max(...answers.map(({ tookMs }) => tookMs))

    it('are refused in time, keep nobody else, and are paid once when it is free', async () => {
      const first = await Promise.all([pay('locked', 'first'), pay('free', 'first')])
      expect(first.map(({ status }) => status)).to.deep.equal([201, 201])
      const held = Promise.withResolvers<void>()
      release = held.resolve
      const isHeld = Promise.withResolvers<void>()
      const holding = bench.db.transaction().execute(async (open) => {
        const [signer] = bench.signers.addresses
        await sql`select 1 from nonce_lanes where signer = ${signer} for update`.execute(open)
        isHeld.resolve()
        // The server ends a transaction that is idle for long.
        const timer = setInterval(() => void sql`select 1`.execute(open), 1000)
        await held.promise
        clearInterval(timer)
      })
      await isHeld.promise

      // They come in turns, so that both kinds share their transactions.
      const pairs = Array.from({ length: PAYMENTS }, (_, place) => place).map((place) => [
        pay('locked', place),
        pay('free', place),
      ])
      const free = await Promise.all(pairs.map(([, one]) => one!))
      expect(free.map(({ status }) => status)).to.deep.equal(free.map(() => 201))
      // A group has that long, however often the door sends one of its payments away first.
      expect(slowest(free)).to.be.lessThan(limits.togetherMs)
      const locked = await Promise.all(pairs.map(([one]) => one!))
      for (const { status, retryAfter } of locked) {
        expect([status, retryAfter]).to.deep.equal([503, '1'])
      }
      expect(slowest(locked)).to.be.lessThan(15_000)

      held.resolve()
      await holding
      const paid = await Promise.all(payAll('locked'))
      expect(paid.map(({ status }) => status)).to.deep.equal(paid.map(() => 201))
      const again = await Promise.all(payAll('locked'))
      expect(again.map(({ id }) => id)).to.deep.equal(paid.map(({ id }) => id))
      const { rows } = await sql<{ signer: string; made: bigint }>`
        select signer, count(*) as made from orders group by signer`.execute(bench.db)
      expect(rows.map(({ made }) => made)).to.deep.equal([21n, 21n])
    })
  })
}
