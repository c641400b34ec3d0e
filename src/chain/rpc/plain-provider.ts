import { callRpc, nameOfProvider } from './rpc.ts'
import type { Provider } from './provider.ts'

/** A node behind an address, for one that is only asked. */
export function plainProvider(url: string): Provider {
  return {
    name: nameOfProvider(url),
    request: (call) => callRpc({ url, ...call }),
  }
}
