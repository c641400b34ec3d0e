import { expect } from 'chai'

import { createThrottle } from '../../../src/chain/rpc/throttle.ts'
import { createJumpingClock } from '../../fixtures/clock.ts'
import { expectFailure } from '../../fixtures/errors.ts'

const never = new AbortController().signal

describe('the throttle of a provider', () => {
  const setUp = (options: { maxConcurrent?: number; maxQueued?: number } = {}) => {
    const clock = createJumpingClock()
    return { clock, throttle: createThrottle({ name: 'node', clock, ...options }) }
  }

  it('lets so many calls through at once, and the next in the order of asking', async () => {
    const { throttle } = setUp({ maxConcurrent: 2 })
    const started: number[] = []
    const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<void>())
    const runs = gates.map((gate, index) =>
      throttle.run(async () => {
        started.push(index)
        await gate.promise
      }, never),
    )
    await tick()
    expect(started).to.deep.equal([0, 1])
    gates[1]?.resolve()
    await tick()
    expect(started).to.deep.equal([0, 1, 2])
    for (const gate of gates) gate.resolve()
    await Promise.all(runs)
    expect(started).to.deep.equal([0, 1, 2, 3])
  })

  it('refuses what its queue cannot hold, and forgets who gave up', async () => {
    const { throttle } = setUp({ maxConcurrent: 1, maxQueued: 1 })
    const gate = Promise.withResolvers<void>()
    const first = throttle.run(() => gate.promise, never)
    const controller = new AbortController()
    const second = throttle.run(() => Promise.resolve(), controller.signal)
    await expectFailure(() => throttle.run(() => Promise.resolve(), never), 'rpc_queue_full')
    controller.abort()
    await expectFailure(() => second, 'rpc_aborted')
    const third = throttle.run(() => Promise.resolve('third'), never)
    gate.resolve()
    expect(await third).to.equal('third')
    await first
  })

  it('gives the place back when the work fails', async () => {
    const { throttle } = setUp({ maxConcurrent: 1 })
    const failing = throttle.run(() => Promise.reject(new Error('broken')), never)
    expect(await failing.catch((error: Error) => error.message)).to.equal('broken')
    expect(await throttle.run(() => Promise.resolve(1), never)).to.equal(1)
  })

  it('has no rate until the provider complains, then half of what it did', async () => {
    const { throttle, clock } = setUp()
    for (let call = 0; call < 40; call += 1) await throttle.run(() => Promise.resolve(), never)
    expect(throttle.rate()).to.equal(undefined)
    throttle.onLimited(undefined)
    expect(throttle.rate()).to.equal(20)
    expect(clock.slept).to.deep.equal([])
  })

  it('waits as long as it was asked to, then spaces its calls', async () => {
    const { throttle, clock } = setUp()
    for (let call = 0; call < 20; call += 1) await throttle.run(() => Promise.resolve(), never)
    throttle.onLimited(5000)
    expect(throttle.isPaused()).to.equal(true)
    for (let call = 0; call < 3; call += 1) await throttle.run(() => Promise.resolve(), never)
    expect(clock.slept).to.deep.equal([5000, 100, 100])
    expect(throttle.isPaused()).to.equal(false)
  })

  it('never waits longer than a minute, whatever it was asked for', async () => {
    const { throttle, clock } = setUp()
    throttle.onLimited(86_400_000)
    await throttle.run(() => Promise.resolve(), never)
    expect(clock.slept).to.deep.equal([60_000])
  })

  it('takes complaints about one burst as one lesson', () => {
    const { throttle, clock } = setUp()
    throttle.onLimited(0)
    const rate = throttle.rate()
    throttle.onLimited(0)
    expect(throttle.rate()).to.equal(rate)
    clock.advance(1000)
    throttle.onLimited(0)
    expect(throttle.rate()).to.equal(1)
  })

  it('grows faster again with each answer, until no limit is left', () => {
    const { throttle } = setUp()
    throttle.onLimited(0)
    throttle.onAnswered()
    expect(throttle.rate()).to.be.closeTo(1.05, 1e-9)
    for (let answer = 0; answer < 20_000; answer += 1) throttle.onAnswered()
    expect(throttle.rate()).to.equal(undefined)
  })

  it('does not start what was ended during a pause', async () => {
    const { throttle } = setUp()
    throttle.onLimited(1000)
    const controller = new AbortController()
    const run = throttle.run(() => Promise.resolve(), controller.signal)
    controller.abort()
    await expectFailure(() => run, 'rpc_aborted')
  })
})

function tick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
