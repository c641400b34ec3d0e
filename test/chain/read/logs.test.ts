import { expect } from 'chai'

import { createLogReader, createPartReader, type LogQuery } from '../../../src/chain/read/logs.ts'
import type { Provider } from '../../../src/chain/rpc/provider.ts'
import { refusalOf } from '../../../src/chain/rpc/rpc-error.ts'
import { expectFailure } from '../../fixtures/errors.ts'

const HASH = `0x${'ab'.repeat(32)}`
const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const query: Omit<LogQuery, 'fromBlock' | 'toBlock'> = {
  address: ADDRESS,
  topics: [],
  signal: new AbortController().signal,
}

describe('reading logs', () => {
  /** A node with a log in every 100th block, which takes only so many blocks at once. */
  const nodeOf = (maxSpan: bigint) => {
    const asked: [bigint, bigint, boolean][] = []
    const provider: Provider = {
      name: 'node',
      request: ({ params }) => {
        const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }]
        const [from, to] = [BigInt(fromBlock), BigInt(toBlock)]
        asked.push([from, to, to - from < maxSpan])
        const message = 'query exceeds max block range'
        const call = { provider: 'node', method: 'eth_getLogs' }
        if (to - from >= maxSpan) return Promise.reject(refusalOf(call, { code: -32_602, message }))
        const numbers = Array.from({ length: Number(to - from) + 1 }, (_, at) => from + BigInt(at))
        return Promise.resolve(numbers.filter((number) => number % 100n === 0n).map(logAt))
      },
    }
    return { provider, asked }
  }
  const logAt = (number: bigint) => ({
    address: ADDRESS.toLowerCase(),
    topics: [HASH],
    data: '0x',
    logIndex: '0x0',
    transactionHash: HASH,
    blockHash: HASH,
    blockNumber: `0x${number.toString(16)}`,
  })
  const collect = async (
    read: ReturnType<typeof createLogReader>,
    range: { fromBlock: bigint; toBlock: bigint },
  ) => {
    const found: bigint[] = []
    for await (const part of read({ ...query, ...range })) {
      found.push(...part.value.map(({ blockNumber }) => blockNumber))
    }
    return found
  }

  it('finds each log once, in parts that the node takes', async () => {
    const { provider, asked } = nodeOf(300n)
    const found = await collect(createLogReader(provider), { fromBlock: 5n, toBlock: 5000n })
    expect(found).to.deep.equal(Array.from({ length: 50 }, (_, at) => BigInt(at + 1) * 100n))
    const taken = asked.filter(([, , isTaken]) => isTaken)
    expect([taken[0]?.[0], taken.at(-1)?.[1]]).to.deep.equal([5n, 5000n])
    for (const [index, [from]] of taken.slice(1).entries()) {
      expect(from).to.equal((taken[index]?.[1] ?? 0n) + 1n)
    }
  })

  it('remembers for the next time how much the node takes', async () => {
    const { provider, asked } = nodeOf(300n)
    const read = createLogReader(provider)
    await collect(read, { fromBlock: 1n, toBlock: 300n })
    const before = asked.length
    await collect(read, { fromBlock: 1n, toBlock: 200n })
    expect(asked.length - before).to.be.below(3)
  })

  it('asks for fewer blocks where many logs are in them, and for more where few are', async () => {
    const spans: bigint[] = []
    const provider: Provider = {
      name: 'node',
      request: ({ params }) => {
        const [{ fromBlock, toBlock }] = params as [{ fromBlock: string; toBlock: string }]
        const [from, to] = [BigInt(fromBlock), BigInt(toBlock)]
        spans.push(to - from + 1n)
        // Up to the 300th block there are 100 logs in each, and none behind.
        const dense = Number(from > 300n ? 0n : (to < 300n ? to : 300n) - from + 1n)
        return Promise.resolve(Array.from({ length: dense * 100 }, () => logAt(from)))
      },
    }
    await collect(createLogReader(provider), { fromBlock: 1n, toBlock: 20_000n })
    expect(spans.slice(0, 5)).to.deep.equal([16n, 32n, 32n, 32n, 32n])
    expect(Math.max(...spans.map(Number))).to.be.above(2000)
  })

  it('has the node work on the next part while a part is read', async () => {
    const { provider, asked } = nodeOf(300n)
    const read = createPartReader(provider, () => ({ askedBefore: asked.length }))
    const parts: { askedBefore: number; toBlock: bigint }[] = []
    for await (const part of read({ ...query, fromBlock: 1n, toBlock: 48n })) parts.push(part)
    expect(parts).to.deep.equal([
      { askedBefore: 2, toBlock: 16n },
      { askedBefore: 2, toBlock: 48n },
    ])
  })

  it('shows what was read before the node failed', async () => {
    const { provider } = nodeOf(300n)
    let calls = 0
    const failing: Provider = {
      name: 'node',
      request: (call) => {
        calls += 1
        return calls === 1 ? provider.request(call) : Promise.reject(new Error('it is gone'))
      },
    }
    const read: bigint[] = []
    let failure: unknown
    try {
      for await (const part of createLogReader(failing)({
        ...query,
        fromBlock: 1n,
        toBlock: 384n,
      })) {
        read.push(part.toBlock)
      }
    } catch (error) {
      failure = error
    }
    expect(read).to.deep.equal([16n])
    expect(failure).to.have.property('message', 'it is gone')
  })

  it('asks nothing of an empty range', async () => {
    const { provider, asked } = nodeOf(300n)
    const found = await collect(createLogReader(provider), { fromBlock: 2n, toBlock: 1n })
    expect([found, asked]).to.deep.equal([[], []])
  })

  it('gives up where a single block is too much', async () => {
    const { provider, asked } = nodeOf(0n)
    const read = createLogReader(provider)
    const all = () => collect(read, { fromBlock: 1n, toBlock: 5000n })
    await expectFailure(all, 'rpc_range_too_large')
    expect(asked.length).to.be.below(15)
  })

  it('refuses logs that cannot be read', async () => {
    for (const answer of [null, {}, [{}], [{ ...logAt(1n), data: '0x1' }]]) {
      const read = createLogReader({ name: 'node', request: () => Promise.resolve(answer) })
      await expectFailure(
        () => collect(read, { fromBlock: 1n, toBlock: 1n }),
        'chain_answer_unreadable',
      )
    }
  })
})
