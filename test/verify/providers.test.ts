import { expect } from 'chai'
import type { Hex } from 'viem'

import type { Provider } from '../../src/chain/rpc/provider.ts'
import type { Verdict } from '../../src/verify/verdict.ts'
import { verifySettlement } from '../../src/verify/verify-transaction.ts'
import {
  CHAIN_ID,
  calls,
  lying,
  reference,
  startPaidChain,
  type Lie,
  type PaidChain,
} from '../fixtures/books/verify.ts'
import { LIES } from '../fixtures/chain/lies.ts'

type Call = Parameters<Provider['request']>[0]

const RELIED_ON = [
  'eth_chainId answer',
  ...['blockNumber', 'from', 'input', 'nonce', 'to', 'transactionIndex', 'value'].map(
    (field) => `eth_getTransactionByHash ${field}`,
  ),
  ...['hash', 'number', 'receiptsRoot', 'timestamp', 'transactions', 'transactionsRoot'].map(
    (field) => `eth_getBlockByHash ${field}`,
  ),
  'eth_getBlockByNumber number',
  ...[
    'blockNumber',
    'cumulativeGasUsed',
    'from',
    'gasUsed',
    'logs',
    'logsBloom',
    'status',
    'type',
  ].map((field) => `eth_getBlockReceipts ${field}`),
]

/** The fields in which two answers differ; of lists, those of their first items. */
function changedFields(before: unknown, after: unknown): string[] {
  const [one, other] = [before, after].map((answer) => (Array.isArray(answer) ? answer[0] : answer))
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    return JSON.stringify(one) === JSON.stringify(other) ? [] : ['answer']
  }
  const names = new Set([...Object.keys(one), ...Object.keys(other)])
  const textOf = (answer: object, name: string) => JSON.stringify(Reflect.get(answer, name))
  return [...names].filter((name) => textOf(one, name) !== textOf(other, name))
}

function kindsOf({ disagreements }: Verdict): string[] {
  return disagreements.map(({ kind }) => kind)
}

