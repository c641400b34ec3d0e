import { expect } from 'chai'
import { keccak256, parseGwei, type Hex } from 'viem'

import { callRpc } from '../../src/chain/rpc.ts'
import { startChain, type TestChain } from './anvil.ts'
import { account } from './deployment.ts'
import { expectFailure } from './errors.ts'
import type { FaultPlan } from './faults.ts'
import { startFaultyProxy, type FaultyProxy } from './faulty-proxy.ts'
import { createKeyedDraw } from './random.ts'
import { until } from './until.ts'

describe('the faulty proxy', () => {
  let chain: TestChain
  let proxy: FaultyProxy

  before(async () => {
    chain = await startChain()
    proxy = await startFaultyProxy({ target: chain.url, random: createKeyedDraw(1) })
  })
  after(async () => {
    await proxy.stop()
    await chain.stop()
  })
  beforeEach(() => proxy.setPlan({}))

  const ask = (method: string, ...params: unknown[]) =>
    callRpc({ url: proxy.url, method, params, timeoutMs: 500 })
  const truth = (method: string, ...params: unknown[]) =>
    callRpc({ url: chain.url, method, params })
  const signed = async (): Promise<Hex> => {
    const nonce = await chain.client.getTransactionCount({ address: account(0).address })
    return account(0).signTransaction({
      type: 'eip1559',
      chainId: 31_337,
      nonce,
      to: account(1).address,
      value: 1n,
      gas: 21_000n,
      maxFeePerGas: parseGwei('10'),
      maxPriorityFeePerGas: 1n,
    })
  }
  const nonce = () => truth('eth_getTransactionCount', account(0).address, 'latest')
  const send = async (): Promise<string> => {
    const hash = (await ask('eth_sendRawTransaction', await signed())) as string
    await mined(hash)
    return hash
  }
  /** anvil answers before it has mined. */
  const mined = (hash: string) =>
    until(async () => (await truth('eth_getTransactionReceipt', hash)) !== null)

  it('passes on what the node says while it has no plan', async () => {
    const hash = await send()
    for (const method of ['eth_getTransactionReceipt', 'eth_getTransactionByHash']) {
      expect(await ask(method, hash)).to.deep.equal(await truth(method, hash))
    }
    await expectFailure(() => ask('eth_nonsense'), 'rpc_method_missing')
  })

  const line: ReadonlyArray<[FaultPlan, string]> = [
    [{ refuse: 1 }, 'rpc_unreachable'],
    [{ http_error: 1 }, 'rpc_unreachable'],
    [{ html: 1 }, 'rpc_garbage'],
    [{ garbage: 1 }, 'rpc_garbage'],
    [{ rate_limit: 1 }, 'rpc_rate_limited'],
    [{ error: 1 }, 'rpc_refused'],
    [{ limit_exceeded: 1 }, 'rpc_rate_limited'],
  ]
  for (const [plan, code] of line) {
    it(`keeps a transaction from the node by ${Object.keys(plan).join()}`, async () => {
      proxy.setPlan(plan)
      const before = await nonce()
      await expectFailure(async () => ask('eth_sendRawTransaction', await signed()), code)
      expect(await nonce()).to.equal(before)
    })
  }

  const after_: ReadonlyArray<[FaultPlan, string]> = [
    [{ swallow: 1 }, 'rpc_timeout'],
    [{ cut: 1 }, 'rpc_unreachable'],
    [{ error_after: 1 }, 'rpc_refused'],
    // The second time the node has it already.
    [{ duplicate: 1 }, 'rpc_refused'],
  ]
  for (const [plan, code] of after_) {
    it(`hides by ${Object.keys(plan).join()} that the node took a transaction`, async () => {
      proxy.setPlan(plan)
      const raw = await signed()
      await expectFailure(() => ask('eth_sendRawTransaction', raw), code)
      await mined(keccak256(raw))
      expect(await truth('eth_getTransactionReceipt', keccak256(raw))).to.include({ status: '0x1' })
    })
  }

  it('accepts a transaction and forgets it', async () => {
    proxy.setPlan({ drop: 1 })
    const raw = await signed()
    expect(await ask('eth_sendRawTransaction', raw)).to.equal(keccak256(raw))
    expect(await truth('eth_getTransactionByHash', keccak256(raw))).to.equal(null)
    expect(await ask('eth_chainId')).to.equal('0x7a69')
  })

  it('lies about receipts, blocks and the chain', async () => {
    const hash = await send()
    const receipt = (await truth('eth_getTransactionReceipt', hash)) as { blockHash: string }
    const lied = async (plan: FaultPlan, method: string, ...params: unknown[]) => {
      proxy.setPlan(plan)
      return (await ask(method, ...params)) as Record<string, unknown>
    }
    const RECEIPT = 'eth_getTransactionReceipt'
    expect(await lied({ wrong_status: 1 }, RECEIPT, hash)).to.include({ status: '0x0' })
    const other = await lied({ wrong_receipt: 1 }, RECEIPT, hash)
    expect(other['transactionHash']).not.to.equal(hash)
    const moved = await lied({ wrong_block_hash: 1 }, RECEIPT, hash)
    expect(moved['blockHash']).not.to.equal(receipt.blockHash)
    const block = await lied({ wrong_block_hash: 1 }, 'eth_getBlockByNumber', 'latest', false)
    expect(block['hash']).to.equal(moved['blockHash'])
    const unknown = `0x${'ab'.repeat(32)}`
    expect(await lied({ invented_receipt: 1 }, RECEIPT, unknown)).to.deep.include({
      transactionHash: unknown,
      status: '0x1',
      blockHash: receipt.blockHash,
    })
    expect(await lied({ wrong_chain_id: 1 }, 'eth_chainId')).to.equal('0x539')
    expect(await lied({ null: 1 }, RECEIPT, hash)).to.equal(null)
  })

  it('lags behind, in heads, receipts and counts', async () => {
    const hash = await send()
    const [head, count] = [await truth('eth_blockNumber'), await nonce()]
    proxy.setPlan({ lagBlocks: 1 })
    expect(Number(await ask('eth_blockNumber'))).to.equal(Number(head) - 1)
    expect(await ask('eth_getBlockByNumber', 'latest', false)).to.deep.equal(
      await truth('eth_getBlockByNumber', `0x${(Number(head) - 1).toString(16)}`, false),
    )
    expect(await ask('eth_getBlockByNumber', head, false)).to.equal(null)
    expect(await ask('eth_getTransactionReceipt', hash)).to.equal(null)
    expect(await ask('eth_getBlockReceipts', head)).to.equal(null)
    const lagged = await ask('eth_getTransactionCount', account(0).address, 'latest')
    expect(Number(lagged)).to.equal(Number(count) - 1)
  })

  it('does the same again with the same seed, and something else with another', async () => {
    const run = async (seed: number) => {
      const random = createKeyedDraw(seed)
      const plan: FaultPlan = { error: { chance: 0.5, methods: ['eth_blockNumber'] } }
      const one = await startFaultyProxy({ target: chain.url, random, plan })
      for (let call = 0; call < 20; call += 1) {
        const request = { url: one.url, method: 'eth_blockNumber' }
        await callRpc(request).catch(() => undefined)
        await callRpc({ ...request, method: 'eth_chainId' })
      }
      await one.stop()
      expect(one.count('error')).to.be.within(1, 19)
      return one.calls.map(({ faults }) => faults.length)
    }
    expect(await run(7)).to.deep.equal(await run(7))
    expect(await run(7)).not.to.deep.equal(await run(8))
  })
})
