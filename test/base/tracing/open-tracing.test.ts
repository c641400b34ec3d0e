import { expect } from 'chai'

import { createLogger } from '../../../src/base/logger.ts'
import type { Sampler } from '../../../src/base/tracing/config.ts'
import {
  openTracing,
  type OpenTracing,
  type SpanNews,
} from '../../../src/base/tracing/open-tracing.ts'
import { startCollector, type Collector } from '../../fixtures/collector.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { until } from '../../fixtures/until.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentOf = (flags: string): string => `00-${TRACE}-00f067aa0ba902b7-${flags}`

describe('open tracing', () => {
  let collector: Collector
  let tracing: OpenTracing | undefined
  let lines: Array<{ level: string; msg: string; reason?: string }>
  let counts: Record<SpanNews['kind'], number>

  beforeEach(async () => {
    collector = await startCollector()
    lines = []
    counts = { exported: 0, dropped: 0 }
  })
  afterEach(async () => {
    await tracing?.stop()
    tracing = undefined
    await collector.close()
  })

  type How = { sampler?: Sampler; ratio?: number; url?: string; exportMs?: number }

  const open = async (how: How = {}) => {
    const { sampler = 'parentbased_always_on', ratio = 1, url = collector.url } = how
    const { exportMs = 1000 } = how
    tracing = await openTracing({
      config: { url: `${url}/v1/traces`, headers: {}, serviceName: 'test', sampler, ratio },
      logger: createLogger({
        level: 'info',
        destination: { write: (line) => void lines.push(JSON.parse(line)) },
      }),
      resource: { 'quittance.role': 'test' },
      onNews: ({ kind, count }) => void (counts[kind] += count),
      times: { exportMs, pauseMs: 200 },
    })
    return tracing
  }

  it('exports spans with their parents, times, attributes and failures', async () => {
    const { start, stop } = await open()
    const span = start('request', { kind: 'server', parent: parentOf('01') })
    const startedAt = new Date('2026-01-01T00:00:00.250Z')
    const child = span.child('work', {
      kind: 'client',
      startedAt,
      attributes: { is: 'there', not: undefined },
    })
    child.set({ count: 2 })
    child.fail('broken', 'It broke.')
    child.end(new Date(startedAt.getTime() + 500))
    span.end()
    await stop()

    const [work, request] = collector.spans
    expect(request).to.include({ traceId: TRACE, parentSpanId: '00f067aa0ba902b7', kind: 2 })
    expect(work).to.include({ traceId: TRACE, parentSpanId: request?.spanId, kind: 3 })
    expect(work).to.include({ startMs: startedAt.getTime(), endMs: startedAt.getTime() + 500 })
    expect(work).to.have.property('isFailed', true)
    expect(work?.attributes).to.deep.equal({ is: 'there', count: 2, 'error.type': 'broken' })
    expect(request?.resource).to.include({ 'service.name': 'test', 'quittance.role': 'test' })
    expect(child.traceparent).to.equal(`00-${TRACE}-${work?.spanId}-01`)
    expect(counts).to.deep.equal({ exported: 2, dropped: 0 })
    expect(lines).to.deep.equal([])
  })

  const kept: Record<Sampler, [alone: number, wanted: number, unwanted: number]> = {
    parentbased_always_on: [1, 1, 0],
    parentbased_always_off: [0, 1, 0],
    parentbased_traceidratio: [0, 1, 0],
    always_on: [1, 1, 1],
    always_off: [0, 0, 0],
    traceidratio: [0, 0, 0],
  }
  for (const [sampler, [alone, wanted, unwanted]] of Object.entries(kept)) {
    it(`asks the caller, or does not: ${sampler}`, async () => {
      const { start, stop } = await open({ sampler: sampler as Sampler, ratio: 0 })
      start('alone').end()
      start('wanted', { parent: parentOf('01') }).end()
      const span = start('unwanted', { parent: parentOf('00') })
      expect(span.traceId).to.equal(TRACE)
      expect(span.traceparent.slice(-2)).to.equal(unwanted === 1 ? '01' : '00')
      span.end()
      await stop()
      const count = (name: string) => collector.spans.filter((one) => one.name === name).length
      expect([count('alone'), count('wanted'), count('unwanted')]).to.deep.equal([
        alone,
        wanted,
        unwanted,
      ])
    })
  }

  it('keeps the share of the traces that it is told to', async () => {
    const { start, stop } = await open({ sampler: 'traceidratio', ratio: 0.25 })
    for (let count = 0; count < 400; count++) start('one').end()
    await stop()
    expect(collector.spans.length).to.be.within(50, 150)
  })

  it('drops what the collector does not take, counts it, and warns once', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const { start } = await open({ url })
    for (let count = 0; count < 3; count++) start('lost').end()
    await until(async () => counts.dropped === 3)
    start('lost as well').end()
    await until(async () => counts.dropped === 4)
    expect(lines.map(({ level, msg }) => [level, msg])).to.deep.equal([
      ['warn', 'spans are dropped until the collector takes them'],
    ])
    const back = await startCollector({ port })
    start('taken').end()
    await until(async () => counts.exported === 1)
    await back.close()
    expect(back.spans.map(({ name }) => name)).to.deep.equal(['taken'])
    expect(lines.at(-1)).to.include({ level: 'info', msg: 'the collector takes spans again' })
  })

  it('holds no more spans than its queue, and counts those beyond', async () => {
    // A busy machine sends no 8192 spans in a second.
    const { start, stop } = await open({ exportMs: 60_000 })
    for (let count = 0; count < 10_000; count++) start('one of many').end()
    expect(counts.dropped).to.be.within(1, 10_000 - 8192)
    expect(lines.map(({ reason }) => reason)).to.deep.equal([
      'more spans end than the collector takes',
    ])
    await stop()
    expect(counts.exported + counts.dropped).to.equal(10_000)
    expect(collector.spans).to.have.length(counts.exported)
  })

  it('stops within its time where the collector never ends its answer, and hangs up', async () => {
    const slow = await startCollector({ trickles: true })
    const { start, stop } = await open({ url: slow.url })
    start('unheard').end()
    const startedAt = performance.now()
    await stop()
    expect(performance.now() - startedAt).to.be.within(900, 1900)
    await until(async () => (await slow.connections()) === 0)
    await slow.close()
  })
})
