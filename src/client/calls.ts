import type { Runtime } from './runtime.ts'
import type { KeySupport, PostOptions, Transport, TransportOptions, WireCall } from './transport.ts'

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

export type ClientOptions = {
  baseUrl: string
  /** For a whole call; a minute by default. */
  timeoutMs?: number | undefined
  /** For each try; 15 seconds by default. */
  tryTimeoutMs?: number | undefined
  /**
   * Whether the server makes a POST happen once for its `Idempotency-Key`. Learned from its answers
   * where it is absent. Where keys are ignored, a POST that may have been acted on is not repeated.
   */
  idempotencyKeys?: KeySupport | undefined
  /** Fetch, time and chance of another place than the usual one. */
  runtime?: Partial<Runtime> | undefined
}

/** What both groups' clients give their transport. */
export function transportOptions(
  options: ClientOptions,
  runtime: Runtime,
): Omit<TransportOptions, 'credentials' | 'probe'> {
  return {
    baseUrl: options.baseUrl,
    runtime,
    timeoutMs: options.timeoutMs ?? 60_000,
    tryTimeoutMs: options.tryTimeoutMs ?? 15_000,
    idempotencyKeys: options.idempotencyKeys,
  }
}
