import { expect } from 'chai'
import { sql } from 'kysely'

import type { Hex } from '../../src/domain/orders.ts'
import { depositPass, type DepositDeps } from '../../src/rails/deposits.ts'
import { crashEverywhere, crashing } from '../fixtures/books/crash.ts'
import { GWEI, toHex } from '../engines/sim/world.ts'
import {
  createHoldingsBench,
  DEPTH,
  freshAddress,
  type HoldingsBench,
} from '../fixtures/books/holdings-bench.ts'
import { expectFailure } from '../fixtures/errors.ts'

const transferTo = (payee: Hex, amount: bigint): Hex => {
  const words = [payee.slice(2), amount.toString(16)].map((word) => word.padStart(64, '0'))
  return `0xa9059cbb${words.join('')}`
}

/** Its code passes each call on to the token twice: two like transfers in one transaction. */
const twice = (token: Hex): Hex => {
  const call = `365f5f375f5f365f5f73${token.slice(2)}5af150`
  return `0x${call}${call}00`
}

describe('deposits, where blocks are replaced and readers meet', () => {
  let on: HoldingsBench

  beforeEach(async () => {
    on = await createHoldingsBench()
    await on.finalize()
  })
  after(() => on.bench.stop())

  const raw = (hash: Hex) => on.bench.world.rpc('eth_getRawTransactionByHash', [hash])
  const again = async (text: unknown) => {
    await on.bench.world.rpc('eth_sendRawTransaction', [text])
    await on.bench.world.mine(1)
  }
  /** All that was mined since is gone, also of what is final. */
  const reorg = (blocks: number) => on.bench.world.rpc('anvil_reorg', [blocks, []])
  const cursor = async () => {
    const { rows } = await sql<{ at: bigint; hash: Hex; first: bigint; rewinds: bigint }>`
      select block_number as at, block_hash as hash, first_block as first, rewinds
      from deposit_cursors`.execute(on.bench.db)
    return rows[0]!
  }
  /** Stops in front of the receipt until it is let go, as a slow process does. */
  const pausing = (deps: DepositDeps) => {
    let reached: () => void
    let letGo: () => void
    const atReceipt = new Promise<void>((resolve) => (reached = resolve))
    const gate = new Promise<void>((resolve) => (letGo = resolve))
    const { incoming } = deps
    const receipt: typeof incoming.receipt = async (of, signal) => {
      const read = await incoming.receipt(of, signal)
      reached()
      await gate
      return read
    }
    return {
      deps: { ...deps, incoming: { ...incoming, receipt } },
      atReceipt,
      letGo: () => letGo(),
    }
  }

  it('are none of a reader that was slow while the block was replaced', async () => {
    await on.send(on.user.address, { value: 5n })
    await on.bench.world.mine(DEPTH)
    const slow = pausing(on.deposits)
    const late = on.read(slow.deps)
    await slow.atReceipt
    // Another process has read the same block, and goes back when it is gone.
    await on.read()
    await reorg(DEPTH + 2)
    await on.finalize()
    slow.letGo()
    await late
    const deposits = await on.list()
    expect(deposits.map(({ isGone }) => isGone)).to.deep.equal([true])
    expect(await on.breaks()).to.deep.equal([{ kind: 'reorged', state: 'open' }])
  })

  it('are found beside blocks of ours that are looked up at the same time', async () => {
    const { signedOf } = on.bench
    const held: (() => void)[] = []
    on.bench.signedOf = async (hashes) => {
      const found = await signedOf(hashes)
      if (held.length === atOnce) return found
      const gate = new Promise<void>((free) => held.push(free))
      if (held.length === atOnce) for (const free of held) free()
      await gate
      return found
    }
    let atOnce = 0
    const payOurselves = async () => {
      await on.bench.pay({ payer: on.platform, payee: on.user.address })
      await on.bench.passAndMine()
    }
    await payOurselves()
    await on.finalize()
    const before = (await on.list()).length
    for (let value = 1n; value <= 8n; value++) {
      await on.send(on.user.address, { value })
      await payOurselves()
    }
    // The first of the sixteen blocks that are read together are the empty ones of before.
    atOnce = 16 - DEPTH
    await on.finalize()
    expect((await on.list()).length - before).to.equal(8)
  })

  it('are none of a slow reader alone, whose block is gone before it writes', async () => {
    await on.send(on.user.address, { value: 5n })
    await on.bench.world.mine(DEPTH)
    const slow = pausing(on.deposits)
    const late = on.read(slow.deps)
    await slow.atReceipt
    await reorg(DEPTH + 2)
    await on.bench.world.mine(2)
    await on.read()
    slow.letGo()
    await late
    await on.finalize()
    expect(await on.list()).to.deep.equal([])
  })

  it('are not missed where one block is of a fork, and the next one is not', async () => {
    await on.bench.world.mine(DEPTH + 1)
    const { incoming } = on.deposits
    const sent = { from: on.outside, to: on.user.address, value: '0x5', gas: '0x5208' }
    let before = Promise.resolve<unknown>(undefined)
    let reads = 0
    const block: typeof incoming.block = (number, signal) => {
      const found = before.then(async () => {
        const found = await incoming.block(number, signal)
        reads += 1
        // What was read last was empty, and has money in it now.
        if (reads === 3) await on.bench.world.rpc('anvil_reorg', [DEPTH + 1, [[sent, 0]]])
        return found
      })
      before = found.catch(() => undefined)
      return found
    }
    await on.read({ ...on.deposits, incoming: { ...incoming, block } })
    await on.finalize()
    expect((await on.list()).map(({ isGone }) => isGone)).to.deep.equal([false])
    expect([await on.breaks(), (await cursor()).rewinds]).to.deep.equal([[], 1n])
  })

  it('come back at other places of the block, also two that are alike', async () => {
    const splitter = freshAddress()
    await on.bench.world.rpc('anvil_setCode', [splitter, twice(on.dollar)])
    const [, second] = (await on.bench.world.rpc('eth_accounts')) as [Hex, Hex]
    await on.mint(splitter, 10n)
    await on.mint(second, 10n)
    const hash = await on.send(splitter, { data: transferTo(on.user.address, 3n) })
    const text = await raw(hash)
    await on.finalize()
    const deposits = await on.list()
    expect(deposits.map(({ amount }) => amount)).to.deep.equal(['0.000003', '0.000003'])
    await reorg(DEPTH + 1)
    await on.finalize()
    expect((await on.list()).map(({ isGone }) => isGone)).to.deep.equal([true, true])
    // With one log more before them the first is where the second was.
    const transfer = transferTo(freshAddress(), 1n)
    const gasPrice = toHex(200n * GWEI)
    const other = { from: second, to: on.dollar, data: transfer, gas: '0x30d40', gasPrice }
    await on.bench.world.rpc('eth_sendTransaction', [other])
    await again(text)
    await on.finalize()
    expect(await on.list()).to.deep.equal(deposits)
    expect((await on.breaks()).map(({ state }) => state)).to.deep.equal(['closed', 'closed'])
  })

  it('of before the first block that was read stay none, however far it goes back', async () => {
    const { user, bench } = on
    const { first } = await cursor()
    await reorg(DEPTH)
    await on.finalize()
    expect((await cursor()).first).to.equal(first)
    expect(await on.list()).to.deep.equal([])
    await on.send(user.address, { value: 5n })
    await on.finalize()
    expect(await on.list()).to.have.length(1)
    expect(await bench.world.head()).to.be.greaterThan(Number(first))
  })

  it('are all or none of a block, wherever the reader crashes', async () => {
    await on.send(on.user.address, { value: 1n })
    await on.mint(on.user.address, 2n)
    await on.mint(on.platform, 3n)
    await on.bench.world.mine(DEPTH)
    const crashes = crashing(on.bench.db)
    let states = 0
    await crashEverywhere(
      crashes,
      () => on.read({ ...on.deposits, db: crashes.db }),
      async () => {
        const { rows } = await sql<{ deposits: bigint; transactions: bigint; events: bigint }>`
          select (select count(*) from deposits) as deposits,
            (select count(*) from transactions where status = 'completed') as transactions,
            (select count(*) from events) as events`.execute(on.bench.db)
        const { deposits, transactions, events } = rows[0]!
        expect([transactions, events]).to.deep.equal([deposits, 3n * deposits])
        states += 1
      },
    )
    await on.read()
    expect(states).to.be.greaterThan(5)
    expect((await on.list()).map(({ amount }) => amount)).to.deep.equal([
      '0.000000000000000001',
      '0.000002',
    ])
  })

  it('of a thousand in a block that is gone are all forgotten', async () => {
    await on.send(on.user.address, { value: 1n })
    await on.finalize()
    await sql`
      with copies as (
        insert into transactions (transaction_id, user_id, type, status, amount, currency,
          description, eth_transaction_hash, created_at, updated_at, log_key, metadata)
        select 'TX' || lpad(n::text, 20, '0'), user_id, type, status, amount, currency,
          description, eth_transaction_hash, created_at, updated_at, log_key, metadata
        from transactions, generate_series(1, 1200) n where type = 'deposit'
        returning transaction_id
      )
      insert into deposits (transaction_id, chain_id, transaction_hash, log_index, payer, payee,
        amount, block_number, block_hash, gas_used, gas_price, paid_at)
      select c.transaction_id, chain_id, transaction_hash, right(c.transaction_id, 6)::integer,
        payer, payee, amount, block_number, block_hash, gas_used, gas_price, paid_at
      from copies c, deposits`.execute(on.bench.db)
    await reorg(DEPTH + 1)
    await on.finalize()
    const gone = (await on.list()).filter(({ isGone }) => isGone)
    expect(gone).to.have.length(1201)
  })

  it('wait for the block while a provider does not have it, or names another parent', async () => {
    await on.send(on.user.address, { value: 5n })
    await on.bench.world.mine(DEPTH)
    on.lie = ({ method, params }, truth) =>
      method === 'eth_getBlockByNumber' && params?.[1] === true
        ? { ...(truth as object), parentHash: `0x${'ab'.repeat(32)}` }
        : truth
    await expectFailure(on.read, 'providers_differ')
    on.lie = ({ method, params }, truth) =>
      method === 'eth_getBlockByNumber' && params?.[1] === true ? null : truth
    await expectFailure(on.read, 'providers_differ')
    expect([await on.list(), (await cursor()).rewinds]).to.deep.equal([[], 0n])
    on.lie = undefined
    await on.read()
    expect(await on.list()).to.have.length(1)
    expect(await depositPass(on.deposits, on.bench.signal)).to.equal(false)
  })
})
