import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'

import { createLogger } from '../../../src/base/logger.ts'
import type { BankOrder, BankTransfer } from '../../../src/rails/bank.ts'
import { RefusedError } from '../../../src/rails/own/ask-own.ts'
import { createOwnBank, type OwnBank } from '../../../src/rails/own/bank.ts'
import { createWireRail, WIRE_POLICY } from '../../../src/rails/wire-rail.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { findWire, orderWire, type WireProgress } from '../../../src/store/rails/wires.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { createTestClock, type TestClock } from '../../fixtures/clock.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

const { signal } = new AbortController()
const ACCEPTED: BankTransfer = { bankId: 'B1', state: 'accepted' }

describe('your own bank', () => {
  let db: Db
  let userId: number
  let clock: TestClock
  let asked: string[]
  let moved: WireProgress[]

  beforeEach(async () => {
    db = (await freshDatabase()).db
    userId = (await makeUser(db)).id
    clock = createTestClock()
    asked = []
    moved = []
    await orderWire(db, {
      userId,
      purpose: 'transfer',
      subject: 'TX1',
      bank: 'house',
      amountMinor: 1250n,
      currency: 'USD',
      beneficiary: { name: 'Ada', accountNumber: '1', routingNumber: '101050001' },
    })
  })

  type Asked = Pick<OwnBank, 'send' | 'find'>

  const pass = async (parts: Partial<Asked>, passes = 1): Promise<void> => {
    const told =
      (what: string, answer: OwnBank['find'] | undefined) =>
      async (order: BankOrder, signal: AbortSignal) => {
        asked.push(`${what} ${order.key}`)
        return answer?.(order, signal)
      }
    const bank: OwnBank = {
      name: 'house',
      institutions: [],
      send: told('send', parts.send) as OwnBank['send'],
      find: told('find', parts.find),
    }
    const rail = createWireRail({
      db,
      banks: new Map([['house', createOwnBank(bank, { timeoutMs: 50 })]]),
      clock,
      logger: createLogger({ level: 'silent' }),
      policy: WIRE_POLICY,
      onMoved: async (_, one) => void moved.push(one),
    })
    for (let pass = 0; pass < passes; pass += 1) {
      await rail.pass(signal)
      clock.advance(3_600_000)
    }
  }
  const wire = () => findWire(db, { purpose: 'transfer', subject: 'TX1' })
  const states = () => moved.map(({ state, code }) => (code ? `${state}: ${code}` : state))

  it('is given the key, and is then asked by it until the money has left', async () => {
    const find = async () => ({ ...ACCEPTED, state: 'paid', reference: 'R1' }) as const
    await pass({ send: async () => ACCEPTED, find }, 2)
    expect(asked).to.deep.equal(['send quittance-transfer-TX1', 'find quittance-transfer-TX1'])
    expect(states()).to.deep.equal(['accepted', 'paid'])
    expect(await wire()).to.include({ state: 'paid', bankId: 'B1', reference: 'R1' })
  })

  const unknown: ReadonlyArray<[string, OwnBank['send']]> = [
    ['throws', () => Promise.reject(new Error('the line is cut'))],
    [
      'throws at once',
      (): never => {
        throw new Error('the line is cut')
      },
    ],
    ['never answers', () => new Promise(() => undefined)],
    ['answers nothing', async () => undefined as never],
    ['gives no id', async () => ({ ...ACCEPTED, bankId: '' })],
    ['gives an id that is too long', async () => ({ ...ACCEPTED, bankId: 'B'.repeat(129) })],
    ['says a word of its own', async () => ({ ...ACCEPTED, state: 'done' }) as never],
    ['gives a reference that is no text', async () => ({ ...ACCEPTED, reference: 7 }) as never],
  ]
  for (const [name, send] of unknown) {
    it(`is asked by the key before anything is sent again, where it ${name}`, async () => {
      const waits = sleep(5000, 'waits', { ref: false })
      expect(await Promise.race([pass({ send }), waits])).to.equal(undefined)
      expect(await wire()).to.include({ state: 'ordered', bankId: undefined })
      await pass({ find: async () => ACCEPTED })
      expect(asked.map((one) => one.split(' ')[0])).to.deep.equal(['send', 'find'])
      expect(states()).to.deep.equal(['accepted'])
    })
  }

  it('is sent the same again where it has never had the key', async () => {
    await pass({ send: () => Promise.reject(new Error('the line is cut')) })
    await pass({ find: async () => undefined, send: async () => ACCEPTED })
    expect(asked.map((one) => one.split(' ')[0])).to.deep.equal(['send', 'find', 'send'])
    expect(states()).to.deep.equal(['accepted'])
  })

  it('refuses a transfer for good, with its code in our alphabet', async () => {
    await pass({ send: () => Promise.reject(new RefusedError('Account closed!')) }, 3)
    expect(asked).to.have.length(1)
    expect(states()).to.deep.equal(['rejected: account_closed_'])
  })

  it('refuses no transfer by refusing a question', async () => {
    await pass({ send: async () => ACCEPTED })
    await pass({ find: () => Promise.reject(new RefusedError('not_now')) })
    expect(await wire()).to.include({ state: 'accepted' })
  })

  const wrong: ReadonlyArray<[string, OwnBank['find']]> = [
    ['another id for the same key', async () => ({ bankId: 'B2', state: 'paid' })],
    ['that it has never had the key', async () => undefined],
    ['nothing that can be read', async () => null as never],
  ]
  for (const [name, find] of wrong) {
    it(`is not believed when it says ${name}`, async () => {
      await pass({ send: async () => ACCEPTED })
      await pass({ find })
      expect(await wire()).to.include({ state: 'accepted', bankId: 'B1' })
      expect(asked).to.have.length(2)
    })
  }

  it('is told that the program stops', async () => {
    const stop = new AbortController()
    const bank = createOwnBank({
      name: 'house',
      institutions: [],
      send: (_, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
          stop.abort()
        }),
      find: async () => undefined,
    })
    const order = { key: 'k', subject: 'TX1', method: 'wire', amountMinor: 1n } as const
    const sent = bank.send({ ...order, currency: 'USD', beneficiary: { name: 'A' } }, stop.signal)
    expect(await sent.catch((error: { code: string }) => error.code)).to.equal('rail_unknown')
  })
})
