import { callRpc, nameOfProvider } from './rpc.ts'

/**
 * One Ethereum node as the rest of the product sees it: it answers JSON-RPC, slowly, wrongly or not
 * at all. A rejection is never a fact about the chain.
 */
export type Provider = {
  /** Shown to people and kept as evidence; carries no key of the address. */
  name: string
  request: (call: RpcCall) => Promise<unknown>
}

/** One JSON-RPC call; the signal ends the wait for its answer. */
export type RpcCall = {
  method: string
  params?: readonly unknown[]
  signal?: AbortSignal
}

/**
 * A node behind an address, for one that is only asked.
 *
 * @example
 *   ```ts
 *   import { plainProvider } from 'quittance/verify'
 *
 *   const providers = [plainProvider('https://one.example'), plainProvider('https://two.example')]
 *   console.log(providers.map(({ name }) => name))
 *   ```
 */
export function plainProvider(url: string): Provider {
  return {
    name: nameOfProvider(url),
    request: (call) => callRpc({ url, ...call }),
  }
}
