import { expect } from 'chai'

import { createLogger } from '../../src/base/logger.ts'
import { createWatchdog } from '../../src/base/watchdog.ts'
import { createTestClock } from '../fixtures/clock.ts'
import { failureOf } from '../fixtures/errors.ts'

describe('the watchdog', () => {
  const begin = () => {
    const lines: Array<{ level: string; loop: string }> = []
    const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
    const time = createTestClock()
    const controller = new AbortController()
    let looks = 0
    const clock = {
      ...time,
      sleep: async () => {
        looks += 1
        if (looks % 2 === 0) controller.abort()
      },
    }
    const watchdog = createWatchdog({ clock, logger: createLogger({ level: 'info', destination }) })
    /** Two looks, as time goes on between them or not. */
    const look = () => watchdog.run(AbortSignal.any([controller.signal]))
    return { watchdog, time, lines, look }
  }

  it('is content with a loop that gets on within its limit', async () => {
    const { watchdog, time } = begin()
    const getOn = watchdog.watch('sender', 1000)
    const [sender] = watchdog.checks()
    for (let pass = 0; pass < 3; pass++) {
      time.advance(900)
      await sender?.check()
      getOn()
    }
  })

  it('fails the check of the loop that stands still, and of no other', async () => {
    const { watchdog, time } = begin()
    const getOn = watchdog.watch('sender', 1000)
    watchdog.watch('reconciler', 5000)
    time.advance(1001)
    const [sender, reconciler] = watchdog.checks()
    const error = await failureOf(async () => sender?.check())
    expect(error.code).to.equal('stands_still')
    expect(error.message).to.include('sender')
    await reconciler?.check()
    getOn()
    await sender?.check()
  })

  it('logs an alert once, however long it lasts', async () => {
    const { watchdog, time, lines, look } = begin()
    watchdog.watch('sender', 1000)
    time.advance(1001)
    await look()
    expect(lines.map(({ level, loop }) => [level, loop])).to.deep.equal([['error', 'sender']])
  })
})
