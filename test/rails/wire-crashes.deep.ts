import { expect } from 'chai'

import { createLogger } from '../../src/base/logger.ts'
import { createBank } from '../../src/rails/bank.ts'
import { createSimulatedBank } from '../../src/rails/simulators/bank.ts'
import { serveSimulated, type SimulatorServer } from '../../src/rails/simulators/serve.ts'
import {
  createWireRail,
  moveTransferByWire,
  WIRE_POLICY,
  type WireRail,
} from '../../src/rails/wire-rail.ts'
import type { Db } from '../../src/store/database/database.ts'
import { orderWire } from '../../src/store/rails/wires.ts'
import { findStatus, listMoves } from '../../src/store/transactions/transactions.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { createCrashes } from '../fixtures/books/crashes.ts'
import { createTestClock, type TestClock } from '../fixtures/clock.ts'
import { createRandom } from '../fixtures/random.ts'
import { freshDatabase } from '../fixtures/store/database.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

const ACCOUNT = { key: 'key', accountId: 'account_1' }
const { signal } = new AbortController()

/** A transfer that comes back after three days, by a program that dies at points it is given. */
describe('a transfer, whatever dies', () => {
  let db: Db
  let userId: number
  let clock: TestClock
  let server: SimulatorServer
  let rail: WireRail
  let sent: string[]
  const crashes = createCrashes()

  before(async () => {
    db = (await freshDatabase()).db
    userId = (await makeUser(db)).id
    clock = createTestClock()
    const now = () => clock.now().getTime()
    const bank = createSimulatedBank({ ...ACCOUNT, now, dayMs: 24 * 3_600_000 })
    server = await serveSimulated(async (request) => {
      const reply = await bank(request)
      const { id } = (reply.json ?? {}) as { id?: string }
      if (request.method === 'POST' && id !== undefined) sent.push(id)
      return reply
    })
    rail = createWireRail({
      db: crashes.db(db),
      banks: new Map([[undefined, createBank({ url: server.url, ...ACCOUNT })]]),
      clock,
      logger: createLogger({ level: 'silent' }),
      policy: WIRE_POLICY,
      onMoved: moveTransferByWire,
    })
  })

  after(async () => server.close())

  const live = async (points: readonly number[]): Promise<number> => {
    sent = []
    const transaction = await makeTransaction(db, { userId, type: 'transfer' })
    const { transactionId: subject, amount: amountMinor } = transaction
    const beneficiary = { name: 'Ada', accountNumber: '1000000002', routingNumber: '101050001' }
    const order = { userId, purpose: 'transfer', subject, method: 'ach', amountMinor } as const
    await orderWire(db, { ...order, currency: 'USD', beneficiary })
    crashes.arm(points)
    for (let looks = 0; looks < 60; looks += 1) {
      await rail.pass(signal).catch(() => undefined)
      clock.advance(6 * 3_600_000)
      if ((await findStatus(db, subject)) === 'refunded') break
    }
    const moves = (await listMoves(db, transaction)).map(({ to }) => to)
    const told = `death at ${points.join()}`
    expect(moves, told).to.deep.equal(['pending', 'processing', 'completed', 'refunded'])
    expect(new Set(sent).size, told).to.equal(1)
    return crashes.passed()
  }

  it('is sent once and told truly for a death at every single point', async () => {
    const points = await live([])
    expect(points).to.be.above(60)
    for (let point = 1; point <= points; point += 1) await live([point])
  })

  it('and for three deaths at points of a seed', async () => {
    for (let seed = 1; seed <= 12; seed += 1) {
      const random = createRandom(`wires/${seed}`)
      await live([1, 2, 3].map(() => 1 + random.below(80)))
    }
  })
})
