import { expect } from 'chai'

import { readChainId } from '../../../src/chain/rpc/chain-id.ts'
import {
  startNode,
  startScriptedNode,
  type ScriptedNode,
} from '../../fixtures/chain/scripted-node.ts'
import { expectFailure } from '../../fixtures/errors.ts'

describe('the chain of some providers', () => {
  const nodes: ScriptedNode[] = []
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map((node) => node.stop()))
  })
  const on = async (...chainIds: number[]): Promise<string[]> => {
    const started = await Promise.all(chainIds.map((id) => startNode(id, () => null)))
    nodes.push(...started)
    return started.map(({ url }) => url)
  }
  const SILENT = 'http://127.0.0.1:1/SECRETSECRET'

  it('is what they agree on, the silent ones left aside', async () => {
    expect(await readChainId({ urls: [SILENT, ...(await on(5, 5))] })).to.equal(5)
  })

  it('is what most of them say', async () => {
    expect(await readChainId({ urls: await on(7, 5, 5) })).to.equal(5)
  })

  it('is refused when it is undecided', async () => {
    const urls = await on(5, 7)
    const error = await expectFailure(() => readChainId({ urls }), 'chain_ids_differ')
    expect(error.message).to.include('serves chain 5').and.to.include('serves chain 7')
  })

  it('is unknown when nobody tells', async () => {
    const error = await expectFailure(() => readChainId({ urls: [SILENT] }), 'rpc_unreachable')
    expect(error.message).not.to.include('SECRET')
    for (const result of ['0x0', 'mainnet', 1, null]) {
      const odd = await startScriptedNode(() => ({ body: { id: 1, result } }))
      nodes.push(odd)
      await expectFailure(() => readChainId({ urls: [odd.url] }), 'chain_id_unknown')
    }
  })
})
