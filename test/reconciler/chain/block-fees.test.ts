import { expect } from 'chai'

import type { Hex } from '../../../src/chain/hex.ts'
import { RpcError } from '../../../src/chain/rpc/rpc-error.ts'
import type { RpcItem, RpcOutcome } from '../../../src/chain/rpc/rpc.ts'
import { createFeeReader } from '../../../src/reconciler/chain/block-fees.ts'

describe('the fees of transactions', () => {
  const { signal } = new AbortController()
  const mined = (number: number, count: number) =>
    Array.from({ length: count }, (_, at) => ({
      hash: word(number * 1_000 + at),
      block: { number: BigInt(number), hash: word(number) },
    }))
  const receiptOf = ({ hash, block }: ReturnType<typeof mined>[number]) => ({
    transactionHash: hash,
    blockHash: block.hash,
    gasUsed: '0x2',
    effectiveGasPrice: `0x${block.number.toString(16)}`,
  })

  /** A node with these transactions, and what it was asked. */
  const nodeWith = (
    known: ReturnType<typeof mined>,
    answerOf: (item: RpcItem) => RpcOutcome | undefined = () => undefined,
  ) => {
    const asked: string[] = []
    const answer = (item: RpcItem): RpcOutcome => {
      asked.push(item.method)
      const special = answerOf(item)
      if (special !== undefined) return special
      const [what] = item.params as [Hex]
      const isBlock = item.method === 'eth_getBlockReceipts'
      const found = known.filter(({ hash, block }) =>
        isBlock ? block.number === BigInt(what) : hash === what,
      )
      return { ok: true, result: isBlock ? found.map(receiptOf) : receiptOf(found[0]!) }
    }
    return { asked, read: createFeeReader(async (items) => items.map(answer)) }
  }

  it('are read by whole blocks where many are in one, and one by one where few are', async () => {
    const wanted = [...mined(7, 5), ...mined(8, 2)]
    const { asked, read } = nodeWith(wanted)
    const fees = await read(wanted, signal)
    expect(wanted.map(({ hash }) => fees.get(hash))).to.deep.equal([
      ...Array.from({ length: 5 }, () => 14n),
      16n,
      16n,
    ])
    expect(asked).to.deep.equal([
      'eth_getBlockReceipts',
      'eth_getTransactionReceipt',
      'eth_getTransactionReceipt',
    ])
  })

  it('are of so many blocks at a time that their receipts can be held together', async () => {
    const wanted = Array.from({ length: 100 }, (_, at) => mined(at + 1, 100)).flat()
    const most: number[] = []
    const { read } = nodeWith(wanted)
    const counting = createFeeReader(async (items) => {
      most.push(items.length)
      return items.map(({ params }) => ({
        ok: true as const,
        result: mined(Number((params as [Hex])[0]), 100).map(receiptOf),
      }))
    })
    const fees = await counting(wanted, signal)
    expect([...fees]).to.have.deep.members([...(await read(wanted, signal))])
    expect(fees).to.have.property('size', 10_000)
    expect(Math.max(...most)).to.be.at.most(40)
  })

  it('are read one by one at a node without receipts of blocks, which is asked once', async () => {
    const error = new RpcError('no such method', { code: 'rpc_method_missing' })
    const wanted = mined(7, 5)
    const { asked, read } = nodeWith(wanted, ({ method }) =>
      method === 'eth_getBlockReceipts' ? { ok: false, error } : undefined,
    )
    expect(await read(wanted, signal)).to.have.property('size', 5)
    expect(await read(wanted, signal)).to.have.property('size', 5)
    expect(asked.filter((method) => method === 'eth_getBlockReceipts')).to.have.length(1)
  })

  const useless: Record<string, unknown> = {
    'of another block': { ...receiptOf(mined(7, 1)[0]!), blockHash: word(8) },
    'of another transaction': { ...receiptOf(mined(7, 1)[0]!), transactionHash: word(9) },
    'without the gas': { ...receiptOf(mined(7, 1)[0]!), gasUsed: undefined },
    'that is none': null,
    'that is text': '<html>',
  }
  for (const [name, result] of Object.entries(useless)) {
    it(`are not had from a receipt ${name}`, async () => {
      const wanted = mined(7, 1)
      const { read } = nodeWith(wanted, () => ({ ok: true, result }))
      expect(await read(wanted, signal)).to.have.property('size', 0)
    })
  }
})

function word(number: number): Hex {
  return `0x${number.toString(16).padStart(64, '0')}`
}
