import { setTimeout } from 'node:timers/promises'

import { expect } from 'chai'

import { forEachAtOnce, groupsOf } from '../../src/base/groups.ts'

describe('groups of a list', () => {
  it('have the size that is asked for, and the last one what is left', () => {
    expect(groupsOf([1, 2, 3, 4, 5], 2)).to.deep.equal([[1, 2], [3, 4], [5]])
    expect(groupsOf([], 2)).to.deep.equal([])
  })
})

describe('work on each item of a list', () => {
  it('is done once for each, in their order, for so many at a time', async () => {
    const begun: number[] = []
    let [inside, most] = [0, 0]
    await forEachAtOnce([1, 2, 3, 4, 5], 2, async (item) => {
      begun.push(item)
      inside += 1
      most = Math.max(most, inside)
      await setTimeout(1)
      inside -= 1
    })
    expect(begun).to.deep.equal([1, 2, 3, 4, 5])
    expect(most).to.equal(2)
  })

  it('fails as the work failed', async () => {
    const failing = forEachAtOnce([1, 2], 2, (item) => Promise.reject(new Error(`${item} broke`)))
    const messages = await failing.then(
      () => [],
      (error: Error) => [error.message],
    )
    expect(messages).to.deep.equal(['1 broke'])
  })
  it('is begun for none after it has failed for one', async () => {
    const begun: number[] = []
    const working = forEachAtOnce([1, 2, 3, 4, 5], 2, async (item) => {
      begun.push(item)
      await setTimeout(1)
      if (item === 2) throw new Error('broken')
    })
    expect(await working.catch(({ message }: Error) => message)).to.equal('broken')
    await setTimeout(10)
    expect(begun).to.deep.equal([1, 2, 3])
  })
})
