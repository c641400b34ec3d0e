import { expect } from 'chai'

import { BaseError } from '../../../src/base/errors.ts'
import {
  parseTraceparent,
  traced,
  traceparentOf,
  type Span,
} from '../../../src/base/tracing/tracing.ts'
import { failureOf } from '../../fixtures/errors.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

describe('a traceparent', () => {
  it('is read and written in the form of the standard', () => {
    const text = `00-${TRACE}-${SPAN}-01`
    const context = { traceId: TRACE, spanId: SPAN, flags: 1 }
    expect(parseTraceparent(text)).to.deep.equal(context)
    expect(traceparentOf(context)).to.equal(text)
  })

  it('of a later version counts by what version 0 has of it', () => {
    const context = parseTraceparent(`cc-${TRACE}-${SPAN}-00-more`)
    expect(context).to.deep.equal({ traceId: TRACE, spanId: SPAN, flags: 0 })
  })

  const bad = {
    nothing: undefined,
    'an empty one': '',
    'the version that is none': `ff-${TRACE}-${SPAN}-01`,
    'more than version 0 has': `00-${TRACE}-${SPAN}-01-more`,
    'capital letters': `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    'a trace of zeros': `00-${'0'.repeat(32)}-${SPAN}-01`,
    'a span of zeros': `00-${TRACE}-${'0'.repeat(16)}-01`,
    'a short trace': `00-${TRACE.slice(1)}-${SPAN}-01`,
    'a line break': `00-${TRACE}-${SPAN}-01\n`,
    'text before it': `x00-${TRACE}-${SPAN}-01`,
  }
  for (const [what, text] of Object.entries(bad)) {
    it(`is none: ${what}`, () => {
      expect(parseTraceparent(text)).to.equal(undefined)
    })
  }
})

describe('traced', () => {
  /** Writes down what is done with it and with its children. */
  const watchedSpan = (log: string[], name = 'parent'): Span => ({
    traceId: TRACE,
    traceparent: '',
    child: (name) => watchedSpan(log, name),
    set: () => undefined,
    fail: (code, message) => void log.push(`${name} fails: ${code}, ${message}`),
    end: () => void log.push(`${name} ends`),
  })

  it('does the work within a child, and only the child ends', async () => {
    const log: string[] = []
    const value = await traced(watchedSpan(log), 'child', async (span) => {
      expect(span?.traceId).to.equal(TRACE)
      log.push('works')
      return 7
    })
    expect(value).to.equal(7)
    expect(log).to.deep.equal(['works', 'child ends'])
  })

  it('marks the child as failed, and lets the failure through', async () => {
    const log: string[] = []
    const failing = async (): Promise<void> => {
      throw new BaseError('It broke.', { code: 'broken' })
    }
    const error = await failureOf(() => traced(watchedSpan(log), 'child', failing))
    expect(error.code).to.equal('broken')
    expect(log).to.deep.equal(['child fails: broken, It broke.', 'child ends'])
  })

  it('does the work alone where traces are off', async () => {
    const span = await traced(undefined, 'child', async (span) => ({ span }))
    expect(span).to.deep.equal({ span: undefined })
  })
})
