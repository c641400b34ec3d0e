import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import path from 'node:path'

import {
  createTestClient,
  http,
  publicActions,
  walletActions,
  type EIP1193RequestFn,
  type HttpTransport,
} from 'viem'

export type TestChain = {
  url: string
  client: ReturnType<typeof clientOf>
  stop(): Promise<void>
}

/** A chain of its own on a free port. It mines each transaction at once unless told otherwise. */
export async function startChain(...options: string[]): Promise<TestChain> {
  const child = spawn(binary(), ['--port', '0', ...options], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await listeningUrl(child)
  return {
    url,
    client: clientOf(url),
    stop: async () => {
      const ended = once(child, 'exit')
      child.kill()
      await ended
    },
  }
}

function clientOf(url: string) {
  return createTestClient({
    mode: 'anvil',
    transport: mining(http(url)),
    pollingInterval: 20,
    cacheTime: 0,
  })
    .extend(publicActions)
    .extend(walletActions)
}

/**
 * anvil answers before it has mined; here a transaction is mined when its hash is known. Its pool
 * lets go of one a moment after there is a receipt, and tells of it as waiting until then.
 */
function mining(transport: HttpTransport): HttpTransport {
  return (options) => {
    const inner = transport(options)
    const request: typeof inner.request = async (call) => {
      const result = await inner.request(call)
      if (SENDING.has(call.method)) await untilMined(inner.request, result)
      return result as never
    }
    return { ...inner, request }
  }
}

const SENDING: ReadonlySet<string> = new Set(['eth_sendTransaction', 'eth_sendRawTransaction'])

/** A transaction that has to wait for its turn is not waited for. */
async function untilMined(request: EIP1193RequestFn, hash: unknown): Promise<void> {
  const ask = (method: string, ...params: unknown[]): Promise<unknown> =>
    request({ method, params } as never)
  if ((await ask('anvil_getAutomine')) === false) return
  for (let round = 0; round < 100; round++) {
    const shown = (await ask('eth_getTransactionByHash', hash)) as { blockHash: unknown } | null
    if (shown?.blockHash) return
    await new Promise((later) => setTimeout(later, 5))
  }
}

/** The package's own command is a wrapper that leaves the chain running when it is stopped. */
function binary(): string {
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch
  const require = createRequire(import.meta.url)
  const home = require.resolve(`@foundry-rs/anvil-${process.platform}-${cpu}/package.json`)
  return path.join(path.dirname(home), 'bin', 'anvil')
}

async function listeningUrl(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk)
    const address = /Listening on (\S+:\d+)/.exec(text)?.[1]
    if (address !== undefined) {
      child.stdout?.resume()
      return `http://${address}`
    }
  }
  throw new Error(`The test chain did not start: ${text}`)
}
