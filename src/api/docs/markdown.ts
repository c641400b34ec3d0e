import { escapeHtml } from '../../wire/html.ts'

/** A page of `docs/` as HTML. It knows what those pages have, and no more of Markdown. */
export type Rendered = { title: string; html: string }

/** `linkOf` says where a link leads; undefined where it leads to what is not served. */
export function renderMarkdown(
  text: string,
  linkOf: (target: string) => string | undefined,
): Rendered {
  const lines = text.split('\n')
  const html: string[] = []
  const inline = (one: string): string => renderInline(one, linkOf)
  for (let at = 0; at < lines.length;) {
    const block = blockAt(lines, at)
    at += block.length
    html.push(renderBlock(block, inline))
  }
  return { title: /^# (.*)$/m.exec(text)?.[1] ?? '', html: html.join('\n') }
}

/** Under which a link within a page finds its heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

const STARTS = {
  fence: /^```/,
  heading: /^#{1,4} /,
  table: /^\|/,
  bullet: /^- /,
  number: /^\d+\. /,
}

/** The lines that belong together: up to an empty one, or up to the end of the code. */
function blockAt(lines: readonly string[], start: number): string[] {
  const first = lines[start] ?? ''
  if (STARTS.fence.test(first)) {
    const end = lines.findIndex((line, at) => at > start && STARTS.fence.test(line))
    return lines.slice(start, end === -1 ? undefined : end + 1)
  }
  if (first === '' || STARTS.heading.test(first)) return [first]
  const isOther = (line: string): boolean =>
    line === '' || STARTS.fence.test(line) || STARTS.heading.test(line)
  const end = lines.findIndex((line, at) => at > start && isOther(line))
  return lines.slice(start, end === -1 ? undefined : end)
}

function renderBlock(lines: readonly string[], inline: (text: string) => string): string {
  const [first = ''] = lines
  if (first === '') return ''
  if (STARTS.fence.test(first)) {
    // It can be scrolled by keys.
    return `<pre tabindex="0"><code>${escapeHtml(lines.slice(1, -1).join('\n'))}</code></pre>`
  }
  if (STARTS.heading.test(first)) {
    const [, marks = '', heading = ''] = /^(#+) (.*)$/.exec(first) ?? []
    const id = anchorOf(heading.replaceAll('`', ''))
    return `<h${marks.length} id="${id}">${inline(heading)}</h${marks.length}>`
  }
  if (STARTS.table.test(first)) return renderTable(lines, inline)
  if (STARTS.bullet.test(first)) return renderList('ul', lines, inline)
  if (STARTS.number.test(first)) return renderList('ol', lines, inline)
  return `<p>${inline(lines.join(' '))}</p>`
}

function renderList(
  tag: 'ul' | 'ol',
  lines: readonly string[],
  inline: (text: string) => string,
): string {
  const items = lines.map((line) => `<li>${inline(line.replace(/^(?:- |\d+\. )/, ''))}</li>`)
  return `<${tag}>\n${items.join('\n')}\n</${tag}>`
}

function renderTable(lines: readonly string[], inline: (text: string) => string): string {
  const [head = [], , ...rows] = lines.map(cellsOf)
  const row = (cells: readonly string[], tag: 'th' | 'td'): string => {
    const scope = tag === 'th' ? ' scope="col"' : ''
    return `<tr>${cells.map((cell) => `<${tag}${scope}>${inline(cell)}</${tag}>`).join('')}</tr>`
  }
  const body = rows.map((cells) => row(cells, 'td')).join('\n')
  const table = `<table>\n<thead>${row(head, 'th')}</thead>\n<tbody>\n${body}\n</tbody>\n</table>`
  return `<div class="table" tabindex="0" role="region" aria-label="Table">\n${table}\n</div>`
}

/** A bar with a stroke before it is part of its cell. */
function cellsOf(line: string): string[] {
  const cells = line
    .trim()
    .replace(/^\|/, '')
    .replace(/\|$/, '')
    .split(/(?<!\\)\|/)
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'))
}

function renderInline(text: string, linkOf: (target: string) => string | undefined): string {
  // Code is kept apart, since nothing in it is a mark, and put back: also into a link.
  const codes: string[] = []
  const prose = text.replaceAll(/`([^`]+)`/g, (_all, code: string) => {
    codes.push(`<code>${escapeHtml(code)}</code>`)
    return `\uE000${codes.length - 1}\uE000`
  })
  return escapeHtml(prose)
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, (_all, name: string, target: string) => {
      const href = linkOf(target)
      return href === undefined ? name : `<a href="${href}">${name}</a>`
    })
    .replaceAll(/\uE000(\d+)\uE000/g, (_all, place: string) => codes[Number(place)] ?? '')
}
