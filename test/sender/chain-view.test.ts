import { expect } from 'chai'

import type { Hex } from '../../src/domain/orders.ts'
import { findSeen, findTaker } from '../../src/sender/chain-view.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'

type Shown = Record<string, unknown>

describe('what a provider shows of a transaction', () => {
  let bench: Bench
  let signer: Hex
  let hash: Hex

  beforeEach(async () => {
    bench = await createBench()
    signer = bench.signers.addresses[0]!
    ;({ hash } = await bench.pay({ payer: signer }))
    await bench.passAndMine()
  })
  after(() => bench.stop())

  /** One who shows receipts and blocks otherwise than they are. */
  const quorumOf = (change: { receipt?: Shown; block?: (block: Shown) => Shown }) => {
    const provider = bench.provider('other', async (call, forward) => {
      const answer = (await forward(call)) as Shown
      if (call.method === 'eth_getTransactionReceipt') return { ...answer, ...change.receipt }
      return call.method === 'eth_getBlockByNumber' ? (change.block?.(answer) ?? answer) : answer
    })
    const onFailure = () => undefined
    return { providers: [provider], needed: 1, signal: bench.signal, onFailure }
  }
  const seen = async (change: Parameters<typeof quorumOf>[0]) =>
    (await findSeen({ quorum: quorumOf(change), blocks: new Map() }, { hash, signer })) !==
    undefined

  it('counts where receipt and block say the same', async () => {
    expect(await seen({})).to.equal(true)
  })

  it('counts for nothing in a receipt of another transaction or another signer', async () => {
    expect(await seen({ receipt: { transactionHash: `0x${'5e'.repeat(32)}` } })).to.equal(false)
    expect(await seen({ receipt: { from: bench.signers.addresses[1] } })).to.equal(false)
  })

  it('counts for nothing where another block stands at its height, or one without it', async () => {
    const replaced = (block: Shown) => ({ ...block, hash: `0x${'5e'.repeat(32)}` })
    expect(await seen({ block: replaced })).to.equal(false)
    expect(await seen({ block: (block) => ({ ...block, transactions: [] }) })).to.equal(false)
  })

  it('took a nonce where it is of that signer and has that nonce', async () => {
    const other = bench.signers.addresses[1]!
    await bench.pay({ payer: other })
    await bench.passAndMine()
    const high = BigInt(await bench.world.head())
    const takerOf = async (wanted: {
      signer: Hex
      nonce: bigint
      block?: (block: Shown) => Shown
    }) => (await findTaker(quorumOf(wanted), { ...wanted, high }))?.hash
    expect(await takerOf({ signer, nonce: 0n })).to.equal(hash)
    expect(await takerOf({ signer, nonce: 1n })).to.equal(undefined)
    const block = (shown: Shown) => {
      const transactions = shown['transactions'] as Shown[]
      return { ...shown, transactions: transactions.map((one) => ({ ...one, nonce: '0x7' })) }
    }
    expect(await takerOf({ signer, nonce: 0n, block })).to.equal(undefined)
    const ofAnother = (shown: Shown) => {
      const transactions = shown['transactions'] as Shown[]
      return { ...shown, transactions: transactions.map((one) => ({ ...one, from: other })) }
    }
    expect(await takerOf({ signer, nonce: 0n, block: ofAnother })).to.equal(undefined)
  })
})
