import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

import { expect } from 'chai'

import { parseConfig, VARIABLES } from '../src/base/config.ts'
import { COMMANDS } from '../src/cli/commands.ts'
import { BREAK_MEANINGS } from '../src/domain/breaks.ts'
import { quittanceSchema } from '../src/verify/index.ts'

const PAGES = readdirSync('docs').map((name) => `docs/${name}`)
const LINKED = [
  ...PAGES,
  ...readdirSync('guides').map((name) => `guides/${name}`),
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'deploy/README.md',
  ...readdirSync('examples', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .map((name) => `examples/${name}`),
]

describe('the pages in docs', () => {
  for (const page of PAGES) {
    it(`name only files that there are: ${page}`, () => {
      const text = readFileSync(page, 'utf8')
      const paths = [...text.matchAll(/`((?:src|test|contracts|deploy)\/[\w/.-]*)`/g)].map(
        ([, path]) => path,
      )
      expect(paths).not.to.have.length(0)
      expect(paths.filter((path) => !existsSync(path ?? ''))).to.deep.equal([])
    })
  }

  it('are all in the index', () => {
    const index = readFileSync('docs/README.md', 'utf8')
    const listed = [...index.matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\)/gm)].map(([, name]) => name)
    expect(['README.md', ...listed]).to.have.members(readdirSync('docs'))
  })

  it('name a test for each safety rule, by its sentence', () => {
    const rules = readFileSync('docs/safety.md', 'utf8').split(/^## /m).slice(1)
    expect(rules.map((rule) => Number.parseInt(rule, 10))).to.deep.equal([
      1, 2, 3, 4, 5, 6, 7, 8, 9,
    ])
    for (const rule of rules) {
      const [tests = ''] = /Tests?: .*/.exec(rule) ?? []
      const sentences = [...tests.matchAll(/"([^"]{20,})"|'([^']{20,})'/g)]
      const files = [...tests.matchAll(/`(test\/[\w/.-]+)`/g)].map(([, file = '']) => file)
      const text = files.map((file) => readFileSync(file, 'utf8')).join('\n')
      expect(files, rule).not.to.have.length(0)
      for (const [, double, single] of sentences) expect(text).to.include(double ?? single)
    }
  })

  it('list the words of the glossary once each, in order', () => {
    const rows = readFileSync('docs/glossary.md', 'utf8').split('\n').slice(6)
    const words = rows.filter(Boolean).map((row) => (row.split('|')[1] ?? '').trim().toLowerCase())
    expect(words).to.deep.equal([...new Set(words)].toSorted((a, b) => (a < b ? -1 : 1)))
  })

  it('list every setting with the sentence of the code, and defaults that change nothing', () => {
    const rows = rowsOf('docs/configuration.md', '## Settings')
    expect(rows.map(([name, , what]) => [name, what])).to.deep.equal(
      Object.entries(VARIABLES).map(([name, what]) => [`\`${name}\``, what]),
    )
    const defaults = rows.flatMap(([name = '', cell = '']) => {
      const [, value] = /^`([^`]+)`$/.exec(cell) ?? []
      return value === undefined ? [] : [[name.replaceAll('`', ''), value]]
    })
    expect(defaults.length).to.be.greaterThan(10)
    expect(parseConfig(Object.fromEntries(defaults))).to.deep.equal(parseConfig({}))
  })

  it('list every command with the sentence of the code', () => {
    const commands = COMMANDS.map(({ name, description }) => [`\`${name}\``, description])
    const [, text = ''] = readFileSync('docs/commands.md', 'utf8').split('# Commands')
    const [table = ''] = text.split('Every command takes')
    const rows = [...table.matchAll(/^\| (`\w+`) \| (.*) \|$/gm)].map(([, name, what]) => [
      name,
      what,
    ])
    expect(rows).to.deep.equal(commands)
  })

  it('leave no command to another test that does not read the page', () => {
    for (const page of PAGES) {
      if (!readFileSync(page, 'utf8').includes('```sh elsewhere')) continue
      expect(readFileSync('test/store/backup.test.ts', 'utf8')).to.include(page)
    }
  })

  it('have a section for each kind of break, which begins with the sentence of the code', () => {
    const [, kinds = ''] = readFileSync('docs/reconciliation.md', 'utf8').split(
      '## Kinds of breaks',
    )
    const sections = kinds.split(/^### /m).slice(1)
    const meanings = sections.map((section) => section.split('\n\n').slice(0, 2))
    expect(meanings).to.deep.equal(Object.entries(BREAK_MEANINGS))
    for (const section of sections) {
      expect(section).to.match(/\*\*Likely causes\*\*\n\n- .*[\s\S]*\*\*What to do\*\*\n\n1\. /)
    }
  })

  it('specify every field of a quittance, in the order of the file', () => {
    const rows = rowsOf('docs/verification.md', '### Fields')
    const fields = rows.map(([name = '']) => name.replaceAll('`', ''))
    expect(fields).to.deep.equal(fieldsOf(quittanceSchema.properties))
  })

  it('have the gas that the snapshot has', () => {
    const { osaka } = JSON.parse(readFileSync('test/contracts/gas.json', 'utf8')) as {
      osaka: Record<'transactions' | 'largestBatches', Record<string, number>>
    }
    const shown = (figures: Record<string, number>): string[][] =>
      Object.entries(figures).map(([name, figure]) => [
        name,
        Math.round(figure).toLocaleString('en-US'),
      ])
    const { transactions, largestBatches } = osaka
    expect(rowsOf('docs/contracts.md', '## Gas')).to.deep.equal(shown(transactions))
    expect(rowsOf('docs/contracts.md', '## Largest batches')).to.deep.equal(shown(largestBatches))
  })

  it('explain only errors that the program has', () => {
    const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.ts'),
    )
    const code = sources.map((name) => readFileSync(join('src', name), 'utf8')).join('\n')
    const headings = readFileSync('docs/faq.md', 'utf8').matchAll(/^### `(\w+)`$/gm)
    const unknown = [...headings].filter(([, name]) => !code.includes(`'${name}'`))
    expect(unknown).to.deep.equal([])
  })
})

