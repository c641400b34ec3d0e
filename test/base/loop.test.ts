import { expect } from 'chai'

import { createBells } from '../../src/base/bells.ts'
import type { Clock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { backoffMs, createLoop, inRounds, type LoopOptions } from '../../src/base/loop.ts'
import { createJumpingClock } from '../fixtures/clock.ts'

describe('a loop', () => {
  let end: AbortController
  let slept: number[]
  let lines: string[]
  /** Wakes the loop from the wait that it is in. */
  let wakeUp: () => void

  beforeEach(() => {
    end = new AbortController()
    slept = []
    lines = []
  })

  /** Each wait ends by `wakeUp`, or with its signal. */
  const clock: Clock = {
    now: () => new Date(0),
    sleep: (ms, signal) => {
      slept.push(ms)
      return new Promise((resolve) => {
        wakeUp = resolve
        if (signal.aborted) resolve()
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
    },
  }
  const logger = createLogger({
    level: 'info',
    destination: { write: (line) => void lines.push(line) },
  })
  const create = (options: Partial<LoopOptions> & Pick<LoopOptions, 'pass'>) =>
    createLoop({ name: 'test', clock, logger, intervalMs: 100, ...options })

  it('rests between two passes, and tells each whether it was kicked', async () => {
    const kicked: boolean[] = []
    const loop = create({ pass: async (_, { isKicked }) => kicked.push(isKicked) })
    const running = loop.run(end.signal)
    await turns()
    wakeUp()
    await turns()
    loop.kick()
    await turns()
    end.abort()
    await running
    expect(kicked).to.deep.equal([true, false, true])
    expect(slept).to.deep.equal([100, 100, 100])
  })

  it('keeps a kick that comes during a pass', async () => {
    let passes = 0
    const loop = create({
      async pass() {
        passes += 1
        if (passes === 1) loop.kick()
      },
    })
    const running = loop.run(end.signal)
    await turns()
    expect([passes, slept]).to.deep.equal([2, [100]])
    end.abort()
    await running
  })

  it('goes on at once while a pass says that there is more', async () => {
    let left = 3
    const running = create({ pass: async () => --left > 0 }).run(end.signal)
    await turns()
    expect([left, slept]).to.deep.equal([0, [100]])
    end.abort()
    await running
  })

  it('rests as it is told to after a pass, kicked or not', async () => {
    const loop = create({ restMs: () => 7, pass: async () => undefined })
    const running = loop.run(end.signal)
    await turns()
    loop.kick()
    await turns()
    expect(slept).to.deep.equal([7])
    end.abort()
    await running
  })

  it('waits no longer for its interval because it has rested', async () => {
    const rests = [70, 170]
    const loop = create({ restMs: () => rests.shift() ?? 0, pass: async () => undefined })
    const running = loop.run(end.signal)
    for (let sleep = 1; sleep < 5; sleep++) {
      await turns()
      wakeUp()
    }
    await turns()
    end.abort()
    await running
    expect(slept).to.deep.equal([70, 30, 170, 0, 100])
  })

  it('rests for up to two seconds where nothing is due, or until it is kicked', async () => {
    const due = [5000, 700, 30, Infinity, undefined]
    const loop = create({ pass: async () => due.shift() })
    const running = loop.run(end.signal)
    for (let pass = 1; pass < 4; pass++) {
      await turns()
      wakeUp()
    }
    await turns()
    loop.kick()
    await turns()
    end.abort()
    await running
    expect(slept).to.deep.equal([2000, 700, 100, 2000, 100])
  })

  it('rests for up to thirty seconds where a bell is heard', async () => {
    const bells = createBells()
    const bell = bells.of('work')
    const due = [60_000, 700, Infinity, Infinity]
    const loop = create({ bell, pass: async () => due.shift() })
    const running = loop.run(end.signal)
    await turns()
    bell.ring()
    await turns()
    bell.ring()
    await turns()
    bells.setHeard(false)
    bell.ring()
    await turns()
    end.abort()
    await running
    expect(slept).to.deep.equal([30_000, 700, 30_000, 2000])
  })

  it('logs a pass that fails, and rests for longer after each in a row', async () => {
    const clock = createJumpingClock()
    let passes = 0
    const loop = create({
      clock,
      async pass() {
        passes += 1
        if (passes === 9) end.abort()
        if (passes !== 7) throw new Error('away')
      },
    })
    await loop.run(end.signal)
    const rests = clock.slept.filter((ms) => ms !== 100)
    expect(rests).to.deep.equal([250, 500, 1000, 2000, 4000, 5000, 250, 500])
    // The last one failed because of the end.
    expect(lines.every((line) => line.includes('a pass of a loop failed'))).to.equal(true)
    expect(lines).to.have.length(7)
    expect(lines[0]).to.include('"loop":"test"').and.include('away')
  })

  it('tells of progress after a pass that fails, too', async () => {
    let progress = 0
    const pass = async (): Promise<void> => {
      end.abort()
      throw new Error('away')
    }
    await create({ onProgress: () => void (progress += 1), pass }).run(end.signal)
    expect(progress).to.equal(1)
  })

  it('ends with its signal, in a wait and before the first pass', async () => {
    let passes = 0
    const loop = create({ pass: async () => void (passes += 1) })
    const running = loop.run(end.signal)
    await turns()
    end.abort()
    await running
    await loop.run(end.signal)
    expect(passes).to.equal(1)
  })
})

describe('rounds', () => {
  it('end with the first answer, and with none after the last, with growing pauses', async () => {
    const clock = createJumpingClock()
    const pace = { clock, rounds: 4, firstPauseMs: 10, maxPauseMs: 25 }
    let count = 0
    const second = await inRounds(pace, async () => (++count === 2 ? 'there' : undefined))
    expect([second, count, clock.slept]).to.deep.equal(['there', 2, [10]])
    expect(await inRounds(pace, async () => undefined)).to.equal(undefined)
    expect(clock.slept.slice(1)).to.deep.equal([10, 20, 25])
  })

  it('wait for half of each pause at least', async () => {
    const clock = createJumpingClock()
    const pace = { clock, rounds: 3, firstPauseMs: 10, maxPauseMs: 25, random: () => 0 }
    await inRounds(pace, async () => undefined)
    expect(clock.slept).to.deep.equal([5, 10])
  })
})

describe('the wait before something is looked at again', () => {
  it('doubles from the first, up to the most', () => {
    const waits = [1, 2, 3, 4, 99].map((tries) => backoffMs({ tries, firstMs: 10, maxMs: 60 }))
    expect(waits).to.deep.equal([10, 20, 40, 60, 60])
  })
})

async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}
