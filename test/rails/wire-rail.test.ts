import { expect } from 'chai'
import { sql } from 'kysely'

import { createLogger } from '../../src/base/logger.ts'
import { createBank } from '../../src/rails/bank.ts'
import { createSimulatedBank } from '../../src/rails/simulators/bank.ts'
import {
  serveSimulated,
  type Simulated,
  type SimulatorServer,
} from '../../src/rails/simulators/serve.ts'
import { createWireRail, WIRE_POLICY } from '../../src/rails/wire-rail.ts'
import type { Db } from '../../src/store/database/database.ts'
import {
  findWire,
  leaseWires,
  orderWire,
  type WireMethod,
  type WireProgress,
} from '../../src/store/rails/wires.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { createTestClock, type TestClock } from '../fixtures/clock.ts'
import { freshDatabase } from '../fixtures/store/database.ts'

const DAY_MS = 24 * 3_600_000
const ACCOUNT = { key: 'key', accountId: 'account_1' }
const { signal } = new AbortController()

describe('the bank rail', () => {
  let db: Db
  let userId: number
  let clock: TestClock
  let server: SimulatorServer | undefined
  let asked: string[]
  let moved: WireProgress[]
  /** What stands between us and the bank. */
  let between: (bank: Simulated) => Simulated

  beforeEach(async () => {
    db = (await freshDatabase()).db
    userId = (await makeUser(db)).id
    clock = createTestClock()
    asked = []
    moved = []
    between = (bank) => bank
  })

  afterEach(async () => server?.close())

  type Options = {
    onMoved?: (db: Db, moved: WireProgress) => Promise<void>
    /** Short only where the bank is silent: a busy machine is no silent bank. */
    timeoutMs?: number
    /** Another one than the usual bank. */
    name?: string
  }
  const start = async ({ onMoved, name, ...timeout }: Options = {}) => {
    const bank = createSimulatedBank({
      ...ACCOUNT,
      now: () => clock.now().getTime(),
      dayMs: DAY_MS,
    })
    server = await serveSimulated((request) => {
      asked.push(`${request.method} ${request.path}`)
      return between(bank)(request)
    })
    return createWireRail({
      db,
      banks: new Map([[name, createBank({ url: server.url, ...ACCOUNT, ...timeout })]]),
      clock,
      logger: createLogger({ level: 'silent' }),
      policy: WIRE_POLICY,
      onMoved: async (db, one) => {
        await onMoved?.(db, one)
        moved.push(one)
      },
    })
  }

  const order = async (
    accountNumber: string | undefined,
    method: WireMethod = 'ach',
    bank?: { bank: string; subject: string },
  ) =>
    orderWire(db, {
      userId,
      purpose: 'transfer',
      subject: 'TX1',
      method,
      amountMinor: 1250n,
      currency: 'USD',
      beneficiary: {
        name: 'Ada Lovelace',
        ...(accountNumber && { accountNumber, routingNumber: '101050001' }),
      },
      ...bank,
    })

  const states = () => moved.map(({ state, code }) => (code ? `${state}: ${code}` : state))
  const wire = async () => findWire(db, { purpose: 'transfer', subject: 'TX1' })
  /** Looks every hour of so many days. */
  const pass = async (rail: { pass: (signal: AbortSignal) => Promise<void> }, days = 0) => {
    for (let hours = 0; hours <= days * 24; hours += 1) {
      await rail.pass(signal)
      clock.advance(3_600_000)
    }
  }

  it('sends what was ordered and tells each step once, with the reference', async () => {
    const rail = await start()
    await order('987654321')
    await pass(rail, 1)
    expect(states()).to.deep.equal(['accepted', 'paid'])
    expect(moved[1]?.reference).to.match(/^\d{15}$/)
    expect(await wire()).to.include({ state: 'paid' })
    expect(asked.filter((one) => one === 'POST /ach_transfers')).to.have.length(1)
  })

  it('sends a wire to a beneficiary whose account only the bank knows', async () => {
    const rail = await start()
    await order(undefined, 'wire')
    await pass(rail, 1)
    expect(states()).to.deep.equal(['accepted', 'paid'])
    expect(asked).to.include('GET /external_accounts')
  })

  it('sees a return that comes three days later, and then looks no more', async () => {
    const rail = await start()
    await order('1000000002')
    await pass(rail, 4)
    expect(states()).to.deep.equal(['accepted', 'paid', 'returned: no_account'])
    asked = []
    await pass(rail, 2)
    expect(asked).to.deep.equal([])
  })

  it('looks at a paid wire once a day in the end, until it cannot come back', async () => {
    const rail = await start()
    await order('987654321')
    await pass(rail, 1)
    const everyDay = async (days: number) => {
      for (let day = 0; day < days; day += 1) {
        await rail.pass(signal)
        clock.advance(24 * 3_600_000)
      }
    }
    await everyDay(5)
    asked = []
    await pass(rail, 2)
    expect(asked).to.have.length.within(2, 3)
    await everyDay(30)
    asked = []
    await everyDay(2)
    expect(asked).to.deep.equal([])
  })

  it('rejects what the bank refuses, at once or later', async () => {
    const rail = await start()
    await order('1000000004')
    await pass(rail)
    expect(states()).to.deep.equal(['rejected: invalid_parameters'])
    expect(await wire()).to.include({ state: 'rejected' })
    moved = []
    await orderWire(db, {
      userId,
      purpose: 'payment',
      subject: 'P1',
      amountMinor: 1n,
      currency: 'USD',
      beneficiary: { name: 'To Be Rejected' },
    })
    await pass(rail, 1)
    expect(states()).to.deep.equal(['accepted', 'rejected: rejected'])
  })

  it('asks what came of a request that was never answered, and sends nothing twice', async () => {
    const rail = await start({ timeoutMs: 200 })
    await order('1000000003')
    await pass(rail)
    expect(states()).to.deep.equal([])
    await pass(rail, 1)
    expect(states()).to.deep.equal(['accepted', 'paid'])
    expect(asked.filter((one) => one.startsWith('POST'))).to.have.length(1)
  })

  it('rejects no wire because the bank refuses to be asked what came of it', async () => {
    let refusing = true
    const json = { type: 'invalid_parameters_error', status: 400 }
    between = (bank) => (request) =>
      refusing && request.method === 'GET' ? { status: 400, json } : bank(request)
    const rail = await start({ timeoutMs: 200 })
    await order('1000000003')
    for (let hours = 0; hours < 100 && !asked.includes('GET /ach_transfers'); hours += 1) {
      await pass(rail)
    }
    expect(asked).to.include('GET /ach_transfers')
    expect(states()).to.deep.equal([])
    refusing = false
    await pass(rail, 1)
    expect(states()).to.deep.equal(['accepted', 'paid'])
    expect(asked.filter((one) => one.startsWith('POST'))).to.have.length(1)
  })

  const lies: ReadonlyArray<[string, Record<string, unknown>]> = [
    ['another amount', { amount: 1251 }],
    ['another currency', { currency: 'EUR' }],
    ['another account of ours', { account_id: 'account_2' }],
    ['another transfer', { idempotency_key: 'quittance-transfer-TX2' }],
    ['a status that nobody has heard of', { status: 'teleported' }],
    ['no id', { id: null }],
  ]
  for (const [name, lie] of lies) {
    it(`believes no reply that tells of ${name}`, async () => {
      let lying = true
      between = (bank) => async (request) => {
        const reply = await bank(request)
        const json = reply.json as { data?: object[] }
        const lied = json.data
          ? { ...json, data: json.data.map((one) => ({ ...one, ...lie })) }
          : { ...json, ...lie }
        return lying ? { ...reply, json: lied } : reply
      }
      const rail = await start()
      await order('987654321')
      await pass(rail, 1)
      expect(states()).to.deep.equal([])
      expect(await wire()).to.include({ state: 'ordered', bankId: undefined })
      lying = false
      await pass(rail, 2)
      expect(states()).to.deep.equal(['accepted', 'paid'])
    })
  }

  const silences: ReadonlyArray<[string, Simulated]> = [
    ['a page of a proxy', () => ({ status: 400, html: '<h1>Bad request</h1>' })],
    [
      'an error of its own making',
      () => ({ status: 500, json: { type: 'internal_server_error' } }),
    ],
    ['a redirect', () => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } })],
    ['a huge answer', () => ({ status: 200, json: { data: 'x'.repeat(1 << 20) } })],
    ['a key that is refused', () => ({ status: 401, json: {} })],
    ['too many requests', () => ({ status: 429, json: { type: 'rate_limited_error' } })],
  ]
  for (const [name, silence] of silences) {
    it(`concludes nothing from ${name}, and goes on when it is over`, async () => {
      let broken = true
      between = (bank) => (broken ? silence : bank)
      const rail = await start()
      await order('987654321')
      await pass(rail, 1)
      expect(states()).to.deep.equal([])
      broken = false
      await pass(rail, 2)
      expect(states()).to.deep.equal(['accepted', 'paid'])
    })
  }

  it('moves a wire and tells of it together or not at all', async () => {
    let failing = true
    const rail = await start({
      onMoved: async () => {
        if (failing) throw new Error('the ledger is not there')
      },
    })
    await order('987654321')
    await pass(rail, 1)
    expect(await wire()).to.include({ state: 'ordered' })
    failing = false
    await pass(rail, 2)
    expect(states()).to.deep.equal(['accepted', 'paid'])
    expect(asked.filter((one) => one.startsWith('POST'))).to.have.length(1)
  })

  it('takes no step back when the bank contradicts itself', async () => {
    const rail = await start()
    await order('987654321')
    await pass(rail, 1)
    between = (bank) => async (request) => {
      const reply = await bank(request)
      return { ...reply, json: { ...(reply.json as object), status: 'rejected', settlement: null } }
    }
    await pass(rail, 3)
    expect(await wire()).to.include({ state: 'paid' })
    expect(states()).to.deep.equal(['accepted', 'paid'])
    const { rows } = await sql`select trouble from wires`.execute(db)
    expect(rows).to.deep.equal([{ trouble: 'went_back_to_rejected' }])
  })

  it('is sent by the bank that it was ordered from, and by no other one', async () => {
    const rail = await start({ name: 'second' })
    await order('987654321', 'ach', { bank: 'second', subject: 'TX2' })
    await order('987654321')
    await pass(rail, 1)
    const { rows } = await sql`select bank, state, trouble from wires order by id`.execute(db)
    expect(rows).to.deep.equal([
      { bank: 'second', state: 'paid', trouble: null },
      { bank: null, state: 'ordered', trouble: 'bank_not_configured' },
    ])
    expect(asked.filter((one) => one.startsWith('POST'))).to.have.length(1)
  })

  it('tells nothing of a wire that another worker took over meanwhile', async () => {
    between = (bank) => async (request) => {
      const reply = await bank(request)
      if (request.method !== 'POST') return reply
      // The answer took longer than the lease.
      const now = new Date(clock.now().getTime() + WIRE_POLICY.leaseMs)
      await leaseWires(db, { now, until: now, limit: 1 })
      return reply
    }
    const rail = await start()
    await order('987654321')
    await pass(rail)
    expect(states()).to.deep.equal([])
    expect(await wire()).to.include({ state: 'ordered' })
    await pass(rail, 1)
    expect(states()).to.deep.equal(['accepted', 'paid'])
  })
})
