import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { proseOf, readWordList, unwantedIn } from './fixtures/words.ts'

/** Everything that a person reads: pages, and the strings and the markup of the program. */
const FOLDERS = ['docs', 'guides', 'examples', 'deploy', 'src']
const FILES = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md']

/** It is generated from the contracts. */
const GENERATED = 'src/bindings/'

/** It quotes what it forbids. */
const STYLE = 'docs/style.md'

/** It is made of the names of tests and of mutants. */
const MADE = 'docs/mutants.md'

describe('the words of the documentation', () => {
  const list = readWordList(readFileSync(STYLE, 'utf8'))
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(md|tsx?|js)$/.test(name))
      .map((name) => join(folder, name))
      .filter((name) => !name.startsWith(GENERATED)),
  )

  for (const path of [...inFolders, ...FILES].filter((path) => path !== STYLE && path !== MADE)) {
    it(`are plain in ${path}`, () => {
      expect(unwantedIn(proseOf(path, readFileSync(path, 'utf8')), list)).to.deep.equal([])
    })
  }

  it('are a list that has an alternative for each word', () => {
    expect(list.length).to.be.greaterThan(15)
    for (const { instead } of list) expect(instead).not.to.equal('')
  })

  const planted: ReadonlyArray<[string, string, string]> = [
    ['in a sentence', 'docs/a.md', 'The owner is told.'],
    ['over two lines', 'docs/a.md', 'The record is held\nagainst the chain.'],
    ['in a cell of a table', 'docs/a.md', '| `POST /a` | whoever asks |'],
    ['in a string', 'src/a.ts', "throw new Error('The server wants a key.')"],
    ['in the text of a screen', 'src/a.tsx', 'const a = <p>Ask whoever sent it to you.</p>'],
    ['in a comment', 'src/a.ts', '/** The owner is\n * told. */\nconst a = 1'],
    [
      'in a comment of a line',
      'src/a.ts',
      'const a = 1\n// Whoever asks\n// gets it.\nconst b = 2',
    ],
    ['in a template', 'src/a.ts', 'const a = `${b} is no variable of this program`'],
  ]
  for (const [where, path, text] of planted) {
    it(`are refused ${where}`, () => {
      expect(unwantedIn(proseOf(path, text), list)).to.have.length(1)
    })
  }

  const allowed: ReadonlyArray<[string, string, string]> = [
    ['in code', 'docs/a.md', 'Print `is told`.\n\n```text\nbeside\n```\n'],
    ['in a value without words', 'src/a.ts', "const a = ['is', 'told', 'beside']"],
    ['in a statement of SQL', 'src/a.ts', 'const a = sql`select beside from a`'],
    ['in code of a comment', 'src/a.ts', '// Use `beside`.\nconst a = 1'],
    ['in a name of code', 'src/a.ts', 'const beside = whoever(1)'],
    ['in what is right', 'docs/a.md', 'It is no longer counted. It is no more than 3.'],
  ]
  for (const [where, path, text] of allowed) {
    it(`are not looked for ${where}`, () => {
      expect(unwantedIn(proseOf(path, text), list)).to.deep.equal([])
    })
  }
})
