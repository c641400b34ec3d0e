import { expect } from 'chai'

import { codeOf } from '../../src/base/errors.ts'
import type { PreparedOrder } from '../../src/sender/prepare.ts'
import { transact } from '../../src/store/database/transact.ts'
import { readOpenOrders } from '../../src/store/orders/orders.ts'
import { CHAIN_ID } from '../engines/sim/world.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { limit } from '../fixtures/store/limits.ts'

describe('limits on what the sender accepts', () => {
  let bench: Bench

  beforeEach(async () => {
    bench = await createBench()
  })
  after(() => bench.stop())

  for (const inList of [1, 5]) {
    it(`let half of a hundred that come at once pass, in lists of ${inList}`, async () => {
      const { db, signal } = bench
      const sender = bench.sender()
      const ones: PreparedOrder[] = []
      for (const payer of bench.signers.addresses) {
        ones.push(await sender.prepare(db, bench.requestOf({ payer, amount: 1n }), signal))
      }
      const hundred = Array.from({ length: 100 }, (_, place): PreparedOrder => {
        const one = ones[place % 2]!
        return { ...one, subject: `${one.subject} ${place}` }
      })
      await limit(db, { perDay: 50n })
      // One by one where others have spent it meanwhile, as requests that share a list are; and
      // again where the machine is too slow for as many.
      const accept = async (list: PreparedOrder[]): Promise<unknown[]> => {
        try {
          const results = await transact(db, (db) => sender.acceptNew(db, list))
          return results.map((one) => (one.ok ? 'accepted' : codeOf(one.error)))
        } catch (error) {
          const isAlone = list.length === 1
          if (isAlone && codeOf(error) !== 'database_unavailable') return [codeOf(error)]
          return (await Promise.all(list.map((one) => accept([one])))).flat()
        }
      }
      const lists = Array.from({ length: 100 / inList }, (_, at) =>
        hundred.slice(at * inList, (at + 1) * inList),
      )
      const codes = (await Promise.all(lists.map(accept))).flat()
      const count = (code: string) => codes.filter((one) => one === code).length
      expect([count('accepted'), count('limit_per_day')]).to.deep.equal([50, 50])
      expect(await readOpenOrders(db, CHAIN_ID)).to.include({ count: 50 })
    })
  }
})
