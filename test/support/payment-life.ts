import { expect } from 'chai'

import type { Db } from '../../src/store/database.ts'
import type { TestClock } from './clock.ts'
import type { Crashes } from './crashes.ts'
import type { GatewayBench } from './gateways.ts'
import { createRandom } from './random.ts'
import { countRows } from './rails-api.ts'

export type PaymentLife = {
  /** One more payment from the request to its refund, by a program that dies at these points. */
  live: (points: readonly number[]) => Promise<number>
  /** Whatever died: each life has left one payment, its refunds and the moves of one payment. */
  expectOnce: (told: string) => Promise<void>
}

/** A payment whose payer agrees at the gateway. One database tells of all lives. */
export function createPaymentLife(deps: {
  db: Db
  clock: TestClock
  bench: GatewayBench
  crashes: Crashes
  payment: object
  /** What is asked to be sent back, one after the other; absent: the whole at once. */
  refunds?: readonly object[]
  /** What the payer does, again and again, until it has come through. */
  agree: (created: Record<string, unknown>) => Promise<unknown>
}): PaymentLife {
  const { db, clock, bench, crashes } = deps
  const { api, pass } = bench
  const refunds = deps.refunds ?? [undefined]
  let lives = 0n

  const untilDone = async <T>(name: string, work: () => Promise<T | undefined>): Promise<T> => {
    for (let life = 0; life < 50; life += 1) {
      const done = await work().catch(() => undefined)
      if (done !== undefined) return done
      clock.advance(3_600_000)
    }
    throw new Error(`${name} is never done`)
  }

  const payAndRefund = async (life: string) => {
    // The database dates payments, and one that is days old is no longer followed.
    clock.advance(Date.now() - clock.now().getTime())
    const body = await untilDone('the request', async () => {
      const answer = await api.post('/api/payments', deps.payment, { key: `pay-${life}` })
      return answer.status === 201 ? answer.body : undefined
    })
    const id = String(body['transaction_id'])
    await deps.agree(body)
    const reaches = async (wanted: string) =>
      untilDone(wanted, async () => {
        await pass()
        const { body } = await api.get(`/api/payments/${id}/status`)
        return body['status'] === wanted ? true : undefined
      })
    await reaches('completed')
    for (const [part, refund] of refunds.entries()) {
      await untilDone('the refund', async () => {
        const url = `/api/payments/${id}/refund`
        const { status } = await api.post(url, refund, { key: `refund-${life}-${part}` })
        return status === 201 ? true : undefined
      })
    }
    await reaches('refunded')
  }

  return {
    async live(points) {
      lives += 1n
      crashes.arm(points)
      await payAndRefund(String(lives))
      return crashes.passed()
    },
    async expectOnce(told) {
      expect(await countRows(db, 'transactions'), told).to.equal(lives)
      expect(await countRows(db, 'refunds'), told).to.equal(lives * BigInt(refunds.length))
      expect(await countRows(db, 'transaction_moves'), told).to.equal(4n * lives)
    },
  }
}

/** Three points of death that follow from the seed. */
export function deathsOf(seed: string, points: number): number[] {
  const random = createRandom(seed)
  return [1, 2, 3].map(() => 1 + random.below(points))
}
