import { expect } from 'chai'

import { createLane, type LaneOptions } from '../../../src/api/door/lane.ts'

describe('a lane', () => {
  let nowMs: number
  let lateMs: number

  beforeEach(() => {
    nowMs = 0
    lateMs = 0
  })

  /** A lane whose requests are at work until the test ends the oldest of them. */
  const open = (options: Partial<LaneOptions> = {}) => {
    const lane = createLane({
      width: 4,
      maxWaiting: 1000,
      maxWaitMs: 1000,
      now: () => nowMs,
      delayMs: () => lateMs,
      ...options,
    })
    const working: Array<{ name: string; leave: () => void }> = []
    const entered: string[] = []
    const refused: Array<{ name: string; waitMs: number }> = []
    const come = async (name: string, count = 1): Promise<void> => {
      for (let come = 0; come < count; come++) {
        void lane.enter(name).then((entry) => {
          if (!entry.isIn) return refused.push({ name, waitMs: entry.waitMs })
          entered.push(name)
          return working.push({ name, leave: entry.leave })
        })
      }
      await turn()
    }
    const finish = async (options: { count?: number; tookMs?: number } = {}): Promise<void> => {
      for (let done = 0; done < (options.count ?? 1); done++) {
        nowMs += options.tookMs ?? 10
        working.shift()?.leave()
        await turn()
      }
    }
    return { lane, come, finish, entered, refused }
  }

  /** The promises of this turn of the event loop, and what is due at its end. */
  const turn = () => new Promise((done) => setImmediate(() => setImmediate(done)))

  it('keeps half of its places from one caller, whatever it sends', async () => {
    const { come, entered, lane } = open()
    await come('flood', 20)
    await come('calm', 2)
    expect(entered).to.deep.equal(['flood', 'flood', 'calm', 'calm'])
    expect(lane.counts()).to.deep.equal({ inside: 4, waiting: 18 })
  })

  it('lets callers take turns, so that a flood waits behind itself', async () => {
    const { come, finish, entered } = open({ width: 2 })
    await come('flood', 20)
    await come('calm', 3)
    await come('other', 2)
    await finish({ count: 10 })
    const rest = entered.slice(2)
    expect(rest.slice(0, 6).filter((name) => name === 'flood')).to.have.length(2)
    expect(rest.slice(0, 8).filter((name) => name !== 'flood')).to.have.length(4)
  })

  it('refuses at once where the wait would be too long, and says how long', async () => {
    const { come, finish, refused, lane } = open({ width: 2 })
    await come('slow', 1)
    for (let done = 0; done < 200; done++) {
      await finish({ tookMs: 400 })
      await come('slow', 1)
    }
    await come('slow', 10)
    expect(refused.length).to.be.within(7, 9)
    expect(refused[0]?.waitMs).to.be.within(1000, 2000)
    expect(lane.counts().waiting).to.be.within(1, 3)
    // A caller that has nothing waiting still gets its place.
    await come('calm', 1)
    expect(refused.some(({ name }) => name === 'calm')).to.equal(false)
  })

  it('refuses nobody while there is room, however slow it was before', async () => {
    const { come, finish, refused, entered } = open()
    await come('slow', 1)
    await finish({ tookMs: 1_000_000 })
    lateMs = 10_000
    await come('calm', 2)
    expect(entered).to.have.length(3)
    expect(refused).to.deep.equal([])
  })

  it('lets more in while they are quick, and fewer while each takes longer', async () => {
    const { come, finish, lane } = open({ width: 16, aimMs: 100 })
    const inside = async (): Promise<number> => {
      await come('one', 20)
      await come('other', 20)
      return lane.counts().inside
    }
    expect(await inside(), 'it begins with few').to.equal(2)
    await finish({ count: 60, tookMs: 1 })
    expect(await inside(), 'it has found all').to.equal(16)
    for (let round = 0; round < 60; round++) {
      await come('one', 1)
      await finish({ tookMs: 200 })
    }
    expect(await inside(), 'they take too long').to.be.below(6)
    await finish({ count: 40, tookMs: 1 })
    for (let round = 0; round < 40; round++) {
      await inside()
      await finish({ count: 10, tookMs: 1 })
    }
    expect(await inside(), 'they are quick again').to.equal(16)
  })

  it('finds room for one caller alone, who may have half of it', async () => {
    const { come, finish, lane } = open({ width: 16, aimMs: 100 })
    for (let round = 0; round < 40; round++) {
      await come('alone', 20)
      await finish({ count: 20, tookMs: 1 })
    }
    await come('alone', 20)
    expect(lane.counts().inside).to.equal(8)
  })

  it('counts what a late event loop has cost already', async () => {
    const { come, refused } = open({ width: 2 })
    lateMs = 1_001
    await come('calm', 2)
    expect(refused).to.have.length(1)
  })

  it('keeps a place in the queue for a newcomer when others have filled it', async () => {
    const { come, refused, lane } = open({ maxWaiting: 16, maxWaitMs: 1e9 })
    await come('flood', 100)
    await come('second', 100)
    const before = refused.length
    await come('calm', 1)
    expect(refused).to.have.length(before)
    expect(lane.counts().waiting).to.be.below(17)
  })

  it('refuses whoever has waited for far longer than it should', async () => {
    const { come, refused, lane } = open({ width: 2 })
    await come('stuck', 4)
    nowMs += 2_900
    await new Promise((done) => setTimeout(done, 150))
    expect(refused).to.deep.equal([])
    nowMs += 101
    await new Promise((done) => setTimeout(done, 150))
    expect(refused).to.have.length(3)
    expect(lane.counts()).to.deep.equal({ inside: 1, waiting: 0 })
  })

  it('refuses whoever will wait too long as soon as it is known, and no others', async () => {
    const { come, finish, refused, lane } = open({ width: 2 })
    await come('quick', 2)
    for (let done = 0; done < 50; done++) {
      await finish({ tookMs: 5 })
      await come('quick', 1)
    }
    await come('quick', 100)
    await come('calm', 1)
    expect(refused).to.deep.equal([])
    await finish({ tookMs: 2_000 })
    await new Promise((done) => setTimeout(done, 150))
    expect(refused.length).to.be.above(80)
    expect(refused.map(({ name }) => name)).not.to.include('calm')
    expect(lane.counts().waiting).to.equal(100 - refused.length)
  })

  it('gives a place away once, at the end of the turn of the event loop', async () => {
    const { lane } = open({ width: 1 })
    const first = await lane.enter('quick')
    const order: string[] = []
    const second = lane.enter('quick').then((entry) => order.push(`second ${entry.isIn}`))
    setImmediate(() => order.push('the turn ends'))
    if (!first.isIn) throw new TypeError('the first must be in')
    first.leave()
    first.leave()
    await second
    expect(order).to.deep.equal(['the turn ends', 'second true'])
    expect(lane.counts()).to.deep.equal({ inside: 1, waiting: 0 })
  })

  it('does not keep the program that runs these tests from its end', async () => {
    const { come, lane } = open({ width: 1 })
    const timers = () =>
      process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    // The timer of this test begins when it waits first.
    await turn()
    const before = timers()
    await come('flood', 2)
    expect(lane.counts().waiting).to.equal(1)
    expect(timers()).to.be.at.most(before)
  })
})
