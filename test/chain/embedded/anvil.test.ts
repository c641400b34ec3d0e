import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { expect } from 'chai'

import { codeOf } from '../../../src/base/errors.ts'
import { isRunning } from '../../../src/base/process.ts'
import {
  startAnvil,
  type AnvilOptions,
  type EmbeddedChain,
} from '../../../src/chain/embedded/anvil.ts'
import { callRpc } from '../../../src/chain/rpc/rpc.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { until } from '../../fixtures/until.ts'

const MNEMONIC = 'test test test test test test test test test test test junk'
const NOBODY = '0x000000000000000000000000000000000000dEaD'

describe('the embedded chain', () => {
  let folder: ReturnType<typeof temporaryFolder>
  let chain: EmbeddedChain

  beforeEach(async () => {
    folder = temporaryFolder()
    chain = await start()
  })

  afterEach(async () => {
    await chain.stop()
    folder.remove()
  })

  const start = (options: Partial<AnvilOptions> = {}): Promise<EmbeddedChain> =>
    startAnvil({
      folder: folder.path,
      blockMs: 50,
      mnemonic: MNEMONIC,
      preferredPort: 0,
      ...options,
    })

  it('makes blocks and stops with nothing left', async () => {
    await payOnce()
    await chain.stop()
    expect(isRunning(chain.pid)).to.equal(false)
  })

  it('goes on with the same blocks and receipts after a stop', async () => {
    const hash = await payOnce()
    await chain.stop()
    chain = await start()
    expect(await receiptOf(hash)).to.include({ status: '0x1' })
  })

  it('has the state of the block below the newest one after a stop', async () => {
    await payOnce()
    await chain.stop()
    // No block comes by itself.
    chain = await start({ blockMs: 60_000 })
    const { url } = chain
    const height = BigInt(String(await callRpc({ url, method: 'eth_blockNumber' })))
    const params = [NOBODY, `0x${(height - 1n).toString(16)}`]
    expect(await callRpc({ url, method: 'eth_getBalance', params })).to.equal('0x0')
  })

  it('ends the one that a killed program left behind, and loses none of its blocks', async () => {
    const orphan = chain
    const hash = await payOnce()
    chain = await start()
    expect(isRunning(orphan.pid)).to.equal(false)
    expect(await receiptOf(hash)).to.include({ status: '0x1' })
    await orphan.stop()
  })

  it('leaves a process alone that was given the recorded id', async () => {
    await chain.stop()
    writeFileSync(join(folder.path, 'anvil.pid'), String(process.ppid))
    chain = await start()
    expect(isRunning(process.ppid)).to.equal(true)
  })

  it('takes another port where the preferred one is in use', async () => {
    await chain.stop()
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((ready) => server.once('listening', ready))
    const { port } = server.address() as AddressInfo
    chain = await start({ preferredPort: port })
    expect(chain.url).not.to.include(`:${port}`)
    server.close()
  })

  it('records the id of the process before it is anvil', () => {
    expect(readFileSync(join(folder.path, 'anvil.pid'), 'utf8').trim()).to.equal(String(chain.pid))
  })

  it('refuses a saved state that is damaged, with what to do', async () => {
    await chain.stop()
    writeFileSync(join(folder.path, 'state.json.gz'), 'not gzip')
    expect((await failureOf(() => start())).code).to.equal('chain_state_damaged')
  })

  it('tells when it has ended by itself', async () => {
    const ended = new Promise<void>((resolve) => chain.onEnd(resolve))
    process.kill(chain.pid, 'SIGKILL')
    await ended
  })

  it('ends with us though its folder is gone, and says that nothing was saved', async () => {
    folder.remove()
    const failure = await chain.stop().then(() => undefined, codeOf)
    expect([failure, isRunning(chain.pid)]).to.deep.equal(['ENOENT', false])
  })

  async function payOnce(): Promise<string> {
    const [from, to] = (await callRpc({ url: chain.url, method: 'eth_accounts' })) as string[]
    const params = [{ from, to, value: '0x1' }]
    const hash = String(await callRpc({ url: chain.url, method: 'eth_sendTransaction', params }))
    await until(async () => (await receiptOf(hash)) !== null)
    return hash
  }

  function receiptOf(hash: string): Promise<unknown> {
    return callRpc({ url: chain.url, method: 'eth_getTransactionReceipt', params: [hash] })
  }
})
