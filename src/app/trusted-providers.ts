import type { Config } from '../base/config.ts'
import { BaseError } from '../base/errors.ts'
import { isLoopbackHost } from '../webhooks/targets.ts'

type Settings = Pick<Config, 'environment' | 'rpcUrls' | 'trustsOneProvider'>

/**
 * Outside the sandbox two providers must agree, unless the operator trusts one by name. Returns
 * what the operator should know then.
 */
export function requireTrustedProviders(settings: Settings): string[] {
  const { environment, rpcUrls, trustsOneProvider } = settings
  if (environment === 'sandbox') return []
  const endpoints = [...new Set(rpcUrls.map(endpointOf))]
  if (endpoints.length > 1) return []
  const only = endpoints[0] ?? 'the embedded chain'
  if (!trustsOneProvider) throw new OneProviderError(environment, endpoints[0])
  return [
    `No second provider confirms what ${only} says about the chain ` +
      '(QUITTANCE_TRUST_ONE_PROVIDER=yes). Add one to ETH_RPC_URL.',
  ]
}

/**
 * Host and port: two paths of one server are one provider, who answers as it likes at both. All
 * names of this machine are one host.
 */
function endpointOf(text: string): string {
  const { hostname, port, protocol } = new URL(text)
  const host = hostname.replace(/\.$/, '')
  const isLoopback = isLoopbackHost(host.replace(/^\[(.*)\]$/, '$1'))
  return `${isLoopback ? 'localhost' : host}:${port || (protocol === 'https:' ? 443 : 80)}`
}

class OneProviderError extends BaseError {
  constructor(environment: string, endpoint: string | undefined) {
    const named = endpoint === undefined ? 'names none' : `names only ${endpoint}`
    super(
      `The ${environment} environment needs two providers that agree, and ETH_RPC_URL ` +
        `${named}. Add a provider, or trust one with QUITTANCE_TRUST_ONE_PROVIDER=yes.`,
      { code: 'one_provider', details: { endpoint } },
    )
  }
}
