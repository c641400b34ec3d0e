import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'

import { keepState } from '../../../src/chain/embedded/anvil-state.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

describe('the state of the embedded chain', () => {
  it('is saved every five seconds, and in a hundredth of the time where it is large', async () => {
    const folder = temporaryFolder()
    const saves = [0, 100]
    const server = createServer((request, response) => {
      const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x00' })
      request.resume()
      setTimeout(() => response.end(answer), saves.shift())
    })
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    const { port } = server.address() as AddressInfo
    const pauses: number[] = []
    const third = Promise.withResolvers<void>()
    const clock = {
      async sleep(ms: number, signal: AbortSignal): Promise<void> {
        pauses.push(ms)
        if (pauses.length < 3) return
        third.resolve()
        await new Promise((ended) => signal.addEventListener('abort', ended))
      },
    }
    const keeper = keepState({ folder: folder.path, url: `http://127.0.0.1:${port}`, clock })
    await third.promise
    await keeper.stop()
    server.close()
    folder.remove()
    const [first, , afterSlow] = pauses
    expect(first).to.equal(5000)
    expect(afterSlow).to.be.at.least(9900)
  })
})
