import { readFile } from 'node:fs/promises'
import path from 'node:path'

/** A safety rule removed or turned: a slip that a person could make. */
export type Mutant = {
  file: string
  what: string
  /** Each text occurs once in the file, or in the one that is named, and becomes the other. */
  changes: [find: string, replace: string, file?: string][]
  /** The test files that are to see it, or tests of them: `file: title`. A contract has its own. */
  tests?: string[]
  /** It shows where several connections meet, so only with a server in DATABASE_URL. */
  server?: true
  /** The simulation that is to see it as well, within 200 seeds. */
  sim?: 'ether' | 'money'
  /** Why nothing can tell it from the original, where nothing can. */
  equivalent?: string
  /** The mutant that removes the second guard as well, and dies. */
  pair?: string
}

export const ROOT = path.resolve(import.meta.dirname, '../../..')

export async function readMutants(): Promise<Mutant[]> {
  return JSON.parse(await readFile(path.join(ROOT, 'test/mutants.json'), 'utf8')) as Mutant[]
}

export function nameOf({ file, what }: Pick<Mutant, 'file' | 'what'>): string {
  return `${file}: ${what}`
}

/** Of a test that is named behind a colon. */
export function fileOf(test: string): string {
  return test.split(': ')[0]!
}

/** The texts of the files that it changes, changed; throws where the code has moved on. */
export async function mutated(mutant: Mutant): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  for (const [find, replace, file = mutant.file] of mutant.changes) {
    const text = texts.get(file) ?? (await readFile(path.join(ROOT, file), 'utf8'))
    const [found, ...others] = text.matchAll(shapeOf(find))
    if (found === undefined || others.length > 0) {
      const count = found === undefined ? 0 : others.length + 1
      throw new Error(`${nameOf(mutant)}: ${count} times in ${file}, and not once: ${find}`)
    }
    const end = found.index + found[0].length
    texts.set(file, text.slice(0, found.index) + replace + text.slice(end))
  }
  return texts
}

/** The same code, wherever its lines break and whether or not a comma ends a list. */
function shapeOf(find: string): RegExp {
  const parts = find.match(/\w+|[^\w\s]/g) ?? []
  const shapes = parts.map((part, at) => {
    if (/\w/.test(part)) return at > 0 && /\w/.test(parts[at - 1]!) ? `\\b${part}` : part
    return `${/[)\]}]/.test(part) ? ',?\\s*' : ''}\\${part}`
  })
  return new RegExp(shapes.join('\\s*'), 'g')
}
