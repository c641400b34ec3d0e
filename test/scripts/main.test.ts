import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

import { expect } from 'chai'
import { build, type Metafile } from 'esbuild'

import { cpuTimeOfNode } from '../engines/bench/cpu.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { readLock } from '../fixtures/lock-file.ts'

/** What each loads at its start, counted on the day when this was last made lighter. */
const MODULES = {
  'src/app.ts': 2188,
  'src/cli/main.ts': 13,
  'src/cli/commands/users.ts': 370,
  'src/rails/simulators/program.ts': 13,
}
/** What an install brings beside the package itself, those for other machines included. */
const PACKAGES = 151

describe('a start', () => {
  let inputs: Metafile['inputs']

  before(async () => {
    const result = await build({
      entryPoints: Object.keys(MODULES),
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      outdir: 'none',
      write: false,
      metafile: true,
      external: ['esbuild'],
      loader: { '.node': 'empty', '.wasm': 'empty' },
      logLevel: 'silent',
    })
    ;({ inputs } = result.metafile)
  })

  for (const [entry, known] of Object.entries(MODULES)) {
    it(`loads not many more than ${known} modules by ${entry}`, () => {
      expect(reached(entry, inputs).size).to.be.within(2, Math.floor(known * 1.2))
    })
  }
})

describe('an install', () => {
  it(`brings not many more than ${PACKAGES} packages`, () => {
    const brought = readLock().filter(([, { dev, devOptional }]) => !(dev || devOptional))
    expect(brought.length).to.be.within(1, Math.floor(PACKAGES * 1.2))
  })
})

describe('the program of a clone', () => {
  it('tells its help on six times what node takes to start', async () => {
    const best = (...command: string[]): number =>
      Math.min(...Array.from({ length: 5 }, () => cpuTimeOfNode(...command)))
    expect(best('scripts/main.mjs', '--help')).to.be.below(6 * best('--eval', '0'))
  })

  it('is bundled anew when a source has changed, and only then', async () => {
    const folder = temporaryFolder()
    const write = (name: string, text: string): void => writeFileSync(join(folder.path, name), text)
    const run = async (): Promise<string> => {
      const command = [join(folder.path, 'scripts/main.mjs'), 'and', 'arguments']
      return (await promisify(execFile)(process.execPath, command)).stdout
    }
    try {
      for (const name of ['scripts', 'src/cli', 'src/rails/simulators']) {
        mkdirSync(join(folder.path, name), { recursive: true })
      }
      cpSync('scripts/main.mjs', join(folder.path, 'scripts/main.mjs'))
      write('package-lock.json', '{}')
      write('src/rails/simulators/program.ts', 'export {}')
      mkdirSync(join(folder.path, 'node_modules'))
      symlinkSync(resolve('node_modules/esbuild'), join(folder.path, 'node_modules/esbuild'))
      const cache = join(folder.path, 'node_modules/.cache/quittance')
      const main = (word: string): string =>
        [
          "import { place } from '../place.ts'",
          "const [, line] = (new Error('here').stack ?? '').split('\\n')",
          `console.log('${word}', place, ...process.argv.slice(2), /[^/]+:\\d+(?=:)/.exec(line)?.[0])`,
        ].join('\n')
      write('src/place.ts', 'export const place: string = import.meta.url')
      write('src/cli/main.ts', main('one'))
      const place = pathToFileURL(join(folder.path, 'src/place.ts')).href
      expect(await run()).to.equal(`one ${place} and arguments main.ts:2\n`)
      expect(await run()).to.equal(`one ${place} and arguments main.ts:2\n`)
      expect(readdirSync(cache)).to.have.length(1)
      write('src/cli/main.ts', main('two'))
      expect(await run()).to.equal(`two ${place} and arguments main.ts:2\n`)
      expect(readdirSync(cache)).to.have.length(2)
      // Nothing can be kept there any more.
      rmSync(cache, { recursive: true })
      write('node_modules/.cache/quittance', '')
      expect(await run()).to.equal(`two ${place} and arguments main.ts:2\n`)
    } finally {
      folder.remove()
    }
  })
})

/** Without what is imported only when it is needed. */
function reached(entry: string, inputs: Metafile['inputs'], seen = new Set<string>()): Set<string> {
  const input = inputs[entry]
  if (input === undefined || seen.has(entry)) return seen
  seen.add(entry)
  for (const { path, kind, external } of input.imports) {
    if (kind !== 'dynamic-import' && external !== true) reached(path, inputs, seen)
  }
  return seen
}
