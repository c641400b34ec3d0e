import { expect } from 'chai'

import type { Finding } from '../../src/domain/breaks.ts'
import { emptyTotals } from '../../src/reconciler/reconcile.ts'
import { csvOfFinding } from '../../src/reconciler/reports/csv.ts'
import { reportHtml } from '../../src/reconciler/reports/html.ts'
import { reportJson } from '../../src/reconciler/reports/json.ts'

const EVIL = `"><script>alert('1')</script>&\u0000\u202E`

const finding = (text: string): Finding => ({
  id: `BRK${'0'.repeat(24)}`,
  kind: 'missing',
  transactionId: text,
  hash: null,
  recorded: { amount: text, [text]: '1' },
  onChain: { status: text },
  evidence: {},
})

describe('the report of a run', () => {
  const reportOf = (findings: Finding[], breaks = findings.length) =>
    reportJson({
      totals: { ...emptyTotals(), records: 10, matched: 8, breaks, byKind: { missing: breaks } },
      findings,
      unreadable: [{ line: 3, problem: EVIL }],
      uncompared: [],
      chainId: 1,
      source: EVIL,
      elapsedMs: 1,
    })

  it('runs nothing, whatever stands in the records', () => {
    const html = reportHtml(reportOf([finding(EVIL)]), new Date(0))
    expect(html).not.to.include('<script')
    expect(html).not.to.match(/[\0\u202E]/)
    expect(html).to.include("default-src 'none'")
    expect(html).to.include('&#60;script&#62;')
  })

  it('draws the outcome and the kinds, and needs nothing from elsewhere', () => {
    const html = reportHtml(reportOf([finding('TX1')]), new Date(0))
    expect(html.match(/class="bar"/g)).to.have.length(2)
    expect(html).to.include('matched 8').and.to.include('broken 2')
    expect(html.match(/(src|href)=/g)).to.equal(null)
  })

  it('says where it shows less than was found', () => {
    expect(reportOf([finding('TX1')], 5).summary).to.include({ breaks: 5, truncated: true })
  })

  for (const sign of ['=', '+', '-', '@', '\t', '\r', '＝']) {
    it(`gives a spreadsheet no formula that begins with ${JSON.stringify(sign)}`, () => {
      const row = csvOfFinding(finding(`${sign}1,2`))
      expect(row).to.match(new RegExp(`,"'\\${sign}1,2",`))
    })
  }

  it('keeps quotes, commas and line breaks inside of their cell', () => {
    const row = csvOfFinding(finding('a"b\n,c'))
    expect(row).to.include('"a""b\n,c"')
  })
})
