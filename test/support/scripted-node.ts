import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Message = { id: number; method: string; params: readonly unknown[] }

export type ScriptedAnswer = {
  status?: number
  headers?: Record<string, string>
  /** A text is sent as it is, anything else as JSON; undefined ends the connection. */
  body: unknown
}

export type ScriptedNode = {
  url: string
  name: string
  /** The latest request's headers. */
  headers: () => IncomingHttpHeaders
  requests: (Message | Message[])[]
  stop: () => Promise<void>
}

/** An HTTP server that answers JSON-RPC as a test says. */
export async function startScriptedNode(
  script: (message: Message | Message[]) => ScriptedAnswer | Promise<ScriptedAnswer>,
): Promise<ScriptedNode> {
  const requests: (Message | Message[])[] = []
  let headers: IncomingHttpHeaders = {}
  const server = createServer((request, response) => {
    headers = request.headers
    let text = ''
    request.on('data', (chunk: Buffer) => (text += chunk.toString()))
    request.on('end', () => {
      const message = JSON.parse(text) as Message | Message[]
      requests.push(message)
      void Promise.resolve(script(message)).then(({ status = 200, headers = {}, body }) => {
        if (body === undefined) return response.destroy()
        return response
          .writeHead(status, headers)
          .end(typeof body === 'string' ? body : JSON.stringify(body))
      })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    name: `127.0.0.1:${port}`,
    headers: () => headers,
    requests,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** A node that serves the chain and answers each call by the function, a refusal by throwing. */
export function startNode(
  chainId: number,
  answer: (message: Message) => unknown,
): Promise<ScriptedNode> {
  const one = (message: Message): object => {
    const id = { jsonrpc: '2.0', id: message.id }
    if (message.method === 'eth_chainId') return { ...id, result: `0x${chainId.toString(16)}` }
    try {
      return { ...id, result: answer(message) }
    } catch (error) {
      return { ...id, error: { code: -32_000, message: (error as Error).message } }
    }
  }
  return startScriptedNode((message) => ({
    body: Array.isArray(message) ? message.map(one) : one(message),
  }))
}
