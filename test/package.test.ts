import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'

import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { expect } from 'chai'
import { publint } from 'publint'

import { temporaryFolder } from './fixtures/folder.ts'
import { runFile, type Program } from './fixtures/program.ts'
import { examplesOf } from './fixtures/published-examples.ts'
import { fillUnmigrated } from './fixtures/store/prepared-data.ts'

const ENTRIES = ['.', './client', './verify', './contracts', './reconcile', './server']
const SOURCES = [
  'src/checked/index.ts',
  'src/verify/index.ts',
  'src/app/reconcile.ts',
  'src/app/server.ts',
]

const USE = `
import { createPlatform } from 'quittance'
import { ApiError, createPlatformClient } from 'quittance/client'
import { settlementAbi, settlementAddress } from 'quittance/contracts'
import { reconcile } from 'quittance/reconcile'
import { startApp } from 'quittance/server'
import { verifyTransaction } from 'quittance/verify'

const named = [createPlatform, createPlatformClient, verifyTransaction, reconcile, startApp]
console.log(process.version, settlementAddress, settlementAbi.length)
console.log(named.map(({ name }) => name).join(' '))
const platform = createPlatformClient({ baseUrl: 'http://127.0.0.1:9', apiKey: 'k', timeoutMs: 50 })
const error = await platform.transactions.list().catch((error) => error)
if (!(error instanceof ApiError)) throw error
`

const OLD = `
import { spawnSync } from 'node:child_process'

for (const entry of ${JSON.stringify(ENTRIES)}) {
  const error = await import('quittance' + entry.slice(1)).catch((error) => error)
  console.log(error.message)
}
const bin = spawnSync(process.execPath, ['node_modules/quittance/dist/cli/main.js', 'up'])
if (bin.status !== 2) throw new Error('it has run')
process.stdout.write(String(bin.stderr))
`

const USE_TYPES = `
import { createPlatform, type Platform } from 'quittance'
import { ApiError, type PlatformClient } from 'quittance/client'
import { settlementAbi, settlementAddress } from 'quittance/contracts'
import { createLogger, parseConfig, startApp } from 'quittance/server'
import { verifyTransaction, type Verdict } from 'quittance/verify'

const baseUrl = 'http://127.0.0.1:8080'
const platform: Platform = createPlatform({ baseUrl, apiKey: 'k', providers: [baseUrl] })
const client: Omit<PlatformClient, 'blockchain'> = platform
export async function amountOf(id: string): Promise<string> {
  const { amount, status } = await client.transactions.get(id)
  // @ts-expect-error an amount is text, and no number
  const wrong: number = amount
  return status === 'a word of another server' ? String(wrong) : amount
}
// @ts-expect-error a double may have lost digits
export const sent = platform.blockchain.send({ to_address: '0x', amount: 0.1, description: '' })
export const isGone = (error: unknown): boolean => error instanceof ApiError && error.retryable
export const verdict = (hash: string): Promise<Verdict> =>
  verifyTransaction({ chainId: 1, hash }, { providers: [] })
export const app = () =>
  startApp({ config: parseConfig({}), role: 'up', logger: createLogger({ level: 'warn' }) })
export const address: \`0x\${string}\` = settlementAddress
export const first: 'constructor' | 'error' | 'event' | 'function' = settlementAbi[0].type
`

