import { expect } from 'chai'

import { createGate } from '../../src/base/gate.ts'

describe('createGate', () => {
  it('lets so many through at once, queues some, and refuses the rest', async () => {
    const gate = createGate({ width: 2, maxWaiting: 3 })
    let inside = 0
    let most = 0
    const results = await Promise.all(
      Array.from({ length: 7 }, (_, index) =>
        gate.run(async () => {
          inside += 1
          most = Math.max(most, inside)
          await new Promise((done) => setTimeout(done, 5))
          inside -= 1
          return index
        }),
      ),
    )
    expect(most).to.equal(2)
    const values = results.map((result) => result?.value)
    expect(values).to.deep.equal([0, 1, 2, 3, 4, undefined, undefined])
  })

  it('opens again after a work that failed', async () => {
    const gate = createGate({ width: 1, maxWaiting: 0 })
    const failed = await gate.run(() => Promise.reject(new Error('no'))).catch(() => 'failed')
    expect(failed).to.equal('failed')
    expect(await gate.run(async () => 1)).to.deep.equal({ value: 1 })
  })
})
