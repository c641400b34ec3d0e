import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Somebody else's Group B: what `interface.md` names and nothing more. No keys, no cursors, no
 * twins of amounts, and failures of any shape.
 */
export type BarePlatform = {
  url: string
  /** Everything that arrived, in order. */
  requests: BareRequest[]
  /** Faults stand before the next requests, one each, and are used up. */
  faults: Fault[]
  /** As JSON text, so that a test decides on every digit. */
  rows: string[]
  /** What was done, however it was answered. */
  payments: BareRequest[]
  /** Sent with every answer. */
  headers: Record<string, string>
  stop: () => Promise<void>
}

export type BareRequest = {
  method: string
  url: URL
  headers: IncomingMessage['headers']
  body: string
}

/** Answers by itself, or lets the request pass by returning true. */
export type Fault = (response: ServerResponse, request: BareRequest) => boolean

export async function startBarePlatform(): Promise<BarePlatform> {
  const platform: Omit<BarePlatform, 'url' | 'stop'> = {
    requests: [],
    faults: [],
    rows: [],
    payments: [],
    headers: {},
  }
  const take = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await readAll(incoming)
    platform.requests.push(request)
    const fault = platform.faults.shift()
    for (const [name, value] of Object.entries(platform.headers)) response.setHeader(name, value)
    if (fault === undefined || fault(response, request)) serve(platform, request, response)
  }
  const server = createServer((incoming, response) => void take(incoming, response))
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  return {
    ...platform,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      if (!server.listening) return
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

export const faults = {
  status:
    (status: number, body = '', headers: Record<string, string> = {}): Fault =>
    (response) => {
      response.writeHead(status, headers).end(body)
      return false
    },
  hangUp: (): Fault => (response) => {
    response.destroy()
    return false
  },
  /** Does what it is asked to, and then the answer is lost. */
  losesAnswer:
    (lose: Fault): Fault =>
    (response, request) => {
      lose(response, request)
      return true
    },
  silence: (): Fault => () => false,
  halfBody: (): Fault => (response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"transactions":[{"id":')
    return false
  },
  /** Promises more than it sends. */
  cutBody: (): Fault => (response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('{"transactions":')
    setImmediate(() => response.destroy())
    return false
  },
  endlessBody: (): Fault => (response) => {
    response.writeHead(200)
    const chunk = ' '.repeat(1024 * 1024)
    const more = (): void => {
      while (!response.destroyed && response.write(chunk));
      if (!response.destroyed) response.once('drain', more)
    }
    more()
    return false
  },
}

export function bareRow(id: number, amount = '10'): string {
  return (
    `{"id":${id},"transaction_id":"TX${id}","amount":${amount},"currency":"USD",` +
    `"type":"payment","status":"completed","description":"row ${id}",` +
    `"eth_transaction_hash":"","created_at":"2025-01-01T00:00:00Z",` +
    `"updated_at":"2025-01-01T00:00:00Z"}`
  )
}

function serve(
  platform: Pick<BarePlatform, 'rows' | 'payments'>,
  request: BareRequest,
  response: ServerResponse,
): void {
  const answer = (body: string, status = 200): void => {
    if (response.writableEnded || response.destroyed) return
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  }
  const { method, url } = request
  const route = `${method} ${url.pathname}`
  if (route === 'POST /api/token') {
    return answer('{"access_token":"bare-token","user_id":1,"username":"alice"}')
  }
  if (route === 'GET /api/transactions') {
    const limit = Number(url.searchParams.get('limit') ?? 50)
    const offset = Number(url.searchParams.get('offset') ?? 0)
    const page = platform.rows.slice(offset, offset + limit).join(',')
    const total = platform.rows.length
    return answer(`{"transactions":[${page}],"total":${total},"limit":${limit},"offset":${offset}}`)
  }
  if (route === 'POST /api/payments') {
    platform.payments.push(request)
    return answer('{"success":true,"transaction_id":"TX1","hosted_url":"https://a.example/"}')
  }
  return answer('not here', 404)
}

async function readAll(incoming: IncomingMessage): Promise<BareRequest> {
  let body = ''
  for await (const chunk of incoming) body += String(chunk)
  const url = new URL(incoming.url ?? '/', 'http://bare.example')
  return { method: incoming.method ?? '', url, headers: incoming.headers, body }
}
