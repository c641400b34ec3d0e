import { setImmediate as turn } from 'node:timers/promises'

import { expect } from 'chai'

import { createTogether, type Outcome } from '../../src/api/together.ts'

describe('what is done together', () => {
  /** Doubles numbers; -1 is refused by itself, and -2 breaks whatever it is part of. */
  const doubling = () => {
    const goes: number[][] = []
    const double = createTogether<number, number>(async (take) => {
      await turn()
      const numbers = take()
      goes.push([...numbers])
      await turn()
      if (numbers.includes(-2)) throw new Error('broken')
      return numbers.map((number): Outcome<number> =>
        number === -1
          ? { ok: false, error: new Error('refused') }
          : { ok: true, value: number * 2 },
      )
    })
    return { goes, double }
  }
  const all = (double: (number: number) => Promise<number>, numbers: number[]) =>
    Promise.all(
      numbers.map((number) => double(number).catch((error: unknown) => (error as Error).message)),
    )

  it('is what comes at one time, and each is told its own', async () => {
    const { goes, double } = doubling()
    expect(await all(double, [1, 2, 3])).to.deep.equal([2, 4, 6])
    expect(goes).to.deep.equal([[1, 2, 3]])
    expect(await all(double, [4])).to.deep.equal([8])
    expect(goes).to.have.length(2)
  })

  it('goes on without what is refused', async () => {
    const { goes, double } = doubling()
    expect(await all(double, [1, -1, 3])).to.deep.equal([2, 'refused', 6])
    expect(goes).to.have.length(1)
  })

  it('is done one by one where one breaks all, and only that one fails', async () => {
    const { goes, double } = doubling()
    expect(await all(double, [1, -2, 3])).to.deep.equal([2, 'broken', 6])
    expect(goes).to.deep.equal([[1, -2, 3], [1], [-2], [3]])
  })

  it('is many at a time, but not without end', async () => {
    const { goes, double } = doubling()
    const numbers = Array.from({ length: 200 }, (_, number) => number)
    expect(await all(double, numbers)).to.deep.equal(numbers.map((number) => number * 2))
    expect(Math.max(...goes.map((go) => go.length))).to.equal(64)
  })

  it('fails for one, and goes on, where it fails before anybody was taken', async () => {
    let isDown = true
    const double = createTogether<number, number>(async (take) => {
      await turn()
      if (isDown) throw new Error('down')
      return take().map((number) => ({ ok: true, value: number * 2 }))
    })
    expect(await all(double, [1])).to.deep.equal(['down'])
    expect(await all(double, [1, 2, 3])).to.deep.equal(['down', 'down', 'down'])
    isDown = false
    expect(await all(double, [1, 2])).to.deep.equal([2, 4])
  })
})
