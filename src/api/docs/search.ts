import { escapeHtml } from '../../wire/html.ts'

/** A page as it is shown, and where. */
export type Page = { title: string; address: string; html: string }

/** What is under one heading, or about one operation, as text. */
type Section = { page: string; heading: string; address: string; text: string; weight: number }

/** Every word takes a look at all sections, and anybody may ask. */
const MAX_WORDS = 8
const MAX_LENGTH = 200
const MAX_FOUND = 20

/** Finds sections of pages by their words, and returns them as HTML. The first pages weigh more. */
export function createSearch(pages: readonly Page[]): (asked: string) => string {
  const sections = pages.flatMap((page, at) => sectionsOf(page, 1 - at / (2 * pages.length)))
  return (asked) => {
    const words = wordsOf(asked)
    return render(words, find(sections, words))
  }
}

/** A setting, a path or the name of a field is one word. A letter says nothing. */
function wordsOf(asked: string): string[] {
  const words = asked.slice(0, MAX_LENGTH).toLowerCase().match(WORD) ?? []
  return [...new Set(words)].filter((word) => word.length > 1).slice(0, MAX_WORDS)
}

const WORD = /[\p{L}\p{N}_]+(?:[./:{}-]+[\p{L}\p{N}_]+)*/gu

/** Finds words that begin with one of these, and parts of names that do. */
function beginningWith(...words: string[]): RegExp {
  const any = words.map((word) => word.replaceAll(/[.{}]/g, String.raw`\$&`)).join('|')
  return new RegExp(String.raw`(?<![\p{L}\p{N}])(${any})`, 'giu')
}

const HEADING = /<h[1-4] id="([^"]*)">(.*?)<\/h[1-4]>/
const OPERATION = /<summary>([^]*?)<\/summary>\s*<div id="([^"]*)">/
const START = new RegExp(`${HEADING.source}|${OPERATION.source}`, 'g')

function sectionsOf({ title, address, html }: Page, weight: number): Section[] {
  const starts = [...html.matchAll(START)]
  return starts.map((start, at) => {
    const [all, id, heading = '', operation = '', operationId] = start
    return {
      page: title,
      heading: textOf(heading || operation),
      address: `${address}#${id ?? operationId}`,
      text: textOf(html.slice(start.index + all.length, starts[at + 1]?.index)),
      weight,
    }
  })
}

function textOf(html: string): string {
  return html
    .replaceAll('<wbr />', '')
    .replaceAll(/<\/?(?:a|code|strong|span)\b[^>]*>/g, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** Best first. The rarer a word is, the more it says. */
function find(sections: readonly Section[], words: readonly string[]): Section[] {
  const scores = sections.map(() => 0)
  for (const word of words) {
    const pattern = beginningWith(word)
    const found = sections.map((section) => scoreOf(section, pattern))
    const rarity = Math.log(1 + sections.length / found.filter((one) => one > 0).length)
    for (const [at, one] of found.entries()) if (one > 0) scores[at]! += rarity * one
  }
  return sections
    .map((section, at) => ({ section, score: scores[at]! * section.weight }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, MAX_FOUND)
    .map(({ section }) => section)
}

/** That a word occurs counts most, then that a heading has it, and how often it occurs. */
function scoreOf({ page, heading, text }: Section, pattern: RegExp): number {
  const isIn = (place: string): number => (place.search(pattern) === -1 ? 0 : 1)
  const times = Math.min(text.match(pattern)?.length ?? 0, 5)
  const score = isIn(page) + 4 * isIn(heading) + times / 5
  return score === 0 ? 0 : 3 + score
}

function render(words: readonly string[], sections: readonly Section[]): string {
  if (words.length === 0) return '<p>Write one word or more.</p>'
  if (sections.length === 0) {
    return '<p>No page has any of these words. Try another word, or open a page of the menu.</p>'
  }
  const any = beginningWith(...words)
  return sections.map((one) => renderSection(one, any)).join('\n')
}

function renderSection({ page, heading, address, text }: Section, any: RegExp): string {
  const title = `<a href="${address}">${mark(heading, any)}</a>`
  const from = page === heading ? '' : ` <span class="quiet">${escapeHtml(page)}</span>`
  return `<h2>${title}${from}</h2>\n<p>${mark(excerptOf(text, any), any)}</p>`
}

/** A line or two around the first of the words. */
function excerptOf(text: string, any: RegExp): string {
  const first = text.search(any)
  const start = first < 80 ? 0 : text.indexOf(' ', first - 80) + 1
  const end = text.length <= start + 220 ? text.length : text.lastIndexOf(' ', start + 220)
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`
}

function mark(text: string, any: RegExp): string {
  // Every second part is one of the words.
  return text
    .split(any)
    .map((part, at) => (at % 2 === 1 ? `<mark>${escapeHtml(part)}</mark>` : escapeHtml(part)))
    .join('')
}
