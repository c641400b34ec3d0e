import { codeOf, messageOf } from '../errors.ts'

/**
 * Follows requests and orders as spans of OpenTelemetry. Where a span is undefined, traces are off.
 */
export type Tracing = {
  /** Begins a span: of a new trace, or of that of its parent. */
  start: (name: string, options?: SpanOptions) => Span
}

/** A piece of work with a begin and an end. What is set on it after its end is lost. */
export type Span = {
  readonly traceId: string
  /** For its children elsewhere: in a header or a row, in the form of W3C Trace Context. */
  readonly traceparent: string
  child: (name: string, options?: Omit<SpanOptions, 'parent'>) => Span
  set: (attributes: Attributes) => void
  /** Marks it as failed, by a code and for a person. */
  fail: (code: string, message?: string) => void
  /** Now, unless it ended earlier. */
  end: (at?: Date) => void
}

export type SpanOptions = {
  /** `server` answers a request, `client` makes one. */
  kind?: 'server' | 'client'
  /** The `traceparent` of its parent. One that is not valid counts as none. */
  parent?: string | undefined
  startedAt?: Date | undefined
  attributes?: Attributes
}

/** A value that is undefined is left out. */
export type Attributes = Readonly<Record<string, string | number | undefined>>

export type TraceContext = { traceId: string; spanId: string; flags: number }

/** Reads a `traceparent`: of version 0, or the beginning of a later one, as the standard has it. */
export function parseTraceparent(text: string | undefined): TraceContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = FORM.exec(text ?? '') ?? []
  const isKnown = version === '00' ? more === undefined : version !== 'ff'
  if (!isKnown || /^0*$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}

const FORM = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

export function traceparentOf({ traceId, spanId, flags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`
}

/** Does the work within a child of the span. */
export async function traced<T>(
  parent: Span | undefined,
  name: string,
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (parent === undefined) return work(undefined)
  const span = parent.child(name)
  try {
    return await work(span)
  } catch (error) {
    span.fail(codeOf(error) ?? 'unknown', messageOf(error))
    throw error
  } finally {
    span.end()
  }
}
