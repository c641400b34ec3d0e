import { request as open, type Agent } from 'node:http'

import type { FuzzRequest } from './requests.ts'

export type FuzzAnswer = {
  status: number
  headers: Record<string, unknown>
  text: string
}

/**
 * Sends the request as it is. The platform's own client would refuse or mend half of what is to be
 * tried. Rejects where the answer does not come in time.
 */
export function send(
  request: FuzzRequest,
  options: { url: string; agent: Agent; timeoutMs: number },
): Promise<FuzzAnswer> {
  const { url, agent, timeoutMs } = options
  const { hostname, port } = new URL(url)
  const { method, headers, body } = request
  const { promise, resolve, reject } = Promise.withResolvers<FuzzAnswer>()
  const hasLength = body !== undefined && headers['transfer-encoding'] === undefined
  const length = hasLength ? { 'content-length': String(Buffer.byteLength(body)) } : {}
  const outgoing = open({
    hostname,
    port,
    agent,
    method,
    path: request.url,
    headers: { ...headers, ...length },
    signal: AbortSignal.timeout(timeoutMs),
  })
  outgoing.once('error', reject)
  outgoing.once('response', (response) => {
    const chunks: Buffer[] = []
    // A stream of events goes on for ever; that it begins is its answer.
    if (String(response.headers['content-type']).startsWith('text/event-stream')) {
      response.once('data', (chunk: Buffer) => {
        const { statusCode: status = 0, headers } = response
        resolve({ status, headers, text: chunk.toString() })
        outgoing.destroy()
      })
    }
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.once('error', reject)
    response.once('end', () => {
      const text = Buffer.concat(chunks).toString()
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
    })
  })
  outgoing.end(body)
  return promise
}
