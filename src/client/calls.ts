import type { PostOptions, Transport, WireCall } from './transport.ts'

export type Call = <T>(wire: WireCall, options?: PostOptions) => Promise<T>

/** The server is believed on the types of its fields; those that must be there are looked for. */
export function callerOf(transport: Transport): Call {
  return async <T>(wire: WireCall, options?: PostOptions) =>
    (await transport.send(wire, options)) as T
}

export function get(
  path: string,
  requires: readonly string[],
  query?: WireCall['query'],
): WireCall {
  return { method: 'GET', path, requires, query }
}
