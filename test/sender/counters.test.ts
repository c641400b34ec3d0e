import { expect } from 'chai'

import { systemClock } from '../../src/base/clock.ts'
import { BaseError } from '../../src/base/errors.ts'
import { createCounters } from '../../src/sender/counters.ts'
import type { PaymentRequest } from '../../src/sender/prepare.ts'
import type { Db } from '../../src/store/database/database.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { expectFailure } from '../fixtures/errors.ts'

describe('a sender that keeps the counters of payers', () => {
  let bench: Bench
  let payment: Partial<PaymentRequest>

  beforeEach(async () => {
    bench = await createBench()
    payment = { route: 'contract', payer: bench.signers.addresses[0] }
  })
  after(() => bench.stop())

  const pay = (sender: ReturnType<Bench['sender']>) =>
    sender.pay(bench.requestOf(payment), bench.signal)

  it('asks the database for none that it gave out itself', async () => {
    const sender = bench.sender({ counters: createCounters('embedded', systemClock) })
    const prepare = () => sender.prepare(NOBODY, bench.requestOf(payment), bench.signal)
    await expectFailure(prepare, 'database_asked')
    await pay(sender)
    await bench.passAndMine()
    await prepare()
    const { order } = await pay(sender)
    await bench.finish()
    expect(await bench.stateOf(order)).to.equal('completed')
  })

  it('asks again after a second on a server, where another may have taken the next', async () => {
    let ms = 0
    const clock = { ...systemClock, now: () => new Date(ms) }
    for (const [kind, atMs, isKept] of [
      ['server', 999, true],
      ['server', 1000, false],
      ['embedded', 86_400_000, true],
    ] as const) {
      ms = 0
      const sender = bench.sender({ counters: createCounters(kind, clock) })
      await pay(sender)
      ms = atMs
      const prepared = sender.prepare(NOBODY, bench.requestOf(payment), bench.signal)
      if (isKept) await prepared
      else await expectFailure(() => prepared, 'database_asked')
    }
  })

  it('pays by one that another has taken meanwhile, and by one that nobody took', async () => {
    const { addresses } = bench.signers
    for (const kept of [0n, 1000n]) {
      await bench.pay(payment)
      await bench.passAndMine()
      const counters = createCounters('embedded', systemClock)
      counters.set(addresses[0]!, kept)
      const { order } = await pay(bench.sender({ counters }))
      await bench.finish()
      expect(await bench.stateOf(order)).to.equal('completed')
    }
  })
})

/** A database that nobody may ask. */
const NOBODY = new Proxy({} as Db, {
  get() {
    throw new BaseError('the database was asked', { code: 'database_asked' })
  },
})
