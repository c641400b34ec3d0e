import { nameOf, type Mutant } from './mutant.ts'
import type { Outcome } from './try-out.ts'

const ABOUT = [
  'A mutant is a safety rule removed or turned.',
  '`npm run mutate` runs those of `test/mutants.json`, and `npm run mutate -- --list` writes here',
  'what turned red, and after how many seconds.',
  'A mutant that no test can tell from the original names the guard behind it,',
  'and the pair that removes both.',
]

const NOT_RUN = 'not run yet'
const HEAD = `# What kills each mutant\n\n${ABOUT.join(' ')}\n`

/** The page of all mutants; of one that has not been run here it keeps the line of before. */
export function renderList(
  mutants: readonly Mutant[],
  { results, before }: { results: ReadonlyMap<string, Outcome>; before: string },
): string {
  const known = knownLines(before)
  const parts = [...Map.groupBy(mutants, ({ file }) => file)].map(([file, some]) => {
    const lines = some.map((mutant) => {
      const result = results.get(nameOf(mutant))
      if (result === undefined) return known.get(nameOf(mutant)) ?? lineOf(mutant, NOT_RUN)
      return lineOf(mutant, describe(mutant, result))
    })
    return `\n## ${file}\n\n${lines.join('\n')}\n`
  })
  return `${HEAD}${parts.join('')}`
}

/** The mutants that the page has a line of. */
export function listedIn(page: string): string[] {
  return [...knownLines(page).keys()]
}

/** The mutants of which the page says how they ended. */
export function runIn(page: string): Set<string> {
  const lines = [...knownLines(page)].filter(([, line]) => !line.endsWith(`: ${NOT_RUN}`))
  return new Set(lines.map(([name]) => name))
}

function knownLines(page: string): Map<string, string> {
  const lines = new Map<string, string>()
  let file = ''
  for (const line of page.split('\n')) {
    file = /^## (.+)$/.exec(line)?.[1] ?? file
    const [, what] = /^- \*\*(.+?)\*\*: /.exec(line) ?? []
    if (what !== undefined) lines.set(nameOf({ file, what }), line)
  }
  return lines
}

function lineOf({ what }: Mutant, fate: string): string {
  return `- **${what}**: ${fate}`
}

function describe({ equivalent, pair }: Mutant, { kills, survived }: Outcome): string {
  const killed = kills.map(({ by, seconds }) => `${seconds} s, ${by}`)
  if (survived.length === 0) return killed.join('; ')
  if (equivalent === undefined) return ['survives', ...killed].join('; ')
  return `${equivalent}${pair === undefined ? '' : ` With both removed: “${pair}”.`}`
}