describe('a settlement that providers tell of', () => {
  let world: PaidChain
  let hash: Hex
  let liar: (lie: Lie) => Provider

  before(async () => {
    world = await startPaidChain()
    const data = calls.settle(reference(1), world.payee)
    hash = await world.send({ to: world.settlement, data, value: 100n })
    await world.mine(1)
    liar = (lie) => lying(world.node('honest'), lie)
  })
  after(() => world.chain.stop())

  /** The questions of one verification, each once. */
  const askedCalls = async (): Promise<Call[]> => {
    const asked = new Map<string, Call>()
    const node = world.node('a')
    await verify([
      {
        name: node.name,
        request: (call) => {
          asked.set(JSON.stringify([call.method, call.params]), call)
          return node.request(call)
        },
      },
    ])
    return [...asked.values()]
  }
  const verify = (
    providers: Provider[],
    { chainId = CHAIN_ID, checkpoint }: { chainId?: number; checkpoint?: Hex } = {},
  ): Promise<Verdict> =>
    verifySettlement(
      {
        chainId,
        hash,
        reference: reference(1),
        payee: world.payee,
        amount: 100n,
        token: null,
      },
      { providers, confirmations: 2, checkpoint },
    )

  it('holds without a complaint when all are honest', async () => {
    for (const names of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
      const verdict = await verify(names.map(world.node))
      expect(verdict.status).to.equal('holds')
      expect(verdict.complaints).to.deep.equal([])
    }
  })

  it('is lied to about every field that a verdict rests on', async () => {
    const lied = new Set<string>()
    for (const call of await askedCalls()) {
      const answer = await world.node('honest').request(call)
      for (const lie of Object.values(LIES)) {
        const told = await lying(world.node('honest'), lie).request(call)
        for (const field of changedFields(answer, told)) lied.add(`${call.method} ${field}`)
      }
    }
    expect([...lied]).to.include.members(RELIED_ON)
  })

  for (const [name, lie] of Object.entries(LIES)) {
    it(`names the one who tells of ${name}`, async () => {
      const alone = await verify([liar(lie)])
      expect(alone.status).to.equal('disagrees')
      expect(alone.disagreements[0]).to.include({ kind: 'provider_disagrees', provider: 'liar' })

      const two = await verify([liar(lie), world.node('a')])
      expect(two.status).to.equal('disagrees')
      expect(two.complaints[0]).to.include({ provider: 'liar', kind: 'lies' })

      const three = await verify([liar(lie), world.node('a'), world.node('b')])
      expect(three.status).to.equal('holds')
      expect(three.evidence?.provider).to.equal('a')
      expect(three.complaints[0]).to.include({ provider: 'liar', kind: 'lies' })
    })
  }

  it('names the one who shows a whole chain of its own', async () => {
    const other = await startPaidChain()
    try {
      const data = calls.settle(reference(1), world.payee)
      await other.mine(3)
      const forged = await other.send({ to: world.settlement, data, value: 100n })
      await other.mine(1)
      const verdict = await verifySettlement(
        {
          chainId: CHAIN_ID,
          hash: forged,
          reference: reference(1),
          payee: world.payee,
          amount: 100n,
          token: null,
        },
        { providers: [other.node('liar'), world.node('a')], confirmations: 1 },
      )
      expect(verdict.status).to.not.equal('holds')
      expect(verdict.evidence?.agreeing).to.deep.equal(['liar'])
    } finally {
      await other.chain.stop()
    }
  })

  it('names the one who keeps the transaction back, and holds by the others', async () => {
    const silent = liar(({ method }, answer) =>
      method === 'eth_getTransactionByHash' ? null : answer,
    )
    const verdict = await verify([silent, world.node('a')])
    expect(verdict.status).to.equal('holds')
    expect(verdict.complaints[0]).to.include({ provider: 'liar', kind: 'withholds' })
  })

  it('names the one who keeps the block back', async () => {
    const silent = liar(({ method, params }, answer) =>
      method === 'eth_getBlockByNumber' && params[0] !== 'latest' ? null : answer,
    )
    const verdict = await verify([world.node('a'), silent])
    expect(verdict.disagreements[0]).to.include({ kind: 'provider_disagrees', provider: 'liar' })
  })

  it('names the one who serves another chain', async () => {
    const elsewhere = liar(({ method }, answer) => (method === 'eth_chainId' ? '0x1' : answer))
    const verdict = await verify([elsewhere])
    expect(verdict.status).to.equal('disagrees')
    expect(verdict.disagreements[0]).to.include({ kind: 'wrong_chain', provider: 'liar' })
    // Whatever a provider calls its chain, the signature names it.
    const signed = await verify([elsewhere], { chainId: 1 })
    expect(kindsOf(signed)).to.deep.equal(['wrong_chain'])
  })

  it('is of no other block than the one that is trusted', async () => {
    const { evidence } = await verify([world.node('a')])
    const trusted = await verify([world.node('a')], { checkpoint: evidence!.block.hash })
    expect(trusted.status).to.equal('holds')
    expect(trusted.evidence?.agreeing).to.deep.equal(['a', 'checkpoint'])
    const other = await verify([world.node('a'), world.node('b')], { checkpoint: reference(7) })
    expect(kindsOf(other)).to.deep.equal(['wrong_block'])
  })

  it('takes the word of the one that is behind for what confirms', async () => {
    const behind = liar(({ method, params }, answer) =>
      method === 'eth_getBlockByNumber' && params[0] === 'latest'
        ? world.node('x').request({
            method: 'eth_getBlockByNumber',
            params: ['0x1', false],
          })
        : answer,
    )
    const verdict = await verify([world.node('a'), behind])
    expect(verdict.status).to.equal('pending')
    expect(verdict.disagreements[0]?.kind).to.equal('not_final')
    expect(verdict.complaints).to.deep.equal([])
  })

  it('is reorged where the block is not in the chain at a second look', async () => {
    const fork = await startPaidChain()
    try {
      await fork.mine(Number(await world.chain.client.getBlockNumber()))
      const moved = liar(({ method, params }, answer) =>
        method === 'eth_getBlockByNumber' && params[0] !== 'latest'
          ? fork.node('x').request({ method, params })
          : answer,
      )
      expect(kindsOf(await verify([moved]))).to.deep.equal(['reorged'])
    } finally {
      await fork.chain.stop()
    }
    const again = await verify([world.node('a'), world.node('b')])
    expect(again.status).to.equal('holds')
  })

  it('is unknown, and not wrong, while nobody answers as a node does', async () => {
    const broken: Provider = {
      name: 'broken',
      request: () => Promise.reject(new Error('its answer is not JSON-RPC')),
    }
    const alone = await verify([broken])
    expect(alone.status).to.equal('pending')
    expect(alone.disagreements[0]).to.include({ kind: 'unavailable', provider: 'broken' })
    const two = await verify([broken, world.node('a')])
    expect(two.status).to.equal('pending')
    const three = await verify([broken, world.node('a'), world.node('b')])
    expect(three.status).to.equal('holds')
  })

  it('is read receipt by receipt from a node that does not know them by block', async () => {
    const honest = world.node('poor')
    const poor: Provider = {
      name: 'poor',
      request: (call) =>
        call.method === 'eth_getBlockReceipts'
          ? Promise.reject(new Error('no such method'))
          : honest.request(call),
    }
    expect((await verify([poor])).status).to.equal('holds')
  })

  it('ends with the reason of a signal that is given', async () => {
    const signal = AbortSignal.abort(new Error('enough'))
    const work = verifySettlement(
      { chainId: CHAIN_ID, hash, reference: hash, payee: world.payee, amount: 1n, token: null },
      { providers: [world.node('a')], signal },
    )
    expect(await work.catch((error: unknown) => (error as Error).message)).to.equal('enough')
  })
})
