import { once } from 'node:events'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'

import { createTogether } from '../../../src/api/admission/together.ts'
import { codeOf, type Result } from '../../../src/base/errors.ts'

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
      return numbers.map((number): Result<number> =>
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

  it('goes with a later list where it is refused for what passes, and not for ever', async () => {
    const goes: string[][] = []
    let isFree = false
    const pay = createTogether<string, string>(
      async (take) => {
        await turn()
        const names = take()
        goes.push([...names])
        await turn()
        return names.map((name): Result<string> => {
          const isRefused = name === 'never' || (name === 'late' && !isFree)
          return isRefused ? { ok: false, error: new Error(name) } : { ok: true, value: name }
        })
      },
      {
        passes: (error) => {
          isFree = goes.length > 1
          return error instanceof Error
        },
      },
    )
    const told = ['late', 'good', 'never'].map((name) =>
      pay(name).catch((error: unknown) => `no ${(error as Error).message}`),
    )
    expect(await Promise.all(told)).to.deep.equal(['late', 'good', 'no never'])
    expect(goes.map((list) => list.includes('good'))).to.deep.equal([true, false, false, false])
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

  /** Never ends what has a 0 in it; tells how often it began, and what it was given. */
  const stalling = (options: { limitMs: number; patienceMs?: number } = { limitMs: 200 }) => {
    const goes: Array<{ numbers: number[]; isRepeat: boolean }> = []
    const ends: unknown[] = []
    const work = createTogether<number, number>(async (take, { signal, isRepeat }) => {
      await turn()
      const numbers = [...take()]
      goes.push({ numbers, isRepeat })
      if (numbers.includes(0)) {
        await once(signal, 'abort')
        ends.push(codeOf(signal.reason))
      }
      if (numbers.includes(-2)) throw new Error('broken')
      if (numbers.includes(-3)) throw Object.assign(new Error('down'), { code: '57P03' })
      return numbers.map((value) => ({ ok: true, value }))
    }, options)
    return { goes, ends, work }
  }
  const codes = (asked: Promise<number>[]) =>
    Promise.all(asked.map((one) => one.catch((error: unknown) => codeOf(error) ?? 'failed')))

  it('has one limit, at which all of them are told, and the next ones go on', async () => {
    const { goes, ends, work } = stalling()
    expect(await codes([work(0), work(1), work(2)])).to.deep.equal(Array(3).fill('unavailable'))
    expect(ends).to.deep.equal(['unavailable'])
    expect(goes).to.deep.equal([{ numbers: [0, 1, 2], isRepeat: false }])
    expect(await work(3)).to.equal(3)
  })

  it('shares its limit with what is done again one by one', async () => {
    const { goes, work } = stalling()
    const asked = [1, -2, 2].map((number) => work(number))
    await turn()
    expect(await codes(asked)).to.deep.equal([1, 'failed', 2])
    expect(goes.slice(1)).to.deep.equal(
      [1, -2, 2].map((number) => ({ numbers: [number], isRepeat: true })),
    )
  })

  it('waits for the list that works, and not for one that waits itself', async () => {
    const { goes, work } = stalling({ limitMs: 1000, patienceMs: 50 })
    const stuck = codes([work(0)])
    await turn()
    await turn()
    const startedAt = performance.now()
    expect(await work(1)).to.equal(1)
    // The first list was given time to end, and has not ended yet.
    expect(performance.now() - startedAt).to.be.within(40, 900)
    expect(goes.map(({ numbers }) => numbers)).to.deep.equal([[0], [1]])
    expect(await work(2)).to.equal(2)
    expect(await stuck).to.deep.equal(['unavailable'])
  })

  it('is one list at a time while none waits', async () => {
    let atWork = 0
    let most = 0
    const work = createTogether<number, number>(
      async (take) => {
        most = Math.max(most, ++atWork)
        await sleep(10)
        const numbers = take()
        await sleep(10)
        atWork -= 1
        return numbers.map((value) => ({ ok: true, value }))
      },
      { patienceMs: 10_000 },
    )
    const asked: Promise<number>[] = []
    for (let number = 0; number < 20; number++) {
      asked.push(work(number))
      await sleep(5)
    }
    expect(await Promise.all(asked)).to.have.length(20)
    expect(most).to.equal(1)
  })

  it('is not done again where the database is away', async () => {
    const { goes, work } = stalling()
    expect(await codes([work(1), work(-3), work(2)])).to.deep.equal(Array(3).fill('57P03'))
    expect(goes).to.have.length(1)
  })

  it('leaves out who was answered before', async () => {
    const { goes, work } = stalling()
    const gone = new AbortController()
    const asked = [work(1), work(2, gone.signal)]
    gone.abort(Object.assign(new Error('too late'), { code: 'late' }))
    expect(await codes(asked)).to.deep.equal([1, 'late'])
    expect(goes.map(({ numbers }) => numbers)).to.deep.equal([[1]])
  })
})
