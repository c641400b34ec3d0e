import { expect } from 'chai'

import type { Db } from '../../../src/store/database/database.ts'
import { findTracedOrders, storeTraces } from '../../../src/store/transactions/traces.ts'
import { createBench, type Bench } from '../../fixtures/books/sender-bench.ts'
import { TRACE, TRACEPARENT } from '../../fixtures/traces.ts'

const UUID = '7e8f9a0b-1c2d-4e3f-8a9b-123456789012'

describe('the traces of subjects', () => {
  let bench: Bench
  let db: Db

  beforeEach(async () => {
    bench = await createBench()
    ;({ db } = bench)
  })
  after(() => bench.stop())

  const endings: ReadonlyArray<[subject: string, traced: string]> = [
    ['TX1', 'TX1'],
    ['TX1-allowance', 'TX1'],
    ['BAT1-12', 'BAT1'],
    ['BAT1-rest-allowance', 'BAT1'],
    [UUID, UUID],
    [`${UUID}-allowance`, UUID],
  ]
  for (const [subject, traced] of endings) {
    it(`are found by an order for ${subject}`, async () => {
      const { order } = await bench.pay({ subject })
      await storeTraces(db, [
        { subject: traced, traceparent: TRACEPARENT },
        { subject: `${traced}0`, traceparent: `00-${TRACE}-${'1'.repeat(16)}-00` },
      ])
      const found = { id: order.id, subject, state: 'accepted', errorCode: undefined }
      expect(await findTracedOrders(db, [order.id])).to.deep.equal([
        { ...found, traceparent: TRACEPARENT },
      ])
    })
  }

  it('stay as they were stored first', async () => {
    const { order } = await bench.pay({ subject: 'TX2' })
    await storeTraces(db, [{ subject: 'TX2', traceparent: TRACEPARENT }])
    const other = `00-${TRACE}-${'1'.repeat(16)}-00`
    await storeTraces(db, [{ subject: 'TX2', traceparent: other }])
    const [found] = await findTracedOrders(db, [order.id])
    expect(found?.traceparent).to.equal(TRACEPARENT)
  })
})
