import { expect } from 'chai'

import { systemClock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { createBlockFeed } from '../../src/chain/block-feed.ts'
import { toQuantity } from '../../src/chain/answers.ts'
import { createProviders } from '../../src/chain/rpc/providers.ts'
import { startNode } from '../fixtures/chain/scripted-node.ts'
import { until } from '../fixtures/until.ts'

type Block = { fork: number; transactions?: string[]; isHidden?: boolean }

const hashOf = (number: number, { fork }: Block) =>
  `0x${`${fork}${number}`.padStart(64, '0')}` as const
const PAID = [`0x${'ab'.repeat(32)}`]

describe('the feed of final blocks', () => {
  let blocks: Block[]
  let asked: unknown[]
  let rings: number
  let looks: number
  let isDown: boolean
  let node: Awaited<ReturnType<typeof startNode>>
  let lagging: typeof node
  let lag: number
  let feed: ReturnType<typeof createBlockFeed>
  const stopped = new AbortController()
  let running: Promise<void>

  before(async () => {
    blocks = [{ fork: 0 }]
    ;[rings, looks] = [0, 0]
    isDown = false
    lag = 0
    asked = []
    node = await startNode(31_337, ({ params }) => {
      asked.push(params?.[0])
      return isDown ? { number: 'unreadable' } : answerOf(params?.[0], 0)
    })
    lagging = await startNode(31_337, ({ params }) => answerOf(params?.[0], lag))
    feed = createFeed(1)
    feed.bell.listen(() => void (rings += 1))
    running = feed.loop.run(stopped.signal)
    await looked()
  })

  after(async () => {
    stopped.abort()
    await running
    await Promise.all([node.stop(), lagging.stop()])
  })

  /** By a node that is so many blocks behind. */
  const answerOf = (which: unknown, lag: number) => {
    const number = which === 'latest' ? blocks.length - 1 - lag : Number(which)
    const block = blocks[number]
    if (block === undefined) return null
    if (block.isHidden === true && which !== 'latest') return null
    return {
      number: toQuantity(BigInt(number)),
      hash: hashOf(number, block),
      parentHash: number === 0 ? hashOf(0, block) : hashOf(number - 1, blocks[number - 1]!),
      timestamp: '0x1',
      transactions: block.transactions ?? [],
    }
  }

  const createFeed = (finality: number, urls = [node.url]) =>
    createBlockFeed({
      providers: createProviders({
        chainId: 31_337,
        clock: systemClock,
        random: () => 0,
        urls,
      }),
      finality,
      clock: systemClock,
      logger: createLogger({ level: 'fatal', destination: { write: () => undefined } }),
      intervalMs: 10,
      onProgress: () => void (looks += 1),
    })

  /** A look that began after this was called has ended. */
  const looked = async () => {
    const from = looks
    await until(async () => looks >= from + 2)
  }

  const ringsAfter = async (change: () => void): Promise<number> => {
    const before = rings
    change()
    await looked()
    return rings - before
  }

  it('rings for the first block that it sees', () => {
    expect(rings).to.equal(1)
  })

  it('is silent while nothing happens, however many blocks come', async () => {
    expect(await ringsAfter(() => undefined)).to.equal(0)
    expect(await ringsAfter(() => void blocks.push({ fork: 0 }))).to.equal(0)
    const five = Array.from({ length: 5 }, () => ({ fork: 0 }))
    expect(await ringsAfter(() => void blocks.push(...five))).to.equal(0)
    expect(feed.bell.isHeard()).to.equal(true)
  })

  it('rings for a block with a transaction, also where another one hides it', async () => {
    const paid = { fork: 0, transactions: PAID }
    expect(await ringsAfter(() => void blocks.push(paid))).to.equal(1)
    expect(await ringsAfter(() => void blocks.push(paid, { fork: 0 }))).to.equal(1)
  })

  it('rings where a block follows none that it has seen', async () => {
    const replace = () => {
      blocks[blocks.length - 1] = { fork: 1 }
      blocks.push({ fork: 1 })
    }
    expect(await ringsAfter(replace)).to.equal(1)
  })

  it('rings where it missed more blocks than it looks at one by one', async () => {
    const many = Array.from({ length: 40 }, () => ({ fork: 1 }))
    expect(await ringsAfter(() => void blocks.push(...many))).to.equal(1)
    expect(await ringsAfter(() => void blocks.push({ fork: 1 }))).to.equal(0)
  })

  it('rings while the node does not show a block, and when it does', async () => {
    const hidden: Block = { fork: 1, isHidden: true }
    // It was never the head.
    expect(await ringsAfter(() => void blocks.push(hidden, { fork: 1 }))).to.be.at.least(1)
    await ringsAfter(() => void (hidden.isHidden = false))
    expect(await ringsAfter(() => void blocks.push({ fork: 1 }))).to.equal(0)
  })

  it('asks for no block by its number that was the head', async () => {
    await looked()
    asked.length = 0
    await ringsAfter(() => void blocks.push({ fork: 1 }))
    await ringsAfter(() => void blocks.push({ fork: 1 }))
    expect(new Set(asked)).to.deep.equal(new Set(['latest']))
  })

  it('is heard only while the node answers, and rings when it does again', async () => {
    isDown = true
    await looked()
    expect(feed.bell.isHeard()).to.equal(false)
    const before = rings
    isDown = false
    await until(async () => feed.bell.isHeard())
    expect(rings - before).to.equal(1)
  })

  /** How often a feed rings for the change, which goes three blocks below the head. */
  const ringsDeep = async (urls: string[], change: () => void): Promise<number> => {
    stopped.abort()
    await running
    const [ended, deep] = [new AbortController(), createFeed(3, urls)]
    let heard = 0
    deep.bell.listen(() => void (heard += 1))
    const following = deep.loop.run(ended.signal)
    await looked()
    blocks.push({ fork: 1 })
    await looked()
    heard = 0
    change()
    await looked()
    ended.abort()
    await following
    return heard
  }
  const paid = { fork: 2, transactions: PAID }

  it('believes no head that a reorg took before it was final', async () => {
    const replace = () => void blocks.splice(-1, 1, paid, { fork: 2 }, { fork: 2 })
    expect(await ringsDeep([node.url], replace)).to.equal(1)
  })

  it('believes none that it saw before the providers differed', async () => {
    const replace = () => {
      lag = 1
      blocks.splice(-1, 1, paid, { fork: 2 }, { fork: 2 }, { fork: 2 })
    }
    expect(await ringsDeep([node.url, lagging.url], replace)).to.equal(1)
  })
})
