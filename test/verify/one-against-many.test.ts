import { expect } from 'chai'
import type { Hex } from 'viem'

import { headerOfBlock } from '../../src/chain/proof/header.ts'
import type { Provider } from '../../src/chain/rpc/provider.ts'
import type { DisagreementKind, Verdict } from '../../src/verify/verdict.ts'
import { verifyMint } from '../../src/verify/verify-supply.ts'
import { verifySettlement, verifyTransaction } from '../../src/verify/verify-transaction.ts'
import {
  CHAIN_ID,
  calls,
  lying,
  reference,
  startPaidChain,
  type Lie,
  type PaidChain,
} from '../fixtures/books/verify.ts'

type Shown = Record<string, unknown>

describe('one provider against the others', () => {
  let world: PaidChain
  let hash: Hex
  let mint: Hex

  before(async () => {
    world = await startPaidChain()
    const data = calls.settle(reference(1), world.payee)
    hash = await world.send({ to: world.settlement, data, value: 100n })
    const args = { to: world.payee, amount: 70n, memo: reference(2) }
    mint = await world.send({ to: world.dollar, data: calls.dollar('mintWithMemo', args) })
    await world.mine(3)
  })
  after(() => world.chain.stop())

  const beside = (lie: Lie, ...honest: string[]): Provider[] => [
    lying(world.node('x'), lie),
    ...honest.map(world.node),
  ]
  const settlement = (providers: Provider[], of = hash): Promise<Verdict> =>
    verifySettlement(
      {
        chainId: CHAIN_ID,
        hash: of,
        reference: reference(1),
        payee: world.payee,
        amount: 100n,
        token: null,
      },
      { providers, confirmations: 2 },
    )
  const minted = (providers: Provider[], more: object = {}): Promise<Verdict> =>
    verifyMint(
      {
        chainId: CHAIN_ID,
        token: world.dollar,
        profile: 'memo',
        payee: world.payee,
        amount: 70n,
        blocks: { from: 0n, to: 9n },
        ...more,
      },
      { providers, confirmations: 1 },
    )

  it('is the one who is named, when it shows a whole chain of its own', async () => {
    const other = await startPaidChain()
    try {
      const data = calls.settle(reference(1), world.payee)
      await other.send({ to: other.payee, value: 1n })
      const forged = await other.send({ to: other.settlement, data, value: 100n })
      await other.mine(2)
      const providers = [other.node('liar'), world.node('a'), world.node('b')]
      const verdict = await settlement(providers, forged)
      expect(kindsOf(verdict)).to.deep.equal(['missing'])
      expect(verdict.complaints.map(({ provider }) => provider)).to.deep.equal(['liar'])
    } finally {
      await other.chain.stop()
    }
  })

  it('does not hold a payment back by an old head', async () => {
    const isLatest = ({ method, params }: Parameters<Lie>[0]): boolean =>
      method === 'eth_getBlockByNumber' && params[0] === 'latest'
    const first = await world.node('x').request({
      method: 'eth_getBlockByNumber',
      params: ['0x1', false],
    })
    const verdict = await settlement(
      beside((call, answer) => (isLatest(call) ? first : answer), 'a', 'b'),
    )
    expect(verdict.status).to.equal('holds')
  })

  it('does not make a waiting payment one that was replaced', async () => {
    const { client } = world.chain
    await client.setAutomine(false)
    try {
      const waiting = await world.send({ to: world.payee, value: 1n })
      const lie: Lie = ({ method }, answer) =>
        method === 'eth_getTransactionCount' ? '0xffff' : answer
      const claim = { chainId: CHAIN_ID, hash: waiting }
      const verdict = await verifyTransaction(claim, { providers: beside(lie, 'a') })
      expect(kindsOf(verdict)).to.deep.equal(['not_mined'])
      await client.dropTransaction({ hash: waiting })
    } finally {
      await client.setAutomine(true)
    }
  })

  it('is named when it serves another chain, though the others suffice', async () => {
    const lie: Lie = ({ method }, answer) => (method === 'eth_chainId' ? '0x1' : answer)
    const verdict = await settlement(beside(lie, 'a', 'b'))
    expect(verdict.status).to.equal('holds')
    expect(verdict.complaints[0]).to.include({ provider: 'liar', kind: 'disagrees' })
  })

  it('is told of when it could not be heard, though the others suffice', async () => {
    const broken: Provider = { name: 'broken', request: () => Promise.reject(new Error('html')) }
    const verdict = await settlement([broken, world.node('a'), world.node('b')])
    expect(verdict.status).to.equal('holds')
    expect(verdict.complaints).to.deep.equal([])
    expect(verdict.caveats.some((caveat) => caveat.includes('broken'))).to.equal(true)
  })

  it('is named when it hides that a payment is mined, unless a block came between', async () => {
    const unmined = (times: number): Lie => {
      let left = times
      return ({ method }, answer) =>
        method === 'eth_getTransactionByHash' && left-- > 0
          ? { ...(answer as Shown), blockHash: null, blockNumber: null, transactionIndex: null }
          : answer
    }
    const always = await settlement(beside(unmined(99), 'a', 'b'))
    expect(always.status).to.equal('holds')
    expect(always.complaints[0]).to.include({ provider: 'liar', kind: 'withholds' })
    expect((await settlement(beside(unmined(1), 'a', 'b'))).complaints).to.deep.equal([])
  })

  it('is not blamed for having no old states', async () => {
    const honest = world.node('pruned')
    const pruned: Provider = {
      name: 'pruned',
      request: (call) =>
        call.method === 'eth_call' || call.method === 'eth_getStorageAt'
          ? Promise.reject(new Error('missing trie node'))
          : honest.request(call),
    }
    for (const providers of [
      [pruned, world.node('a')],
      [world.node('a'), pruned],
    ]) {
      const verdict = await minted(providers, { hash: mint })
      expect(verdict.status).to.equal('holds')
      expect(verdict.complaints).to.deep.equal([])
      expect(verdict.evidence?.tokenState?.paused).to.equal(false)
    }
  })

  it('is named when it alone calls a token paused, and nobody where two differ', async () => {
    const lie: Lie = ({ method }, answer) =>
      method === 'eth_call' ? `0x${'0'.repeat(63)}1` : answer
    const three = await minted(beside(lie, 'a', 'b'), { hash: mint })
    expect(three.complaints.map(({ provider }) => provider)).to.deep.equal(['liar'])
    expect(three.evidence?.tokenState).to.include({ paused: false, frozen: false })
    const two = await minted(beside(lie, 'a'), { hash: mint })
    expect(two.complaints).to.deep.equal([])
    expect(two.evidence?.tokenState?.paused).to.equal(undefined)
  })

  it('does not make a search ambiguous by naming what is not mined', async () => {
    const { client } = world.chain
    await client.setAutomine(false)
    try {
      const args = { to: world.payee, amount: 70n, memo: reference(3) }
      const data = calls.dollar('mintWithMemo', args)
      const waiting = await world.send({ to: world.dollar, data })
      const verdict = await minted(beside(naming([waiting]), 'a'))
      expect(verdict.status).to.equal('holds')
      expect(verdict.evidence?.transaction.hash).to.equal(mint)
      await client.dropTransaction({ hash: waiting })
    } finally {
      await client.setAutomine(true)
    }
  })

  it('is named when it floods a search, and the others are followed', async () => {
    const flood = Array.from({ length: 40 }, (_, at) => reference(500 + at))
    const verdict = await minted(beside(naming(flood), 'a', 'b'))
    expect(verdict.status).to.equal('holds')
    expect(verdict.complaints.some(({ provider }) => provider === 'liar')).to.equal(true)
  })

  it('does not end a search in an exception by a chain of endless blocks', async () => {
    const lie: Lie = ({ method, params }, answer) => {
      if (method !== 'eth_getBlockByNumber') return answer
      const number = params[0] === 'latest' ? '0x7fffffff' : params[0]
      const block = { ...((answer as Shown | null) ?? genesis), number }
      return { ...block, hash: headerOfBlock(block).hash }
    }
    const genesis = (await world.node('x').request({
      method: 'eth_getBlockByNumber',
      params: ['0x0', false],
    })) as Shown
    const window = { from: new Date(0) }
    const verdict = await minted(beside(lie, 'a', 'b'), { blocks: undefined, window })
    expect(verdict.status).to.equal('holds')
  })

  it('is not blamed for the Transfer of a collectible, whose data is empty', async () => {
    const collectible: Lie = ({ method }, answer) =>
      method === 'eth_getLogs'
        ? [...(answer as Shown[]), { ...(answer as Shown[])[0], data: '0x' }]
        : answer
    const verdict = await minted(beside(collectible, 'a'))
    expect(verdict.status).to.equal('holds')
    expect(verdict.complaints).to.deep.equal([])
  })

  function naming(hashes: readonly Hex[]): Lie {
    return ({ method }, answer) => {
      if (method !== 'eth_getLogs') return answer
      const [log] = answer as Shown[]
      return [...(answer as Shown[]), ...hashes.map((one) => ({ ...log, transactionHash: one }))]
    }
  }
})

function kindsOf(verdict: Verdict): DisagreementKind[] {
  return verdict.disagreements.map(({ kind }) => kind)
}
