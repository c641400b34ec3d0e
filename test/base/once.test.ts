import { expect } from 'chai'

import { once } from '../../src/base/cache.ts'

describe('once', () => {
  it('loads for all who ask, and again for whoever asks after a failure', async () => {
    let loads = 0
    const load = once(async () => {
      loads += 1
      if (loads === 1) throw new Error('no memory')
      return loads
    })
    const first = await Promise.allSettled([load(), load()])
    expect(first.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected'])
    expect(await Promise.all([load(), load()])).to.deep.equal([2, 2])
    expect(await load()).to.equal(2)
  })
})
