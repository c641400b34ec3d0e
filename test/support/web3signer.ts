import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { keccak256, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

export type Web3SignerServer = {
  url: string
  /** What was asked for, as path and data. */
  asked: { path: string; data: Hex | undefined }[]
  stop: () => Promise<void>
}

type Reply = { status?: number; text: string }

/**
 * Speaks the part of Web3Signer's eth1 API that signs. `distort` may answer in its place, given
 * what a true one would answer.
 */
export async function startWeb3Signer(options: {
  keys: readonly Hex[]
  distort?: (truth: Reply, payload: Hex) => Reply | Promise<Reply>
}): Promise<Web3SignerServer> {
  const { keys, distort = (truth) => truth } = options
  const accounts = keys.map((key) => privateKeyToAccount(key))
  // Web3Signer names keys by their 64 bytes, without the leading 04.
  const nameOf = (publicKey: Hex): string => `0x${publicKey.slice(4)}`
  const asked: Web3SignerServer['asked'] = []
  const reply = async (path: string, data: Hex | undefined): Promise<Reply> => {
    asked.push({ path, data })
    if (path === '/api/v1/eth1/publicKeys') {
      return { text: JSON.stringify(accounts.map(({ publicKey }) => nameOf(publicKey))) }
    }
    const account = accounts.find(
      ({ publicKey }) => path === `/api/v1/eth1/sign/${nameOf(publicKey)}`,
    )
    if (account === undefined || data === undefined) return { status: 404, text: 'Not Found' }
    return distort({ text: await account.sign({ hash: keccak256(data) }) }, data)
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const data = body ? (JSON.parse(body) as { data: Hex }).data : undefined
      void reply(request.url ?? '', data).then(({ status = 200, text }) =>
        response.writeHead(status, { 'content-type': 'text/plain' }).end(text),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
