import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { createServer as createRawServer, type AddressInfo, type Socket } from 'node:net'

export type Received = {
  path: string
  headers: IncomingHttpHeaders
  body: string
  /** The `sequence` of the notification, 0 for a ping. */
  sequence: number
}

export type Receiver = {
  url: string
  port: number
  /** Everything that arrived, in the order in which it did. */
  received: Received[]
  /** The most requests that were open at once. */
  most: () => number
  /** Says what becomes of the next requests; a 204 until it is called. */
  answer: (how: Answering) => void
  close: () => Promise<void>
}

export type Answering = (response: ServerResponse, request: Received) => void

/** The far side of a webhook: a real server that does with a request what the test says. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  let answering: Answering = status(204)
  let open = 0
  let most = 0
  const server = createServer((request, response) => {
    open += 1
    most = Math.max(most, open)
    response.on('close', () => (open -= 1))
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const { sequence = 0 } = JSON.parse(body) as { sequence?: number }
      const one = { path: request.url ?? '', headers: request.headers, body, sequence }
      received.push(one)
      answering(response, one)
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    port,
    received,
    most: () => most,
    answer: (how) => void (answering = how),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A far side that speaks no HTTP that a server of Node would: it answers with these bytes. */
export async function startRawServer(
  answer: string,
): Promise<{ url: string; connections: () => number; close: () => Promise<void> }> {
  const sockets: Socket[] = []
  const server = createRawServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(answer))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    connections: () => sockets.length,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export function status(code: number, headers: Record<string, string> = {}): Answering {
  return (response) => void response.writeHead(code, headers).end()
}

/** One after the other; the last one stays. */
export function inTurn(...turns: Answering[]): Answering {
  let turn = 0
  return (response, request) => turns[Math.min(turn++, turns.length - 1)]?.(response, request)
}

/** Takes the request and says nothing. */
export const hang: Answering = () => undefined

export const hangUp: Answering = (response) => void response.destroy()
