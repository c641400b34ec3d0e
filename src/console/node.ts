import type { Provider } from '../verify/index.ts'

/** A node that the visitor has chosen, asked from the visitor's own browser. */
export function nodeAt(address: string, fetching: typeof fetch = fetch): Provider {
  let id = 0
  return {
    name: new URL(address).host,
    async request({ method, params = [], signal }) {
      id += 1
      const response = await fetching(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
        signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]),
        credentials: 'omit',
        referrerPolicy: 'no-referrer',
      })
      if (!response.ok) throw new NodeFailure(`It answered with status ${response.status}.`)
      const answer = (await response.json()) as { result?: unknown; error?: { message?: string } }
      if (answer.error) throw new NodeFailure(answer.error.message ?? 'It refused the request.')
      return answer.result
    },
  }
}

const TIMEOUT_MS = 15_000

/** Undefined where the browser would not be let to it. */
export function readAddress(text: string): string | undefined {
  const url = URL.parse(text.trim())
  if (!url) return undefined
  const isNear = url.hostname === '127.0.0.1' || url.hostname === 'localhost'
  return url.protocol === 'https:' || (url.protocol === 'http:' && isNear) ? url.href : undefined
}

class NodeFailure extends Error {}
