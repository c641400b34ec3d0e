import { expect } from 'chai'

import { createBells } from '../../src/base/bells.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { createLoop } from '../../src/base/loop.ts'

describe('bells', () => {
  it('wake those of their name alone, until they stop listening', () => {
    const bells = createBells()
    const woken: string[] = []
    const end = bells.of('one').listen(() => woken.push('one'))
    bells.of('other').listen(() => woken.push('other'))
    bells.of('one').ring()
    bells.ringHere('other')
    end()
    bells.of('one').ring()
    expect(woken).to.deep.equal(['one', 'other'])
  })

  it('are carried where they are rung, and not where they are only heard', () => {
    const bells = createBells()
    const carried: string[] = []
    bells.carry((name) => carried.push(name))
    bells.of('one').ring()
    bells.ringHere('one')
    expect(carried).to.deep.equal(['one'])
  })

  it('kick the loop that listens, and are rung by its kick', async () => {
    const bells = createBells()
    const carried: string[] = []
    bells.carry((name) => carried.push(name))
    const end = new AbortController()
    let passes = 0
    const loop = createLoop({
      name: 'test',
      clock: systemClock,
      logger: createLogger({ level: 'silent' }),
      intervalMs: 60_000,
      bell: bells.of('work'),
      async pass() {
        passes += 1
        if (passes === 2) end.abort()
      },
    })
    const running = loop.run(end.signal)
    setTimeout(() => bells.ringHere('work'), 5)
    await running
    loop.kick()
    expect(passes).to.equal(2)
    expect(carried).to.deep.equal(['work'])
  })
})
