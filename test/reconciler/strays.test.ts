import { expect } from 'chai'

import { settlementAddress } from '../../src/bindings/addresses.ts'
import type { Hex } from '../../src/domain/orders.ts'
import type { RunsDeps } from '../../src/reconciler/perform.ts'
import { findUnknownOutgoing, type StrayPart } from '../../src/reconciler/strays.ts'
import { closeBreak } from '../../src/store/reconciliation/breaks.ts'
import { addressFrom, CHAIN_ID, ETHER, GWEI } from '../engines/sim/world.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { nodesAt } from '../fixtures/books/reconcile.ts'
import { allBreaks, runOnce, runsDeps } from '../fixtures/books/runs.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { calls, reference } from '../fixtures/books/verify.ts'
import { startFaultyProxy, type FaultyProxy } from '../fixtures/chain/faulty-proxy.ts'
import { createKeyedDraw } from '../fixtures/random.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'

describe('what nobody recorded', () => {
  let bench: Bench
  let node: FaultyProxy
  let deps: RunsDeps
  let ours: Hex
  let strange: Hex

  beforeEach(async () => {
    bench = await createBench()
    node = await startFaultyProxy({ target: bench.url, random: createKeyedDraw(1) })
    deps = runsDeps({ db: bench.db, urls: [node.url] })
    ;[ours, strange] = bench.signers.addresses as [Hex, Hex]
    await bench.pay({ payer: ours })
    await bench.finish()
  })
  afterEach(() => node.stop())
  after(() => bench.stop())

  /** Sends without telling the tables. */
  const sendAside = async (from: Hex, call: { to: Hex; value: bigint; data?: Hex }) => {
    const fees = { maxFeePerGas: 100n * GWEI, maxPriorityFeePerGas: GWEI }
    const nonce = await bench.world.nonceOf(from)
    const request = { chainId: CHAIN_ID, nonce, gas: 200_000n, fees, data: '0x' as Hex, ...call }
    const raw = await bench.signers.sign(from, request)
    const hash = (await bench.world.rpc('eth_sendRawTransaction', [raw])) as Hex
    await bench.world.mine(4)
    return hash
  }
  const open = async () =>
    (await allBreaks(bench.db, 'open')).map(({ kind, hash }) => `${kind} ${hash}`)

  it('stays closed by an operator though two searches find it, each with its facts', async () => {
    const data = calls.settle(reference(404), addressFrom('stranger'))
    const hash = await sendAside(ours, { to: settlementAddress, value: 5n, data })
    await bench.pay({ payer: ours, route: 'contract' })
    await bench.finish()
    expect((await runOnce(deps)).totals).to.include({ breaks: 1 })
    const [found] = await allBreaks(bench.db, 'open')
    expect(found).to.include({ kind: 'unknown_outgoing', hash })
    expect(found!.onChain, 'what tells more').to.include({ reference: reference(404) })
    const close = { breakId: found!.id, as: 'operator', actor: 'user:1', note: 'known' } as const
    await closeBreak(bench.db, { ...close, now: new Date() })
    await runOnce(deps)
    expect(await open()).to.deep.equal([])
  })

  it('stands while the nodes cannot tell of its signer, until it is recorded', async () => {
    const hash = await sendAside(ours, { to: addressFrom('stranger'), value: ETHER })
    await runOnce(deps)
    expect(await open()).to.deep.equal([`unknown_outgoing ${hash}`])
    node.setPlan({ method_missing: { chance: 1, methods: ['eth_getTransactionCount'] } })
    expect(await runOnce(deps)).to.include({ state: 'completed' })
    expect(await open()).to.deep.equal([`unknown_outgoing ${hash}`])
    node.setPlan({})
    const { id: userId } = await makeUser(bench.db)
    const eth = { userId, currency: 'ETH', type: 'settlement', status: 'completed' } as const
    await makeTransaction(bench.db, { ...eth, amount: ETHER, ethTransactionHash: hash })
    await runOnce(deps)
    expect(await open()).to.deep.equal([])
  })

  it('is not sure to be all of a signer, of whom one nonce is untold', async () => {
    await sendAside(ours, { to: addressFrom('stranger'), value: 1n })
    const [honest] = nodesAt([bench.url])
    const final = BigInt(String(await bench.world.rpc('eth_blockNumber', [])))
    const panel = { nodes: [], needed: 1, final }
    const searched = async (nodes: (typeof honest & object)[]): Promise<StrayPart[]> => {
      const deps = { db: bench.db, chainId: CHAIN_ID, nodes, panel, signal: bench.signal }
      const parts: StrayPart[] = []
      for await (const part of findUnknownOutgoing(deps, undefined)) parts.push(part)
      return parts
    }
    const [told] = await searched([honest!])
    expect(told?.findings).to.have.length(1)
    expect(told).not.to.have.property('unsure')
    // It shows no block, so that nobody knows what took the nonce.
    const poor = { ...honest!, blocks: () => Promise.resolve(new Map()) }
    expect(await searched([poor])).to.deep.equal([{ findings: [], cursor: ours, unsure: ours }])
  })

  it('is told of every nonce of a signer, however many there are', async () => {
    const hashes: Hex[] = []
    for (let count = 0; count < 5; count += 1) {
      hashes.push(await sendAside(ours, { to: addressFrom('stranger'), value: 1n }))
    }
    await runOnce({ ...deps, chunkRecords: 2 })
    expect(await open()).to.have.members(hashes.map((hash) => `unknown_outgoing ${hash}`))
  })

  it('is no break where a stranger used a reference of ours, unless he paid it again', async () => {
    const payee = addressFrom('payee')
    const { order } = await bench.pay({ payer: ours, route: 'contract', payee, amount: 7n })
    await bench.finish()
    const aside = calls.settle(order.reference, addressFrom('himself'))
    await sendAside(strange, { to: settlementAddress, value: 1n, data: aside })
    await runOnce(deps)
    expect(await open()).to.deep.equal([])
    const other = addressFrom('other')
    await bench.world.rpc('anvil_setBalance', [other, '0xde0b6b3a7640000'])
    await bench.world.rpc('anvil_impersonateAccount', [other])
    const data = calls.settle(order.reference, payee)
    const call = { from: other, to: settlementAddress, value: '0x7', data, gas: '0x30d40' }
    const hash = await bench.world.rpc('eth_sendTransaction', [call])
    await bench.world.mine(4)
    await runOnce(deps)
    expect(await open()).to.deep.equal([`duplicate_payment ${String(hash)}`])
  })
}).timeout(60_000)
