import { expect } from 'chai'

import { createShutdown } from '../../src/base/shutdown.ts'

describe('createShutdown', () => {
  it('stops in the reverse order, once', async () => {
    const order: string[] = []
    const shutdown = createShutdown()
    shutdown.add('first', () => void order.push('first'))
    shutdown.add('second', async () => void order.push('second'))
    const [failures, again] = await Promise.all([shutdown.stop(), shutdown.stop()])
    expect(order).to.deep.equal(['second', 'first'])
    expect(failures).to.deep.equal([])
    expect(again).to.equal(failures)
  })

  it('aborts its signal before the first step', async () => {
    const shutdown = createShutdown()
    let aborted: boolean | undefined
    shutdown.add('step', () => void (aborted = shutdown.signal.aborted))
    await shutdown.stop()
    expect(aborted).to.equal(true)
  })

  it('brings to its end what others wait for, before it aborts anything', async () => {
    const shutdown = createShutdown()
    const seen: boolean[] = []
    shutdown.finish('requests', async () => {
      seen.push(shutdown.begun.aborted, shutdown.signal.aborted)
      await new Promise((later) => setTimeout(later, 20))
      seen.push(shutdown.signal.aborted)
    })
    shutdown.add('loops', () => void seen.push(shutdown.signal.aborted))
    await shutdown.stop()
    expect(seen).to.deep.equal([true, false, false, true])
  })

  it('goes on after a step that fails or hangs, and tells both', async () => {
    const order: string[] = []
    const shutdown = createShutdown({ stepLimitMs: 20 })
    shutdown.add('last', () => void order.push('last'))
    shutdown.add('hangs', () => new Promise(() => undefined))
    shutdown.add('fails', () => Promise.reject(new Error('no')))
    const failures = await shutdown.stop()
    expect(order).to.deep.equal(['last'])
    expect(failures.map((failure) => failure.code)).to.deep.equal(['stop_failed', 'stop_failed'])
  })

  it('refuses a part that starts while the program stops', async () => {
    const shutdown = createShutdown()
    await shutdown.stop()
    expect(() => shutdown.add('late', () => undefined))
      .to.throw()
      .with.property('code', 'stopping')
  })
})
