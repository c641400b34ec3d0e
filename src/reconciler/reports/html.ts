import type { BreakFacts } from '../../domain/breaks.ts'
import type { ReportJson } from './json.ts'

/** More rows than that no browser shows well; the CSV has all. */
const MAX_ROWS = 1_000

/** One file that needs nothing else, and in which nothing runs. */
export function reportHtml(report: ReportJson, made: Date): string {
  const { summary } = report
  const title = `Reconciliation of ${summary.source}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escape(title)}</h1>
<p>Chain ${summary.chain_id}. Made at ${utc(made)}, in ${seconds(summary.elapsed_ms)}.</p>
${outcomePlot(summary)}
<h2>Breaks by kind</h2>
${barPlot(summary.by_kind)}
<h2>Pending, by cause</h2>
${barPlot(summary.pending_by_cause)}
<h2>Not compared, by reason</h2>
${barPlot(summary.not_compared_by_reason)}
${breakTable(report)}
${uncomparedTable(report)}
${unreadableTable(report)}
</main>
</body>
</html>
`
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'"

const STYLE = `
:root { color-scheme: light dark; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 76rem; padding: 0 1rem;
  color: light-dark(#17201b, #e8eee9); background: light-dark(#f5f6f4, #121513); }
h1 { font-size: 1.5rem; line-height: 1.25; }
h2 { font-size: 1.05rem; margin: 1.6rem 0 .5rem; }
table { border-collapse: collapse; width: 100%; background: light-dark(#fff, #1a1f1c); }
td, th { border-bottom: 1px solid light-dark(#d5dbd7, #343c37); padding: .4rem .6rem; }
td, th { text-align: left; vertical-align: top; }
th { color: light-dark(#566059, #9fada4); font-weight: 500; }
td { overflow-wrap: anywhere; }
td > div { font-weight: 400; }
td:first-child, td > div:first-child { font-weight: 600; }
dl { display: grid; gap: 0 .6rem; grid-template-columns: max-content 1fr; margin: 0; }
dt { color: light-dark(#566059, #9fada4); }
dd { margin: 0; }
.bar { display: flex; height: 24px; max-width: 48rem; }
.bars { max-width: 48rem; }
.bars dd { display: flex; gap: .5rem; }
.bars .bar { flex: 0 1 70%; height: 1rem; margin-block: .25rem; }
ul { display: flex; flex-wrap: wrap; gap: 0 1.5rem; list-style: none; padding: 0; }
li i { display: inline-block; height: .8em; width: .8em !important; }
@media screen and (max-width: 700px) {
  thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
  table, tbody, tr, td { display: block; }
  td { border: 0; padding: .15rem .6rem; }
  tr { border-bottom: 1px solid light-dark(#d5dbd7, #343c37); padding: .5rem 0; }
  td[data-head]:not(:first-child)::before { content: attr(data-head); display: block;
    color: light-dark(#566059, #9fada4); font-size: .85rem; }
}
@media print {
  :root { color-scheme: light; }
  body { background: none; font-size: 9pt; margin: 0; max-width: none; padding: 0; }
  tr, .bars { break-inside: avoid; }
  i { print-color-adjust: exact; }
  h2 { break-after: avoid; }
}
`

const COLORS = {
  matched: '#2e7d32',
  pending: '#f9a825',
  'not compared': '#6a1b9a',
  broken: '#c62828',
}

/** How many records are matched, pending, not compared and broken, as one bar. */
function outcomePlot(summary: ReportJson['summary']): string {
  const { records, matched, pending, not_compared: uncompared } = summary
  const broken = Math.max(0, records - matched - pending - uncompared)
  const parts = Object.entries({ matched, pending, 'not compared': uncompared, broken })
  const shown = parts.map(([name, count]) => {
    const color = COLORS[name as keyof typeof COLORS]
    const label = escape(`${name} ${count.toLocaleString('en')}`)
    return { bar: bar(count, records, color), name: `<li>${bar(1, 1, color)} ${label}</li>` }
  })
  return `<h2>${records.toLocaleString('en')} records</h2>
<div class="bar">${shown.map((one) => one.bar).join('')}</div>
<ul>${shown.map((one) => one.name).join('')}</ul>`
}

/** One bar for each name, the longest first. Text stays as large as any, however narrow. */
function barPlot(counts: Readonly<Record<string, number>>): string {
  const rows = Object.entries(counts).toSorted(([, a], [, b]) => b - a)
  if (rows.length === 0) return '<p>None.</p>'
  const most = Math.max(...rows.map(([, count]) => count))
  const bars = rows.map(([name, count]) => {
    const drawn = `<span class="bar">${bar(count, most, '#0b6e4f')}</span>`
    return `<dt>${escape(words(name))}</dt><dd>${drawn} ${count.toLocaleString('en')}</dd>`
  })
  return `<dl class="bars">${bars.join('')}</dl>`
}

function bar(count: number, all: number, color: string): string {
  const percent = all === 0 ? 0 : (count / all) * 100
  return `<i style="width:${percent.toFixed(2)}%;background:${color}"></i>`
}

function breakTable({ breaks, summary }: ReportJson): string {
  if (breaks.length === 0) return '<h2>Breaks</h2>\n<p>None.</p>'
  const heads = ['Break', 'Recorded', 'On chain', 'Evidence']
  const shown = breaks.slice(0, MAX_ROWS)
  const rows = shown.map((one) => {
    const ids = [one.transaction_id, one.eth_transaction_hash].flatMap((id) => id ?? [])
    const named = [words(one.kind), ...ids].map((line) => `<div>${escape(line)}</div>`)
    const facts = [one.recorded, one.on_chain, one.evidence].map(factList)
    return rowOf(heads, [named.join(''), ...facts])
  })
  return table({ title: 'Breaks', heads, rows, more: summary.breaks - shown.length })
}

/** Each cell names its column, where a narrow screen has no head. An empty one is left out. */
function rowOf(heads: readonly string[], cells: readonly string[]): string {
  const all = cells.map((cell, at) => `<td data-head="${heads[at] ?? ''}">${cell}</td>`)
  return `<tr>${all.join('')}</tr>`
}

/** `wrong_amount` as people read it. */
function words(code: string): string {
  const text = code.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function factList(facts: BreakFacts): string {
  const pairs = Object.entries(facts).map(
    ([name, value]) => `<dt>${escape(words(name))}</dt><dd>${escape(value ?? 'none')}</dd>`,
  )
  return `<dl>${pairs.join('')}</dl>`
}

function uncomparedTable({ not_compared: uncompared, summary }: ReportJson): string {
  if (uncompared.length === 0) return ''
  const heads = ['Line', 'Transaction', 'Hash', 'Why', 'Recorded']
  const shown = uncompared.slice(0, MAX_ROWS)
  const rows = shown.map((one) => {
    const cells = [one.line ?? '', one.transaction_id, one.eth_transaction_hash, one.problem]
    return rowOf(heads, [...cells.map((cell) => escape(String(cell))), factList(one.recorded)])
  })
  const more = summary.not_compared - shown.length
  return table({ title: 'Records that are not compared', heads, rows, more })
}

function unreadableTable({ unreadable }: ReportJson): string {
  if (unreadable.length === 0) return ''
  const rows = unreadable
    .slice(0, MAX_ROWS)
    .map(({ line, problem }) => `<tr><td>${line}</td><td>${escape(problem)}</td></tr>`)
  return table({ title: 'Rows that cannot be read', heads: ['Line', 'Problem'], rows, more: 0 })
}

function table(shown: { title: string; heads: string[]; rows: string[]; more: number }): string {
  const { title, heads, rows, more } = shown
  return `<h2>${title}</h2>
<table>
<thead><tr>${heads.map((head) => `<th>${head}</th>`).join('')}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
${more > 0 ? `<p>And ${more.toLocaleString('en')} more in breaks.csv.</p>` : ''}`
}

function utc(time: Date): string {
  return `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** Escapes everything in the file except numbers and our own words. */
function escape(text: string): string {
  return text
    .replaceAll(/\p{C}/gu, '\uFFFD')
    .replaceAll(/[&<>"'`]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
