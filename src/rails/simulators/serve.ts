import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { WebhookSender } from './webhooks.ts'

export type SimulatedRequest = {
  method: string
  path: string
  query: URLSearchParams
  headers: Readonly<Record<string, string | string[] | undefined>>
  text: string
}

export type SimulatedReply = {
  status: number
  json?: unknown
  html?: string
  headers?: Record<string, string>
  /** Does what was asked, and then never answers. */
  isSilent?: boolean
}

/** What every simulated party receives in addition to its settings. */
export type SimulatorGround = {
  now: () => number
  /** How long a day takes there. */
  dayMs: number
  /** Keeps what it has; absent: in memory. */
  folder: string | undefined
  webhooks: WebhookSender
  /** Where payers reach it, known once it listens. */
  url: () => string
}

/** An outside party: what it answers to a request. */
export type Simulated = (request: SimulatedRequest) => Promise<SimulatedReply> | SimulatedReply

export type SimulatorServer = { url: string; close: () => Promise<void> }

/** Serves a simulated party over HTTP on this machine alone. */
export async function serveSimulated(
  simulated: Simulated,
  where: { port: number } = { port: 0 },
): Promise<SimulatorServer> {
  const server = createServer((request, response) => {
    answer(simulated, request, response).catch((error: unknown) => {
      response.writeHead(500, { 'content-type': 'text/plain' }).end(String(error))
    })
  })
  // A known port is handy; where it is taken, any free one serves as well.
  await listen(server, where.port).catch(async () => listen(server, 0))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host: '127.0.0.1', port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

async function answer(
  simulated: Simulated,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://simulator')
  const reply = await simulated({
    method: request.method ?? 'GET',
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers,
    text: await readText(request),
  })
  if (reply.isSilent === true) return
  const type = reply.html === undefined ? 'application/json' : 'text/html; charset=utf-8'
  response.writeHead(reply.status, { 'content-type': type, ...reply.headers })
  response.end(reply.html ?? (reply.json === undefined ? '' : JSON.stringify(reply.json)))
}

const MAX_BODY_BYTES = 256 * 1024

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) throw new RangeError('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