/** What a user gets: packed, installed into an empty project, and used there. */
describe('the package', () => {
  let folder: ReturnType<typeof temporaryFolder>
  let tarball: string
  let installed: string

  before(async () => {
    folder = temporaryFolder()
    const packing = ['pack', '--json', '--pack-destination', folder.path]
    const stdout = await run('npm', packing, process.cwd())
    const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as { filename: string }[]
    tarball = join(folder.path, packed?.filename ?? '')
    write('package.json', '{ "private": true, "type": "module" }')
    const installing = ['--omit=dev', '--prefer-offline', '--no-audit', '--no-fund']
    await run('npm', ['install', '--ignore-scripts', ...installing, tarball])
    installed = join(folder.path, 'node_modules/quittance')
  })
  after(async () => {
    await rm(folder.path, { recursive: true, force: true })
  })

  const write = (name: string, text: string): void => writeFileSync(join(folder.path, name), text)

  const run = async (file: string, args: readonly string[], cwd = folder.path): Promise<string> => {
    const child = promisify(execFile)(file, args, { cwd, timeout: 240_000 })
    // A compiler says on standard output what is wrong.
    const { stdout } = await child.catch((error: { stdout?: string; message: string }) => {
      throw new Error(`${error.message}${error.stdout}`)
    })
    return stdout
  }

  /** Together, for each run of the compiler reads all the types of the packages anew. */
  const checkTypes = (files: readonly string[]) => {
    const tsc = resolve('node_modules/typescript/bin/tsc')
    const language = ['--strict', '--target', 'es2024', '--lib', 'es2024,dom']
    const modules = ['--module', 'nodenext', '--resolveJsonModule', '--skipLibCheck']
    return run(process.execPath, [tsc, '--noEmit', ...language, ...modules, ...files])
  }

  const programsOf = (page: string) => {
    const name = basename(page, '.md').toLowerCase()
    return [...readFileSync(page, 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
      ([, text = ''], index) => {
        write(`${name}-${index}.ts`, text)
        return { file: `${name}-${index}.ts`, text }
      },
    )
  }

  /** Those of the comments, each of which shows one function or class. */
  const commentPrograms = () =>
    SOURCES.flatMap(examplesOf).flatMap(({ name, programs }) =>
      programs.map((text, index) => {
        write(`example-${name}-${index}.ts`, text)
        return `example-${name}-${index}.ts`
      }),
    )

  it('is as its manifest says, for publint', async () => {
    const bytes = Uint8Array.from(readFileSync(tarball)).buffer
    const { messages } = await publint({ pack: { tarball: bytes }, strict: true })
    expect(messages).to.deep.equal([])
  })

  it('has the right types for every entry, for arethetypeswrong', async () => {
    const packed = createPackageFromTarballData(Uint8Array.from(readFileSync(tarball)))
    const analysis = await checkPackage(packed)
    if (analysis.types === false) throw new Error('The package has no types.')
    expect(Object.keys(analysis.entrypoints)).to.include.members(ENTRIES)
    // It is ESM only, and reads `exports`, which every Node that it supports knows.
    const found = analysis.problems.filter(
      (problem) =>
        problem.kind !== 'CJSResolvesToESM' &&
        !('resolutionKind' in problem && problem.resolutionKind === 'node10'),
    )
    expect(found).to.deep.equal([])
  })

  it('says on an older Node which one it needs, by every entry and the bin', async () => {
    const old = ['-y', '--prefer-offline', '-p', 'node@20', 'node']
    write('old.js', OLD)
    const told = await run('npx', [...old, 'old.js'])
    const sentence = /^Quittance needs Node 22\.18 or later, and this is Node 20\.\d+\.\d+\.$/
    const lines = told.trim().split('\n')
    expect(lines).to.have.length(ENTRIES.length + 1)
    for (const line of lines) expect(line).to.match(sentence)
  })

  const nodes = {
    22: ['npx', '-y', '--prefer-offline', '-p', 'node@22', 'node'],
    24: [process.execPath],
  } as const
  for (const [version, [file, ...args]] of Object.entries(nodes)) {
    it(`is used from JavaScript on Node ${version}`, async () => {
      write('use.js', USE)
      const stdout = await run(file, [...args, 'use.js'])
      expect(stdout).to.match(new RegExp(`^v${version}\\.`))
      expect(stdout).to.include(
        'createPlatform createPlatformClient verifyTransaction reconcile startApp',
      )
    })
  }

  describe('beside the platform that it starts', () => {
    let program: Program

    before(async () => {
      const data = join(folder.path, '.quittance')
      fillUnmigrated(data)
      program = runFile(join(installed, 'dist/cli/main.js'), ['up'], {
        QUITTANCE_DATA: data,
        QUITTANCE_BLOCK_MS: '100',
        PORT: '0',
      })
      await program.untilReady()
    })
    after(async () => {
      program.kill('SIGTERM')
      await program.ended
    })

    it('is used from TypeScript, also by the documentation and its comments', async () => {
      write('use.ts', USE_TYPES)
      const pages = readdirSync('docs').filter((name) => name !== 'README.md')
      const documented = ['README.md', ...pages.map((name) => `docs/${name}`)].flatMap(programsOf)
      expect(documented.length).to.be.greaterThan(6)
      await checkTypes(['use.ts', ...documented.map(({ file }) => file), ...commentPrograms()])
    })

    it('runs the programs of the README as written, where they need no argument', async () => {
      let printed = ''
      for (const { file, text } of programsOf('README.md')) {
        if (!text.includes('process.argv')) printed += await run(process.execPath, [file])
      }
      expect(printed).to.match(/^holds$/m)
    })
  })
})
