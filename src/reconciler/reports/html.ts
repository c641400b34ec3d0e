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
<h1>${escape(title)}</h1>
<p>Chain ${summary.chain_id}, ${made.toISOString()}, took ${seconds(summary.elapsed_ms)}.</p>
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
</body>
</html>
`
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'"

const STYLE = `
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #ccc; padding: .3rem .6rem; }
td, th { text-align: left; vertical-align: top; }
td { overflow-wrap: anywhere; }
td:first-child { overflow-wrap: normal; }
dl { display: grid; gap: 0 .6rem; grid-template-columns: max-content 1fr; margin: 0; }
dd { margin: 0; }
svg text { font: 13px system-ui, sans-serif; }
@media (prefers-color-scheme: dark) {
  body { background: #111; color: #eee; }
  svg text { fill: #eee; }
}
`

const WIDTH = 720
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
  const parts = { matched, pending, 'not compared': uncompared, broken }
  let x = 0
  const bars = Object.entries(COLORS).map(([name, color]) => {
    const count = parts[name as keyof typeof parts]
    const width = records === 0 ? 0 : (count / records) * WIDTH
    const place = `x="${x.toFixed(2)}" width="${width.toFixed(2)}" height="24"`
    const bar = `<rect ${place} fill="${color}"/>`
    x += width
    return bar
  })
  const legend = Object.entries(parts).map(([name, count], at) => {
    const label = `${name} ${count.toLocaleString('en')}`
    const color = COLORS[name as keyof typeof parts]
    const box = `<rect x="${at * 180}" y="34" width="12" height="12" fill="${color}"/>`
    return `${box}<text x="${at * 180 + 18}" y="45">${escape(label)}</text>`
  })
  const told = `${records.toLocaleString('en')} records`
  return `<h2>${told}</h2>\n${svg(52, [...bars, ...legend].join(''), told)}`
}

/** One bar for each name, the longest first. */
function barPlot(counts: Readonly<Record<string, number>>): string {
  const rows = Object.entries(counts).toSorted(([, a], [, b]) => b - a)
  if (rows.length === 0) return '<p>None.</p>'
  const most = Math.max(...rows.map(([, count]) => count))
  const bars = rows.map(([name, count], at) => {
    const y = at * 24
    const width = Math.max(1, (count / most) * (WIDTH - 320))
    const place = `x="200" y="${y + 3}" width="${width.toFixed(2)}" height="16"`
    const bar = `<rect ${place} fill="#546e7a"/>`
    const label = `<text x="0" y="${y + 16}">${escape(name)}</text>`
    const value = count.toLocaleString('en')
    return `${label}${bar}<text x="${(206 + width).toFixed(2)}" y="${y + 16}">${value}</text>`
  })
  return svg(rows.length * 24, bars.join(''), 'Bars by name')
}

function svg(height: number, content: string, label: string): string {
  const box = `viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`
  const name = `role="img" aria-label="${escape(label)}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${box} ${name}>${content}</svg>`
}

function breakTable({ breaks, summary }: ReportJson): string {
  if (breaks.length === 0) return '<h2>Breaks</h2>\n<p>None.</p>'
  const shown = breaks.slice(0, MAX_ROWS)
  const rows = shown.map((one) => {
    const cells = [one.kind, one.transaction_id ?? '', one.eth_transaction_hash ?? '']
    const facts = [one.recorded, one.on_chain, one.evidence].map(factList)
    const all = [...cells.map(escape), ...facts].map((cell) => `<td>${cell}</td>`)
    return `<tr>${all.join('')}</tr>`
  })
  const heads = ['Kind', 'Transaction', 'Hash', 'Recorded', 'On chain', 'Evidence']
  return table({ title: 'Breaks', heads, rows, more: summary.breaks - shown.length })
}

function factList(facts: BreakFacts): string {
  const pairs = Object.entries(facts).map(
    ([name, value]) => `<dt>${escape(name)}</dt><dd>${escape(value ?? 'none')}</dd>`,
  )
  return `<dl>${pairs.join('')}</dl>`
}

function uncomparedTable({ not_compared: uncompared, summary }: ReportJson): string {
  if (uncompared.length === 0) return ''
  const shown = uncompared.slice(0, MAX_ROWS)
  const rows = shown.map((one) => {
    const cells = [one.line ?? '', one.transaction_id, one.eth_transaction_hash, one.problem]
    const all = [...cells.map((cell) => escape(String(cell))), factList(one.recorded)]
    return `<tr>${all.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
  })
  const heads = ['Line', 'Transaction', 'Hash', 'Why', 'Recorded']
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

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

/** Everything that stands in the file goes through here, or is a number or a word of ours. */
function escape(text: string): string {
  return text
    .replaceAll(/\p{C}/gu, '\uFFFD')
    .replaceAll(/[&<>"'`]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
