import type { Runtime } from './runtime.ts'

/** What a request carries to say who asks. */
export type Credentials = {
  headers: () => Promise<Record<string, string>>
  /** Told that the server refused these headers; true when others may be had. */
  onRefused: (headers: Record<string, string>) => boolean
}

export function staticCredentials(headers: Record<string, string>): Credentials {
  return { headers: () => Promise.resolve(headers), onRefused: () => false }
}

export type Token = { access_token: string; expires_in?: number | undefined }

/** A token that is fetched once for all who wait, and again shortly before it ends. */
export function tokenCredentials(runtime: Runtime, fetchToken: () => Promise<Token>): Credentials {
  let current: { headers: Record<string, string>; renewAt: number } | undefined
  let fetching: Promise<Record<string, string>> | undefined
  const renew = async (): Promise<Record<string, string>> => {
    const askedAt = runtime.now()
    const token = await fetchToken()
    const headers = { authorization: `Bearer ${token.access_token}` }
    // Counted from before the question, with a tenth to spare for clocks and for the way.
    current = { headers, renewAt: askedAt + (lifetimeMs(token) ?? Infinity) * 0.9 }
    return headers
  }
  return {
    async headers() {
      if (current && runtime.now() < current.renewAt) return current.headers
      fetching ??= renew().finally(() => (fetching = undefined))
      return fetching
    },
    onRefused(headers) {
      if (current?.headers === headers) current = undefined
      return true
    },
  }
}

/** `expires_in` is an addition of some servers; any JWT may tell its times itself. */
function lifetimeMs(token: Token): number | undefined {
  const seconds = Number(token.expires_in ?? lifetimeOfJwt(token.access_token))
  return seconds > 0 ? seconds * 1000 : undefined
}

function lifetimeOfJwt(token: string): number | undefined {
  try {
    const payload = token.split('.')[1] ?? ''
    const { exp, iat } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')))
    // The server's clock may be another than ours; the difference of its own times is not.
    return exp - iat
  } catch {
    return undefined
  }
}