describe('the specification of the contracts', () => {
  for (const name of ['ISettlement', 'IReferenceDollar']) {
    const text = readFileSync(`contracts/interfaces/${name}.sol`, 'utf8')

    it(`says when each error is thrown: ${name}`, () => {
      const errors = [...text.matchAll(/((?: {4}\/\/\/ .*\n)+) {4}error (\w+)\(/g)]
      expect(errors).to.have.length(text.match(/^ {4}error /gm)?.length ?? 0)
      for (const [, comment, error] of errors) {
        expect(comment, error).to.match(/^ {4}\/\/\/ @notice Thrown when /)
      }
    })

    it(`explains each parameter of each event: ${name}`, () => {
      const events = [...text.matchAll(/((?: {4}\/\/\/ .*\n)+) {4}event \w+\(([^)]*)\)/g)]
      expect(events).to.have.length(text.match(/^ {4}event /gm)?.length ?? 0)
      for (const [, comment = '', parameters = ''] of events) {
        const names = parameters.split(',').map((one) => one.trim().split(' ').at(-1))
        const explained = [...comment.matchAll(/@param (\w+) /g)].map(([, param]) => param)
        expect(explained).to.deep.equal(names)
      }
    })
  }
})

describe('the links of the documentation', () => {
  for (const page of LINKED) {
    it(`lead somewhere from ${page}`, () => {
      const text = readFileSync(page, 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
      const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
      expect(links.filter((link) => !/^https?:/.test(link) && !isThere(page, link))).to.deep.equal(
        [],
      )
    })
  }

  it('are found to lead nowhere where the file or its section is missing', () => {
    expect(isThere('docs/faq.md', 'missing.md')).to.equal(false)
    expect(isThere('docs/faq.md', 'operating.md#missing')).to.equal(false)
    expect(isThere('docs/faq.md', 'operating.md#low-signers')).to.equal(true)
  })
})

function isThere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const file = path === '' ? page : normalize(join(dirname(page), path))
  if (!existsSync(file)) return false
  return anchor === undefined || anchorsOf(readFileSync(file, 'utf8')).includes(anchor)
}

/** As the sites make them that show such pages. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

/** The cells of the first table below a heading. */
function rowsOf(page: string, heading: string): string[][] {
  const [, below = ''] = readFileSync(page, 'utf8').split(`\n${heading}\n`)
  const [section = ''] = below.split(/^#+ /m)
  const [table = ''] = /(^\|.*\n)+/m.exec(section) ?? []
  const [, , ...rows] = table.trim().split('\n')
  return rows.map((row) => row.slice(2, -2).split(' | '))
}

/** `block` has parts of its own; a list or a text has none. */
function fieldsOf(properties: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const inner = (schema as { properties?: Readonly<Record<string, unknown>> }).properties
    return inner === undefined ? [name] : fieldsOf(inner).map((part) => `${name}.${part}`)
  })
}
