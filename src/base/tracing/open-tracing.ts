import { randomUUID } from 'node:crypto'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'

import type * as Api from '@opentelemetry/api'
import type * as Sdk from '@opentelemetry/sdk-trace'

import { BaseError, messageOf } from '../errors.ts'
import type { Logger } from '../logger.ts'
import type { TracingConfig } from './config.ts'
import {
  parseTraceparent,
  traceparentOf,
  type Attributes,
  type Span,
  type SpanOptions,
  type Tracing,
} from './tracing.ts'

export type OpenTracing = Tracing & {
  /** Sends what waits, for a few seconds at most. */
  stop: () => Promise<void>
}

/** What has become of spans that have ended. */
export type SpanNews = { kind: 'exported' | 'dropped'; count: number }

type Options = {
  config: TracingConfig
  logger: Logger
  /** What is said of this process with each span. */
  resource: Attributes
  /** For metrics. */
  onNews: (news: SpanNews) => void
  /** A test has less patience. */
  times?: typeof TIMES
}

/**
 * Loads the packages of OpenTelemetry, which are not loaded before. Spans wait in memory and go to
 * the collector in batches; nothing that is traced waits for it. While it cannot be reached, and
 * where more spans end than it takes, spans are dropped and counted.
 */
export async function openTracing(options: Options): Promise<OpenTracing> {
  const { api, sdk, resources, exporting } = await load()
  const { config, resource, times: { exportMs } = TIMES } = options
  const ways = { keepAlive: true }
  const isHttps = config.url.startsWith('https:')
  const agent = isHttps ? new HttpsAgent(ways) : new HttpAgent(ways)
  const exporter = new exporting.OTLPTraceExporter({
    url: config.url,
    headers: { ...config.headers },
    timeoutMillis: exportMs,
    httpAgentOptions: () => agent,
  })
  const own = resources.resourceFromAttributes({
    'service.name': config.serviceName,
    'service.instance.id': randomUUID(),
    ...resource,
  })
  const provider = new sdk.TracerProvider({
    resource: resources.defaultResource().merge(own),
    sampler: samplerOf(sdk, config),
    spanProcessors: [createProcessor(sdk, exporter, options)],
  })
  const start = createStart(api, provider.getTracer('quittance'))
  return {
    start(name, { parent, ...options } = {}) {
      const known = parseTraceparent(parent)
      if (known === undefined) return start(name, options, api.ROOT_CONTEXT)
      const { traceId, spanId, flags: traceFlags } = known
      const context = { traceId, spanId, traceFlags, isRemote: true }
      return start(name, options, api.trace.setSpanContext(api.ROOT_CONTEXT, context))
    },
    async stop() {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, exportMs)
      // What could not be sent is counted where it failed.
      await Promise.race([provider.shutdown().catch(() => undefined), promise])
      clearTimeout(timer)
      // A collector that never ends its answer must not keep the program.
      agent.destroy()
    },
  }
}

/** `ExportResultCode.SUCCESS`. */
const EXPORTED = 0
const TIMES = {
  /** For one batch, with its repeats. A program that stops waits no longer. */
  exportMs: 4000,
  pauseMs: 2000,
}
/** Of a few KB each at most. */
const MAX_WAITING = 8192
const BATCH = 512

const PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/sdk-trace',
  '@opentelemetry/resources',
  '@opentelemetry/exporter-trace-otlp-http',
] as const

async function load() {
  try {
    const [api, sdk, resources, exporting] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ])
    return { api, sdk, resources, exporting }
  } catch (cause) {
    throw new BaseError(
      'OTEL_EXPORTER_OTLP_ENDPOINT is set, and the packages that send traces are not installed. ' +
        `Unset it, or run: npm install ${PACKAGES.join(' ')}`,
      { code: 'tracing_missing', cause },
    )
  }
}

function samplerOf(sdk: typeof Sdk, { sampler, ratio }: TracingConfig) {
  const root = sampler.endsWith('always_on')
    ? new sdk.AlwaysOnSampler()
    : sampler.endsWith('always_off')
      ? new sdk.AlwaysOffSampler()
      : new sdk.TraceIdRatioBasedSampler(ratio)
  return sampler.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root }) : root
}

/** A bounded queue in front of the exporter. It counts the spans that it drops. */
function createProcessor(
  sdk: typeof Sdk,
  exporter: Sdk.SpanExporter,
  { config, logger, onNews, times: { exportMs, pauseMs } = TIMES }: Options,
): Sdk.SpanProcessor {
  const collector = new URL(config.url).host
  let waiting = 0
  let isLosing = false
  const lose = (count: number, reason: string): void => {
    onNews({ kind: 'dropped', count })
    if (isLosing) return
    isLosing = true
    logger.warn({ collector, reason }, 'spans are dropped until the collector takes them')
  }
  const batches = new sdk.BatchSpanProcessor({
    maxQueueSize: MAX_WAITING,
    maxExportBatchSize: BATCH,
    scheduledDelayMillis: pauseMs,
    exportTimeoutMillis: 2 * exportMs,
    exporter: {
      export(spans, done) {
        waiting -= spans.length
        exporter.export(spans, (result) => {
          const code: number = result.code
          if (code !== EXPORTED) {
            lose(spans.length, messageOf(result.error))
          } else {
            onNews({ kind: 'exported', count: spans.length })
            if (isLosing) logger.info({ collector }, 'the collector takes spans again')
            isLosing = false
          }
          done(result)
        })
      },
      shutdown: () => exporter.shutdown(),
    },
  })
  return {
    onStart: () => undefined,
    onEnd(span) {
      if (waiting < MAX_WAITING) {
        waiting += 1
        batches.onEnd(span)
      } else {
        lose(1, 'more spans end than the collector takes')
      }
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
}

/** Makes our spans of theirs. What is whose child is said, so that no context follows the code. */
function createStart(api: typeof Api, tracer: Api.Tracer) {
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT }
  const start = (
    name: string,
    options: Omit<SpanOptions, 'parent'>,
    context: Api.Context,
  ): Span => {
    const { kind, startedAt, attributes = {} } = options
    const made: Api.SpanOptions = { attributes }
    if (kind !== undefined) made.kind = kinds[kind]
    if (startedAt !== undefined) made.startTime = startedAt
    const span = tracer.startSpan(name, made, context)
    const { traceId, spanId, traceFlags: flags } = span.spanContext()
    return {
      traceId,
      traceparent: traceparentOf({ traceId, spanId, flags }),
      child: (name, options = {}) => start(name, options, api.trace.setSpan(context, span)),
      set: (attributes) => void span.setAttributes(attributes),
      fail(code, message = code) {
        span.setAttribute('error.type', code).setStatus({ code: api.SpanStatusCode.ERROR, message })
      },
      end: (at) => span.end(at),
    }
  }
  return start
}
