import { expect } from 'chai'
import { parseGwei, type Hash } from 'viem'

import { systemClock } from '../../src/base/clock.ts'
import { advance, type AdvanceOptions } from '../../src/chain/advance.ts'
import type { BlockRef, Receipt, Seen } from '../../src/chain/facts.ts'
import { createProviders } from '../../src/chain/providers.ts'
import { RpcError } from '../../src/chain/rpc-error.ts'
import { createFinal, createReader, type Finality, type Reader } from '../../src/chain/reader.ts'
import { startChain, type TestChain } from '../support/anvil.ts'
import { account } from '../support/deployment.ts'
import { expectFailure } from '../support/errors.ts'
import type { FaultPlan } from '../support/faults.ts'
import { startFaultyProxy, type FaultyProxy } from '../support/faulty-proxy.ts'
import { startNode } from '../support/scripted-node.ts'
import { createKeyedDraw } from '../support/random.ts'

const never = new AbortController().signal
const UNKNOWN: Hash = `0x${'ab'.repeat(32)}`

describe('reading a chain', () => {
  let chain: TestChain
  let honest: FaultyProxy
  let other: FaultyProxy

  beforeEach(async () => {
    chain = await startChain()
    const target = chain.url
    honest = await startFaultyProxy({ target, random: createKeyedDraw(1) })
    other = await startFaultyProxy({ target, random: createKeyedDraw(2) })
  })
  afterEach(async () => {
    await Promise.all([honest.stop(), other.stop()])
    await chain.stop()
  })

  const over = (proxies: readonly FaultyProxy[], finality: Finality = 3): Reader => {
    const providers = createProviders({
      urls: proxies.map(({ url }) => url),
      chainId: 31_337,
      clock: systemClock,
      random: () => 0,
      retry: { rounds: 1, firstPauseMs: 0, maxPauseMs: 0 },
    })
    return createReader({ providers, finality })
  }
  const pay = (value = 1n) =>
    chain.client.sendTransaction({
      account: account(0),
      chain: null,
      to: account(1).address,
      value,
      gas: 21_000n,
      maxFeePerGas: parseGwei('10'),
      maxPriorityFeePerGas: 1n,
    })
  const receiptFrom = async (proxy: FaultyProxy, hash: Hash): Promise<Seen<Receipt>> => {
    const receipt = (await over([proxy]).receipts([hash], never)).get(hash)
    if (receipt === undefined) throw new Error('the test has no receipt')
    return receipt
  }

  it('gives the head and what is final, by confirmations', async () => {
    const reader = over([honest])
    expect(await reader.final(never)).to.equal(undefined)
    await chain.client.mine({ blocks: 5 })
    const head = await reader.head(never)
    expect([head.value.number, head.provider]).to.deep.equal([5n, honest.name])
    expect(await reader.final(never)).to.deep.equal({ value: 3n, provider: honest.name })
    expect((await over([honest], 1).final(never))?.value).to.equal(5n)
  })

  it('gives what the chain itself calls final', async () => {
    await chain.client.mine({ blocks: 100 })
    const { number } = await chain.client.getBlock({ blockTag: 'finalized' })
    expect((await over([honest], 'finalized').final(never))?.value).to.equal(number)
    expect(Number(number)).to.be.within(1, 99)
  })

  it('gives receipts, and leaves out what is unknown', async () => {
    const hash = await pay()
    const receipts = await over([honest]).receipts([UNKNOWN, hash], never)
    expect([...receipts.keys()]).to.deep.equal([hash])
    const { effectiveGasPrice, blockHash } = await chain.client.getTransactionReceipt({ hash })
    expect(receipts.get(hash)).to.deep.equal({
      provider: honest.name,
      value: {
        transactionHash: hash,
        transactionIndex: 0,
        blockHash,
        blockNumber: 1n,
        from: account(0).address,
        to: account(1).address,
        status: 'success',
        gasUsed: 21_000n,
        effectiveGasPrice,
        logs: [],
      },
    })
  })

  it('takes no receipt of another transaction', async () => {
    const hash = await pay()
    honest.setPlan({ wrong_receipt: 1 })
    expect((await over([honest]).receipts([hash], never)).size).to.equal(0)
  })

  it('gives a block’s receipts in one call, or one by one where that is missing', async () => {
    await chain.client.setAutomine(false)
    const hashes = [await pay(1n), await pay(2n), await pay(3n)]
    await chain.client.mine({ blocks: 1 })
    const reader = over([honest])
    const { value: block } = await reader.head(never)
    const whole = await reader.blockReceipts(block, never)
    expect(whole?.value.map(({ transactionHash }) => transactionHash)).to.deep.equal(hashes)

    honest.setPlan({ method_missing: { chance: 1, methods: ['eth_getBlockReceipts'] } })
    expect(await reader.blockReceipts(block, never)).to.deep.equal(whole)
    expect(await reader.blockReceipts(block, never)).to.deep.equal(whole)
    expect(honest.count('method_missing')).to.equal(1)
    honest.setPlan({ null: { chance: 1, methods: ['eth_getTransactionReceipt'] } })
    expect(await reader.blockReceipts(block, never)).to.equal(undefined)
  })

  it('gives no receipts of a block that was replaced', async () => {
    await pay()
    const reader = over([honest])
    const { value: block } = await reader.head(never)
    expect(await reader.blockReceipts({ ...block, hash: UNKNOWN }, never)).to.equal(undefined)
  })

  it('refuses an answer that cannot be read, rather than guess', async () => {
    const bad = [
      'soon',
      7,
      {},
      { number: '0x1', hash: '0x1', parentHash: UNKNOWN },
      { number: 1, hash: UNKNOWN, parentHash: UNKNOWN },
    ]
    for (const block of bad) {
      const node = await startNode(31_337, () => block)
      const providers = createProviders({
        urls: [node.url],
        chainId: 31_337,
        clock: systemClock,
        random: () => 0,
      })
      const reader = createReader({ providers, finality: 1 })
      await expectFailure(() => reader.head(never), 'chain_answer_unreadable')
      await node.stop()
    }
  })

  describe('at a second look', () => {
    const look = async (plan: FaultPlan, first: Seen<Receipt>, finality: Finality = 3) => {
      other.setPlan(plan)
      return over([honest, other], finality).lookAgain(first, never)
    }

    it('agrees, and tells whether the block is final', async () => {
      const first = await receiptFrom(honest, await pay())
      const agreed = { verdict: 'agrees', provider: other.name, isOther: true }
      expect(await look({}, first)).to.deep.equal({ ...agreed, isFinal: false })
      await chain.client.mine({ blocks: 2 })
      expect(await look({}, first)).to.deep.equal({ ...agreed, isFinal: true })
      expect(await look({}, first, 'finalized')).to.deep.equal({ ...agreed, isFinal: false })
    })

    it('asks the only provider again, and says so', async () => {
      const first = await receiptFrom(honest, await pay())
      const second = await over([honest]).lookAgain(first, never)
      expect(second).to.include({ verdict: 'agrees', provider: honest.name, isOther: false })
    })

    it('finds every lie, whichever of the two told it', async () => {
      const hash = await pay()
      const truth = await receiptFrom(honest, hash)
      const lies: [FaultPlan, string, string?][] = [
        [{ wrong_status: 1 }, 'differs', 'status'],
        [{ wrong_block_hash: 1 }, 'differs', 'blockHash'],
        [{ wrong_receipt: 1 }, 'differs', 'transactionHash'],
        [{ null: { chance: 1, methods: ['eth_getTransactionReceipt'] } }, 'unknown'],
        [{ lagBlocks: 1 }, 'unknown'],
      ]
      for (const [plan, verdict, field] of lies) {
        const second = await look(plan, truth)
        expect(second).to.include({ verdict, ...(field && { field }) })
      }
      other.setPlan({ wrong_status: 1 })
      const lied = await receiptFrom(other, hash)
      const found = await over([other, honest]).lookAgain(lied, never)
      expect(found).to.include({ verdict: 'differs', provider: honest.name, field: 'status' })
    })

    it('does not believe in a receipt that was invented', async () => {
      await pay()
      other.setPlan({ invented_receipt: 1 })
      const invented = await receiptFrom(other, UNKNOWN)
      const second = await over([other, honest]).lookAgain(invented, never)
      expect(second).to.include({ verdict: 'unknown', provider: honest.name })
    })

    it('finds a block that was reorganised away', async () => {
      const first = await receiptFrom(honest, await pay())
      await reorg(1)
      expect(await look({}, first)).to.include({ verdict: 'differs', field: 'blockHash' })
    })
  })

  const reorg = (depth: number) =>
    chain.client.request({ method: 'anvil_reorg', params: [depth, []] } as never)

  describe('from block to block', () => {
    let known: BlockRef[]
    const next = async (options: Partial<AdvanceOptions> = {}, reader = over([honest])) => {
      const step = await advance(reader, { known, maxBlocks: 64, signal: never, ...options })
      if (step.kind === 'advanced') {
        const gone = new Set(step.removed.map(({ hash }) => hash))
        known = [...known.filter(({ hash }) => !gone.has(hash)), ...step.added]
      }
      return step
    }
    const numbers = (blocks: readonly BlockRef[]) => blocks.map(({ number }) => Number(number))
    beforeEach(async () => {
      known = []
      await chain.client.mine({ blocks: 3 })
      expect((await next()).kind).to.equal('advanced')
      await chain.client.mine({ blocks: 9 })
      await next()
    })

    it('begins at the head and adds what follows', async () => {
      expect(numbers(known)).to.deep.equal([3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
      expect(await next()).to.deep.equal({ kind: 'unchanged' })
    })

    it('adds so many at once and no more', async () => {
      await chain.client.mine({ blocks: 5 })
      const steps = [await next({ maxBlocks: 2 }), await next({ maxBlocks: 2 })]
      const added = steps.map((step) => (step.kind === 'advanced' ? numbers(step.added) : []))
      expect(added).to.deep.equal([
        [13, 14],
        [15, 16],
      ])
    })

    for (const depth of [1, 2, 5, 8]) {
      it(`goes back ${depth} when the chain was reorganised that deep`, async () => {
        const before = known
        await reorg(depth)
        await chain.client.mine({ blocks: 1 })
        const step = await next()
        if (step.kind !== 'advanced') throw new Error(step.kind)
        expect(step.removed).to.deep.equal(before.slice(-depth).toReversed())
        expect(numbers(step.added).at(-1)).to.equal(13)
        expect(step.added).to.have.length(depth + 1)
        expect(await next()).to.deep.equal({ kind: 'unchanged' })
      })
    }

    it('says so when the reorg is deeper than what is known', async () => {
      await reorg(11)
      expect(await next()).to.deep.equal({ kind: 'deeper' })
    })

    it('does not take a lag for a reorg', async () => {
      honest.setPlan({ lagBlocks: 4 })
      expect(await next()).to.deep.equal({ kind: 'behind' })
    })

    it('is unclear while blocks do not fit together or are unknown', async () => {
      await chain.client.mine({ blocks: 2 })
      const blocks = { chance: 0.5, methods: ['eth_getBlockByNumber'] }
      const seen = new Set<string>()
      for (let time = 0; time < 20; time += 1) {
        honest.setPlan({ wrong_block_hash: blocks })
        const step = await advance(over([honest]), { known, maxBlocks: 64, signal: never })
        if (step.kind !== 'advanced') seen.add(step.kind)
        else if (step.removed.length > 0) seen.add('removed')
      }
      expect(seen.has('unclear')).to.equal(true)
    })
  })
})

describe('what is final, by several providers', () => {
  const finalOf = async (...heads: (bigint | undefined)[]) => {
    const askAll = () =>
      Promise.resolve(
        heads.map((head, index) => {
          const provider = `node ${index}`
          if (head === undefined) return { provider, ok: false as const, error: DOWN }
          const number = `0x${head.toString(16)}`
          const result = { number, hash: UNKNOWN, parentHash: UNKNOWN }
          return { provider, ok: true as const, result }
        }),
      )
    return (await createFinal({ providers: { askAll }, finality: 3 })(never))?.value
  }

  it('takes no block for final because one provider says that the chain is higher', async () => {
    expect(await finalOf(10n, 18n)).to.equal(8n)
    expect(await finalOf(18n, 10n, 10n)).to.equal(8n)
  })

  it('is not held back by one that lags, where two others do not', async () => {
    expect(await finalOf(10n, 4n, 10n)).to.equal(8n)
  })

  it('believes a single provider only where no other is configured', async () => {
    expect(await finalOf(10n)).to.equal(8n)
    await expectFailure(() => finalOf(10n, undefined), 'rpc_unreachable')
  })
})

const DOWN = new RpcError('It did not answer.', { code: 'rpc_unreachable' })
