import { BadValue } from '../errors.ts'

/** Where spans go, and which; undefined in the configuration: nowhere, and there are none. */
export type TracingConfig = {
  /** Where a collector takes OTLP as JSON over HTTP. */
  url: string
  headers: Readonly<Record<string, string>>
  serviceName: string
  sampler: Sampler
  /** Which share of the traces a sampler by ratio keeps, from 0 to 1. */
  ratio: number
}

/** `parentbased_…`: the decision of a caller who sends a `traceparent` has priority. */
export const SAMPLERS = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const

export type Sampler = (typeof SAMPLERS)[number]

/** The names are those of OpenTelemetry, which every other program of an operator reads too. */
export const TRACING_VARIABLES = {
  OTEL_EXPORTER_OTLP_ENDPOINT: 'collector that receives traces; none: no traces',
  OTEL_EXPORTER_OTLP_HEADERS: 'headers for the collector, as NAME=VALUE, comma-separated',
  OTEL_SERVICE_NAME: 'name of the service in traces',
  OTEL_TRACES_SAMPLER: 'which traces are kept, by a name of OpenTelemetry',
  OTEL_TRACES_SAMPLER_ARG: 'share of the traces that a sampler by ratio keeps, from 0 to 1',
} as const

export const SECRET_TRACING_VARIABLES: readonly string[] = ['OTEL_EXPORTER_OTLP_HEADERS']

type Reading = {
  read: <T>(name: keyof typeof TRACING_VARIABLES, parse: (text: string) => T) => T | undefined
  parseUrl: (text: string) => string
  oneOf: <const T extends string>(values: readonly T[]) => (text: string) => T
}

/** The others are set for all programs of a machine, so that without a collector none is wrong. */
export function readTracing({ read, parseUrl, oneOf }: Reading): TracingConfig | undefined {
  const endpoint = read('OTEL_EXPORTER_OTLP_ENDPOINT', parseUrl)
  if (endpoint === undefined) return undefined
  return {
    url: `${endpoint}/v1/traces`,
    headers: read('OTEL_EXPORTER_OTLP_HEADERS', parseHeaders) ?? {},
    serviceName: read('OTEL_SERVICE_NAME', (text) => text) ?? 'quittance',
    sampler: read('OTEL_TRACES_SAMPLER', oneOf(SAMPLERS)) ?? 'parentbased_always_on',
    ratio: read('OTEL_TRACES_SAMPLER_ARG', parseRatio) ?? 1,
  }
}

/** Values may be percent-encoded, as in the specification. */
function parseHeaders(text: string): Record<string, string> {
  const headers = text.split(',').map((part): [string, string] => {
    const [, name = '', value = ''] =
      /^\s*([\w!#$%&'*+.^`|~-]+)\s*=\s*([!-~]*)\s*$/.exec(part) ?? []
    if (name === '') throw new BadValue('must be NAME=VALUE for each header, separated by commas')
    return [name.toLowerCase(), decoded(value)]
  })
  return Object.fromEntries(headers)
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}

function parseRatio(text: string): number {
  const ratio = Number(text)
  if (!/^\d*\.?\d+$/.test(text) || ratio > 1) throw new BadValue('must be a number from 0 to 1')
  return ratio
}
