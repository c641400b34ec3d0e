import type { Provider } from '../../src/chain/provider.ts'
import type { Providers } from '../../src/chain/providers.ts'
import type { RpcError } from '../../src/chain/rpc-error.ts'

/** Providers that a test has made, asked together. */
export function togetherOf(all: readonly Provider[]): Pick<Providers, 'all' | 'askAll'> {
  return {
    all: all as Providers['all'],
    askAll: (call) =>
      Promise.all(
        all.map(async (provider) => {
          try {
            return { provider: provider.name, ok: true, result: await provider.request(call) }
          } catch (error) {
            return { provider: provider.name, ok: false, error: error as RpcError }
          }
        }),
      ),
  }
}
