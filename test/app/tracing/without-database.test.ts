import { expect } from 'chai'

import { traceDeliveries } from '../../../src/app/tracing/deliveries.ts'
import { followOrders } from '../../../src/app/tracing/orders.ts'
import { createLogger } from '../../../src/base/logger.ts'
import type { OrderStep } from '../../../src/sender/context.ts'
import type { Db } from '../../../src/store/database/database.ts'
import type { DeliveryLease } from '../../../src/store/webhooks/deliveries.ts'
import { CHAIN_ID } from '../../engines/sim/world.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'
import { watchTraces } from '../../fixtures/traces.ts'

const MOST_STEPS = 10_000
const logger = createLogger({ level: 'silent' })

describe('traces while the database is away', () => {
  let asked: number
  let away: Db
  let settled: () => Promise<void>

  beforeEach(async () => {
    const { db } = await freshDatabase()
    asked = 0
    away = db.withPlugin({
      transformQuery() {
        asked += 1
        throw new Error('the database is away')
      },
      transformResult: async ({ result }) => result,
    })
  })

  const follow = () => {
    const shutdown = {
      add: (_: string, stop: () => Promise<void> | void) => (settled = async () => stop()),
    }
    const { tracing } = watchTraces()
    return followOrders({ tracing, db: away, logger, shutdown, chainId: CHAIN_ID })!
  }

  it('fail nothing of what they are about', async () => {
    const traces = follow()
    traces.follow([stepOf(1)])
    await settled()
    expect(await traces.fieldsOf(away, 1n)).to.deep.equal({})
    const { tracing } = watchTraces()
    const trace = traceDeliveries({ tracing, db: away, logger })
    const lease = { notification: { id: 'n' }, url: 'https://example.com/', tries: 0 }
    expect(await trace?.(lease as DeliveryLease)).to.equal(undefined)
    expect(asked).to.equal(3)
  })

  it('wait for so many steps and lose the rest', async () => {
    const traces = follow()
    traces.follow(Array.from({ length: 3 * MOST_STEPS }, (_, id) => stepOf(id)))
    await settled()
    expect(asked).to.equal(MOST_STEPS / 500)
  })
})

function stepOf(id: number): OrderStep {
  const [startedAt, endedAt] = [new Date(0), new Date(1)]
  return { name: 'submit', orderId: BigInt(id), hash: '0x', startedAt, endedAt }
}
