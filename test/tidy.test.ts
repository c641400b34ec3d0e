import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { expect } from 'chai'

import { treeViolationsOf } from './fixtures/tidy-tree.ts'
import { violationsOf, type SourceFile } from './fixtures/tidy.ts'

describe('the tree', () => {
  it('keeps every rule of layers, sizes, names and folders', () => {
    const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
      encoding: 'utf8',
    })
    const files: SourceFile[] = listed
      .split('\n')
      .filter((path) => /\.(tsx?|mjs|sol|sql)$/.test(path) && !path.startsWith('src/bindings/typ'))
      .flatMap((path) => {
        const text = readText(path)
        return text === undefined ? [] : [{ path, text }]
      })
    const written = files.filter(({ path }) => !/^src\/bindings\/|\.sql$/.test(path))
    expect([...written.flatMap(violationsOf), ...treeViolationsOf(files)]).to.deep.equal([])
  })

  const planted: ReadonlyArray<[string, { path: string; text: string }]> = [
    ['a layer that reaches up', { path: 'src/domain/a.ts', text: "import '../store/b.ts'" }],
    ['two siblings', { path: 'src/sender/a.ts', text: "export * from '../webhooks/b.ts'" }],
    ['an import in a type', { path: 'src/wire/a.ts', text: "type A = import('../api/b.ts').B" }],
    ['a folder that is no layer', { path: 'src/extra/a.ts', text: 'export const a = 1' }],
    ['a package out of its layer', { path: 'src/api/a.ts', text: "import { sql } from 'kysely'" }],
    ['a builtin in a browser', { path: 'src/client/a.ts', text: "import 'node:fs'" }],
    ['a long file', { path: 'src/base/a.ts', text: 'export {}\n'.repeat(401) }],
    ['a long line', { path: 'src/base/a.ts', text: `const a = [${'1, '.repeat(40)}]` }],
    [
      'a long line of Solidity',
      { path: 'contracts/A.sol', text: `uint a = ${'1 + '.repeat(40)}1;` },
    ],
    ['a long function', { path: 'src/base/a.ts', text: `function f() {${'\n'.repeat(70)}}` }],
    [
      'a long function of a page',
      { path: 'src/api/a.tsx', text: `function F() {${'\n'.repeat(70)}}` },
    ],
    ['a folder for anything', { path: 'src/api/utils/a.ts', text: '' }],
    ['a barrel', { path: 'src/api/index.ts', text: '' }],
    ['unfinished work', { path: 'src/base/a.ts', text: '// TODO: later' }],
  ]
  for (const [name, file] of planted) {
    it(`refuses ${name}`, () => {
      expect(violationsOf(file)).to.have.length(1)
    })
  }

  const plantedTogether: ReadonlyArray<[string, SourceFile[]]> = [
    [
      'a cycle of imports of types',
      [
        { path: 'src/base/a.ts', text: "import type { B } from './b.ts'" },
        { path: 'src/base/b.ts', text: "import type { C } from './c.ts'" },
        { path: 'src/base/c.ts', text: "import type { A } from './a.ts'" },
      ],
    ],
    [
      'a full folder',
      Array.from({ length: 25 }, (_, n) => ({ path: `src/base/${n}.ts`, text: '' })),
    ],
    [
      'a published function without a comment',
      [
        { path: 'src/client/index.ts', text: "export { f } from './f.ts'" },
        { path: 'src/client/f.ts', text: 'export function f(): void {}' },
      ],
    ],
  ]
  for (const [name, files] of plantedTogether) {
    it(`refuses ${name}`, () => {
      expect(treeViolationsOf(files)).to.have.length(1)
    })
  }

  it('passes a file that keeps the rules', () => {
    const text = "import { fastify } from 'fastify'\nimport '../store/database.ts'\n"
    expect(violationsOf({ path: 'src/api/a.ts', text })).to.deep.equal([])
  })
})

describe('the linter', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lint-'))
    for (const file of ['.oxlintrc.json', 'tsconfig.json', 'package.json']) {
      cpSync(file, join(folder, file))
    }
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  })

  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const lint = (files: Record<string, string>): string => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const oxlint = resolve('node_modules/.bin/oxlint')
    return spawnSync(oxlint, ['--type-aware', ...Object.keys(files)], {
      cwd: folder,
      encoding: 'utf8',
      timeout: 15_000,
    }).stdout
  }

  it('passes clean code', () => {
    expect(lint({ 'a.ts': 'export const a: number = 1\n' })).to.include('0 errors')
  })

  it('refuses a promise that nobody awaits', () => {
    const text = 'export function a(b: () => Promise<void>): void {\n  b()\n}\n'
    expect(lint({ 'a.ts': text })).to.include('no-floating-promises')
  })

  it('refuses a cycle of imports', () => {
    const files = {
      'a.ts': "import { b } from './b.ts'\nexport const a = (): number => b()\n",
      'b.ts': "import { a } from './a.ts'\nexport const b = (): number => a()\n",
    }
    expect(lint(files)).to.include('no-cycle')
  })

  it('refuses a switch that forgets a case', () => {
    const text = `
export function a(state: 'x' | 'y'): void {
  switch (state) {
    case 'x':
      break
  }
}
`
    expect(lint({ 'a.ts': text })).to.include('switch-exhaustiveness-check')
  })
})

/** A file that was deleted, but not yet committed, is still in git's list. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
