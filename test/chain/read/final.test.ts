import { expect } from 'chai'

import { systemClock } from '../../../src/base/clock.ts'
import { toQuantity } from '../../../src/chain/answers.ts'
import { askEach, type Finality } from '../../../src/chain/quorum.ts'
import { createFinal } from '../../../src/chain/read/final.ts'
import { createProviders } from '../../../src/chain/rpc/providers.ts'
import { RpcError } from '../../../src/chain/rpc/rpc-error.ts'
import { startChain, type TestChain } from '../../fixtures/chain/anvil.ts'
import { startNode } from '../../fixtures/chain/scripted-node.ts'
import { expectFailure } from '../../fixtures/errors.ts'

const never = new AbortController().signal

describe('what is final', () => {
  let chain: TestChain

  before(async () => {
    chain = await startChain()
  })
  after(() => chain.stop())

  const finalAt = (url: string, finality: Finality) => {
    const shared = { chainId: 31_337, clock: systemClock, random: () => 0 }
    return createFinal({ providers: createProviders({ ...shared, urls: [url] }), finality })(never)
  }

  it('follows the head by the confirmations, or is what the chain itself calls so', async () => {
    expect(await finalAt(chain.url, 3)).to.equal(undefined)
    await chain.client.mine({ blocks: 100 })
    expect(await finalAt(chain.url, 3)).to.equal(98n)
    expect(await finalAt(chain.url, 1)).to.equal(100n)
    const { number } = await chain.client.getBlock({ blockTag: 'finalized' })
    expect(await finalAt(chain.url, 'finalized')).to.equal(number)
    expect(Number(number)).to.be.within(1, 99)
  })

  it('is not guessed from an answer that cannot be read', async () => {
    for (const block of ['soon', 7, {}, { number: 1 }, { number: '0xno' }]) {
      const node = await startNode(31_337, () => block)
      await expectFailure(() => finalAt(node.url, 1), 'chain_answer_unreadable')
      await node.stop()
    }
  })

  const finalOf = async (...heads: (bigint | undefined)[]) => {
    const nodes = heads.map((head, index) => ({ name: `node ${index}`, head }))
    const askAll = () =>
      askEach(nodes, async ({ head }) => {
        if (head === undefined) throw DOWN
        return { number: toQuantity(head) }
      })
    return createFinal({ providers: { askAll }, finality: 3 })(never)
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
