import { expect } from 'chai'

import { parseRetryAfter, parseTime } from '../../src/base/time.ts'

describe('a time', () => {
  const times: Record<string, string> = {
    '2025-03-14': '2025-03-14T00:00:00.000Z',
    '2025-03-14T09:26Z': '2025-03-14T09:26:00.000Z',
    '2025-03-14 09:26:53Z': '2025-03-14T09:26:53.000Z',
    '2025-03-14T09:26:53.123456789Z': '2025-03-14T09:26:53.123Z',
    '2025-03-14T09:26:53+02:00': '2025-03-14T07:26:53.000Z',
  }
  for (const [text, iso] of Object.entries(times)) {
    it(`is read from ${text}`, () => {
      expect(parseTime(text)?.toISOString()).to.equal(iso)
    })
  }

  const others = [
    '',
    'soon',
    '2025',
    '2025-02-30',
    '2025-13-01',
    '2025-03-14T09:26:53',
    '14.3.2025',
  ]
  for (const text of [...others, '2025-03-14T25:00Z', '2025-03-14T09:26:53Z and more']) {
    it(`is not read from ${JSON.stringify(text)}`, () => {
      expect(parseTime(text)).to.equal(undefined)
    })
  }

  it('to try again is in seconds or a date, and never in the past', () => {
    const nowMs = Date.UTC(2025, 2, 14, 9, 26, 53)
    expect(parseRetryAfter('7', nowMs)).to.equal(7_000)
    expect(parseRetryAfter('Fri, 14 Mar 2025 09:27:00 GMT', nowMs)).to.equal(7_000)
    expect(parseRetryAfter('Fri, 14 Mar 2025 09:26:00 GMT', nowMs)).to.equal(0)
    for (const header of [null, undefined, '', 'soon', '-1s', '9'.repeat(30)]) {
      expect(parseRetryAfter(header, nowMs)).to.equal(undefined)
    }
  })
})
