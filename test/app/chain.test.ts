import { expect } from 'chai'
import { pino } from 'pino'

import { requireChain, startChain } from '../../src/app/chain.ts'
import { parseConfig } from '../../src/base/config.ts'
import { createShutdown } from '../../src/base/shutdown.ts'
import { startNode, startScriptedNode } from '../fixtures/chain/scripted-node.ts'
import { expectFailure } from '../fixtures/errors.ts'

describe('the chain of the program', () => {
  it('is ready while one of its providers serves it', async () => {
    let chainId = '0x5'
    const steady = await startNode(5, () => null)
    const turning = await startScriptedNode((message) => ({
      body: { id: Array.isArray(message) ? 0 : message.id, result: chainId },
    }))
    const lines: string[] = []
    const chain = await startChain({
      config: parseConfig({ ETH_RPC_URL: `${steady.url},${turning.url}` }),
      logger: pino({}, { write: (line) => void lines.push(line) }),
      shutdown: createShutdown(),
      onEnd: () => undefined,
      onEvent: () => undefined,
    })
    expect([chain.chainId, chain.providers.all.length]).to.deep.equal([5, 2])
    await requireChain(chain)
    chainId = '0x6'
    await requireChain(chain)
    expect(lines.join()).to.include('wrong_chain').and.to.include(turning.name)
    await steady.stop()
    await expectFailure(() => requireChain(chain), 'rpc_wrong_chain')
    await turning.stop()
  })

  it('is not begun on a provider of another chain than the file names', async () => {
    const node = await startNode(5, () => null)
    const start = (chainId: number) =>
      startChain({
        config: { ...parseConfig({ ETH_RPC_URL: node.url }), chainId },
        logger: pino({ level: 'silent' }),
        shutdown: createShutdown(),
        onEnd: () => undefined,
        onEvent: () => undefined,
      })
    expect(await start(5)).to.include({ chainId: 5 })
    await expectFailure(() => start(6), 'rpc_wrong_chain')
    await node.stop()
  })
})
