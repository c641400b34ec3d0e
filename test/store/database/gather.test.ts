import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'

import { gathering } from '../../../src/store/database/gather.ts'

describe('what is loaded for several callers', () => {
  const loading = () => {
    const loads: string[][] = []
    let atWork = 0
    const get = gathering(async (keys: readonly string[]) => {
      loads.push([...keys])
      expect(++atWork).to.equal(1)
      await sleep(20)
      atWork -= 1
      if (keys.includes('bad')) throw new Error('bad')
      return new Map(keys.filter((key) => key !== 'none').map((key) => [key, `${key}!`]))
    })
    return { loads, get }
  }

  it('is loaded once for those who ask at one time, and each is told its own', async () => {
    const { loads, get } = loading()
    const told = await Promise.all(['a', 'b', 'a', 'none'].map((key) => get(key)))
    expect(told).to.deep.equal(['a!', 'b!', 'a!', undefined])
    expect(loads).to.deep.equal([['a', 'b', 'none']])
  })

  it('is loaded anew for who asks while it is loaded', async () => {
    const { loads, get } = loading()
    const first = get('a')
    while (loads.length === 0) await turn()
    expect(await Promise.all([first, get('a'), get('b')])).to.deep.equal(['a!', 'a!', 'b!'])
    expect(loads).to.deep.equal([['a'], ['a', 'b']])
  })

  it('fails for those who asked, and for nobody after them', async () => {
    const { get } = loading()
    const asked = [get('a'), get('bad')].map((one) => one.catch((error: Error) => error.message))
    expect(await Promise.all(asked)).to.deep.equal(['bad', 'bad'])
    expect(await get('a')).to.equal('a!')
  })
})
