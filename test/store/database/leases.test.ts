import { expect } from 'chai'

import { takeBackLeases } from '../../../src/store/database/leases.ts'
import { createLane, leaseLanes, openNonce } from '../../../src/store/orders/lanes.ts'
import { leaseWires, orderWire, releaseWires } from '../../../src/store/rails/wires.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('leases of processes that are gone', () => {
  const now = new Date()
  const in1Minute = new Date(now.getTime() + 60_000)

  it('are taken back: what they held is worked on at once', async () => {
    const { db } = await freshDatabase()
    const { id: userId } = await makeUser(db)
    const beneficiary = { name: 'Ada Lovelace', addressLine1: '12 St James Square' }
    const order = { userId, purpose: 'payment', amountMinor: 100n, currency: 'USD' } as const
    await orderWire(db, { ...order, subject: 'PAY1', beneficiary })
    await orderWire(db, { ...order, subject: 'PAY2', beneficiary })
    const lane = { chainId: 1, signer: `0x${'ab'.repeat(20)}` } as const
    await createLane(db, { ...lane, nextNonce: 0n })
    await openNonce(db, { ...lane, nonce: 0n, orderId: undefined })

    const leaseAll = async () => ({
      wires: await leaseWires(db, { now, until: in1Minute, limit: 10 }),
      lanes: await leaseLanes(db, { chainId: 1, before: now, until: in1Minute, limit: 10 }),
    })
    const { wires } = await leaseAll()
    // The bank asked to be left alone for an hour; that is no lease.
    const [held, patient] = wires
    const dueAt = new Date(now.getTime() + 3_600_000)
    await releaseWires(db, [{ wire: patient!, dueAt, trouble: undefined }])
    expect(await leaseAll()).to.deep.equal({ wires: [], lanes: [] })

    await takeBackLeases(db, { now, leaseMs: 60_000 })
    const again = await leaseAll()
    expect(again.wires.map(({ id }) => id)).to.deep.equal([held!.id])
    expect(again.lanes).to.deep.equal([{ ...lane, fence: 2n }])
  })
})
