import { expect } from 'chai'

import { pauseAfter, SCHEDULES } from '../../src/webhooks/schedule.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const pause = (options: Partial<Parameters<typeof pauseAfter>[0]>) =>
  pauseAfter({
    schedule: SCHEDULES.production,
    tries: 1,
    retryAfterMs: undefined,
    random: 0.5,
    ...options,
  })

describe('the schedule of tries', () => {
  it('has ten tries within four days', () => {
    const pauses = Array.from({ length: 11 }, (_, index) => pause({ tries: index + 1 }))
    expect(pauses).to.deep.equal([
      5000,
      5 * MINUTE_MS,
      30 * MINUTE_MS,
      2 * HOUR_MS,
      5 * HOUR_MS,
      10 * HOUR_MS,
      14 * HOUR_MS,
      20 * HOUR_MS,
      24 * HOUR_MS,
      undefined,
      undefined,
    ])
  })

  it('has as many in the sandbox, within minutes', () => {
    const { pausesMs } = SCHEDULES.sandbox
    expect(pausesMs).to.have.length(SCHEDULES.production.pausesMs.length)
    expect(pausesMs.reduce((sum, ms) => sum + ms)).to.be.below(10 * MINUTE_MS)
  })

  it('is up to a fifth early or late', () => {
    expect([0, 0.5, 1].map((random) => pause({ random }))).to.deep.equal([4000, 5000, 6000])
  })

  it('waits as long as the receiver asks, but at most a day', () => {
    expect(pause({ retryAfterMs: 60_000 })).to.equal(60_000)
    expect(pause({ retryAfterMs: 1 })).to.equal(5000)
    expect(pause({ retryAfterMs: 1e12 })).to.equal(24 * HOUR_MS)
    expect(pause({ retryAfterMs: 1, tries: 10 })).to.equal(undefined)
  })
})
