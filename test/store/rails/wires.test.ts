import { expect } from 'chai'

import { codeOf } from '../../../src/base/errors.ts'
import type { Db } from '../../../src/store/database/database.ts'
import {
  findWire,
  leaseWires,
  moveWire,
  orderWire,
  releaseWires,
  type WireOrder,
} from '../../../src/store/rails/wires.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { expectFailure } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('wires in the database', () => {
  let db: Db
  let order: WireOrder

  beforeEach(async () => {
    db = (await freshDatabase()).db
    const { id: userId } = await makeUser(db)
    order = {
      userId,
      purpose: 'payment',
      subject: 'PAY1',
      amountMinor: 12_50n,
      currency: 'USD',
      beneficiary: { name: 'Ada Lovelace', addressLine1: '12 St James Square' },
    }
  })

  const now = new Date()
  const lease = async (at = now) =>
    leaseWires(db, { now: at, until: new Date(at.getTime() + 1000), limit: 10 })

  it('orders one wire for a subject, however often it is asked', async () => {
    const first = await orderWire(db, order)
    expect(await orderWire(db, order)).to.deep.equal(first)
    const other = await orderWire(db, { ...order, purpose: 'redeem' })
    expect(other.id).not.to.equal(first.id)
    const wire = await findWire(db, order)
    expect(wire).to.include({ id: first.id, state: 'ordered', method: 'wire', amountMinor: 1250n })
    expect(wire?.beneficiary.name).to.equal('Ada Lovelace')
  })

  it('refuses another amount, method or beneficiary for the same subject', async () => {
    await orderWire(db, order)
    const others: Array<Partial<WireOrder>> = [
      { amountMinor: 1251n },
      { method: 'ach' },
      { beneficiary: { name: 'Ada Lovelace' } },
    ]
    for (const other of others) {
      await expectFailure(() => orderWire(db, { ...order, ...other }), 'wire_differs')
    }
  })

  it('gives a wire to one worker at a time, and takes nothing from one that is late', async () => {
    await orderWire(db, order)
    const [first] = await lease()
    expect(await lease()).to.deep.equal([])
    const [second] = await lease(new Date(now.getTime() + 1000))
    const move = { from: 'ordered', to: 'accepted', bankId: 'wire_1', now } as const
    expect(await moveWire(db, first!, move)).to.equal(false)
    expect(await moveWire(db, second!, move)).to.equal(true)
    expect(await moveWire(db, second!, move), 'once').to.equal(false)
    await releaseWires(db, [{ wire: first!, dueAt: undefined, trouble: 'late' }])
    expect(await lease(new Date(now.getTime() + 5000))).to.have.length(1)
  })

  it('holds the legal moves even against a program that is wrong', async () => {
    await orderWire(db, order)
    const [wire] = await lease()
    const skip = { from: 'ordered', to: 'paid', bankId: 'wire_1', now } as const
    const failure = await moveWire(db, wire!, skip).catch(codeOf)
    expect(failure).to.equal('23001')
  })
})
