import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { expect } from 'chai'
import { publint } from 'publint'

import { once } from '../src/base/cache.ts'
import { temporaryFolder } from './fixtures/folder.ts'
import { runFile, type Program } from './fixtures/program.ts'
import { examplesOf } from './fixtures/published-examples.ts'
import { fillUnmigrated } from './fixtures/store/prepared-data.ts'

const { peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  peerDependencies: { ethers: string }
}
const CORE_ENTRIES = ['.', './client', './verify', './contracts', './contracts/ethers']
const ENTRIES = [...CORE_ENTRIES, './reconcile', './server']
/** The lowest compiler that the page about the library names, and the newest one. */
const COMPILERS = { quittance: '5.8', 'quittance-core': '5.0', newest: '7.0' }
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
import { Settlement__factory } from 'quittance/contracts/ethers'
import { reconcile } from 'quittance/reconcile'
import { startApp } from 'quittance/server'
import { verifyTransaction } from 'quittance/verify'

const named = [createPlatform, createPlatformClient, verifyTransaction, reconcile, startApp]
if (Settlement__factory.abi.length !== settlementAbi.length) throw new Error('another ABI')
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
import { Settlement__factory, type Settlement } from 'quittance/contracts/ethers'
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
export const settlement: Settlement = Settlement__factory.connect(settlementAddress)
export const address: \`0x\${string}\` = settlementAddress
export const first: 'constructor' | 'error' | 'event' | 'function' = settlementAbi[0].type
`

const USE_CORE = `
import { createPlatform, type Platform } from 'quittance-core'
import { ApiError } from 'quittance-core/client'
import { settlementAbi, settlementAddress } from 'quittance-core/contracts'
import { plainProvider, verifyTransaction, type Verdict } from 'quittance-core/verify'

const baseUrl = 'http://127.0.0.1:9'
const options = { baseUrl, apiKey: 'k', providers: [baseUrl], timeoutMs: 50 }
const platform: Platform = createPlatform(options)
const error: unknown = await platform.transactions.list().catch((error: unknown) => error)
if (!(error instanceof ApiError)) throw error
const hash = '0x' + '1'.repeat(64)
const providers = [plainProvider(baseUrl)]
const verdict: Verdict = await verifyTransaction({ chainId: 1, hash }, { providers })
console.log(verdict.status, settlementAddress, settlementAbi.length > 0)
`

const built = once(() => promisify(execFile)('npm', ['run', '--silent', 'build']))

/** A folder with nothing but the package in it. */
function emptyProject() {
  const { path } = temporaryFolder()
  const write = (name: string, text: string): void => writeFileSync(join(path, name), text)
  const run = async (file: string, args: readonly string[], cwd = path): Promise<string> => {
    const child = promisify(execFile)(file, args, { cwd, timeout: 240_000 })
    // A compiler says on standard output what is wrong.
    const { stdout } = await child.catch((error: { stdout?: string; message: string }) => {
      throw new Error(`${error.message}${error.stdout}`)
    })
    return stdout
  }
  write('package.json', '{ "private": true, "type": "module" }')
  return {
    path,
    write,
    run,
    /** What a folder of the package comes as. */
    async pack(source: string): Promise<string> {
      await built()
      const packing = ['pack', '--json', '--ignore-scripts', '--pack-destination', path]
      const stdout = await run('npm', packing, source)
      const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as { filename: string }[]
      return join(path, packed?.filename ?? '')
    },
    async install(...packages: string[]): Promise<void> {
      const installing = ['--omit=dev', '--prefer-offline', '--no-audit', '--no-fund']
      await run('npm', ['install', '--ignore-scripts', ...installing, ...packages])
    },
    /** Of all that the programs lead to, together: each run of a compiler reads it all anew. */
    async checkTypes(version: string, files: readonly string[], types: string[] = []) {
      const tsc = ['-y', '--prefer-offline', '-p', `typescript@${version}`, 'tsc']
      const language = ['--strict', '--target', 'es2022', '--lib', 'es2022,dom']
      const modules = ['--module', 'nodenext', '--resolveJsonModule']
      if (types.length > 0) modules.push('--types', types.join())
      await run('npx', [...tsc, '--noEmit', ...language, ...modules, ...files])
    },
    /** How many packages stand there, and how many megabytes are in their files. */
    weight() {
      const lock = readFileSync(join(path, 'node_modules/.package-lock.json'), 'utf8')
      const { packages } = JSON.parse(lock) as { packages: object }
      const files = readdirSync(join(path, 'node_modules'), {
        recursive: true,
        withFileTypes: true,
      })
      const sizes = files
        .filter((file) => file.isFile())
        .map((file) => statSync(join(file.parentPath, file.name)).size)
      const bytes = sizes.reduce((sum, size) => sum + size, 0)
      return { packages: Object.keys(packages).length, megabytes: bytes / 1e6 }
    },
    remove: () => rm(path, { recursive: true, force: true }),
  }
}

async function problemsOf(tarball: string, entries: readonly string[]) {
  const packed = createPackageFromTarballData(Uint8Array.from(readFileSync(tarball)))
  const analysis = await checkPackage(packed)
  if (analysis.types === false) throw new Error('The package has no types.')
  expect(Object.keys(analysis.entrypoints)).to.include.members(entries)
  // It is ESM only, and reads `exports`, which every Node that it supports knows.
  return analysis.problems.filter(
    (problem) =>
      problem.kind !== 'CJSResolvesToESM' &&
      !('resolutionKind' in problem && problem.resolutionKind === 'node10'),
  )
}

async function messagesOf(tarball: string) {
  const bytes = Uint8Array.from(readFileSync(tarball)).buffer
  return (await publint({ pack: { tarball: bytes }, strict: true })).messages
}

/** What a user gets: packed, installed into an empty project, and used there. */
describe('the package', () => {
  let project: ReturnType<typeof emptyProject>
  let tarball: string
  let installed: string

  before(async () => {
    project = emptyProject()
    tarball = await project.pack(process.cwd())
    // What a program of TypeScript that uses ethers has beside it.
    await project.install(tarball, `ethers@${peerDependencies.ethers}`, '@types/node@24')
    installed = join(project.path, 'node_modules/quittance')
  })
  after(() => project.remove())

  const programsOf = (page: string) => {
    const name = basename(page, '.md').toLowerCase()
    return [...readFileSync(page, 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
      ([, text = ''], index) => {
        project.write(`${name}-${index}.ts`, text)
        return { file: `${name}-${index}.ts`, text }
      },
    )
  }

  /** Those of the comments, each of which shows one function or class. */
  const commentPrograms = () =>
    SOURCES.flatMap(examplesOf).flatMap(({ name, programs }) =>
      programs.map((text, index) => {
        project.write(`example-${name}-${index}.ts`, text)
        return `example-${name}-${index}.ts`
      }),
    )

  it('is as its manifest says, for publint', async () => {
    expect(await messagesOf(tarball)).to.deep.equal([])
  })

  it('has the right types for every entry, for arethetypeswrong', async () => {
    expect(await problemsOf(tarball, ENTRIES)).to.deep.equal([])
  })

  it('weighs no fifth more than it did, with what a program has beside it', () => {
    const { packages, megabytes } = project.weight()
    expect(packages).to.be.below(131 * 1.2)
    expect(megabytes).to.be.below(203 * 1.2)
  })

  it('says on an older Node which one it needs, by every entry and the bin', async () => {
    const old = ['-y', '--prefer-offline', '-p', 'node@20', 'node']
    project.write('old.js', OLD)
    const told = await project.run('npx', [...old, 'old.js'])
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
      project.write('use.js', USE)
      const stdout = await project.run(file, [...args, 'use.js'])
      expect(stdout).to.match(new RegExp(`^v${version}\\.`))
      expect(stdout).to.include(
        'createPlatform createPlatformClient verifyTransaction reconcile startApp',
      )
    })
  }

  describe('beside the platform that it starts', () => {
    let program: Program

    before(async () => {
      const data = join(project.path, '.quittance')
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
      project.write('use.ts', USE_TYPES)
      const pages = readdirSync('docs').filter((name) => name !== 'README.md')
      const documented = ['README.md', ...pages.map((name) => `docs/${name}`)].flatMap(programsOf)
      expect(documented.length).to.be.greaterThan(6)
      const programs = [...documented.map(({ file }) => file), ...commentPrograms()]
      await project.checkTypes(COMPILERS.newest, ['use.ts', ...programs], ['node'])
      await project.checkTypes(COMPILERS.quittance, ['use.ts'], ['node'])
    })

    it('runs the programs of the README as written, where they need no argument', async () => {
      let printed = ''
      for (const { file, text } of programsOf('README.md')) {
        if (!text.includes('process.argv')) printed += await project.run(process.execPath, [file])
      }
      expect(printed).to.match(/^holds$/m)
    })
  })
})

/** The entries that need no server, in a package of their own. */
describe('the smaller package', () => {
  let project: ReturnType<typeof emptyProject>
  let tarball: string

  before(async () => {
    project = emptyProject()
    tarball = await project.pack('build/core')
    await project.install(tarball)
  })
  after(() => project.remove())

  it('is two packages and five megabytes at most', () => {
    const { packages, megabytes } = project.weight()
    expect(packages).to.equal(2)
    expect(megabytes).to.be.below(5)
  })

  it('is as its manifest says, and has the right types', async () => {
    expect(await messagesOf(tarball)).to.deep.equal([])
    expect(await problemsOf(tarball, CORE_ENTRIES)).to.deep.equal([])
  })

  it('is used from TypeScript, the lowest one too, which reads all its types', async () => {
    project.write('use.ts', USE_CORE)
    for (const version of [COMPILERS['quittance-core'], COMPILERS.newest]) {
      await project.checkTypes(version, ['use.ts'])
    }
    expect(await project.run(process.execPath, ['use.ts'])).to.match(/^pending 0x\w{40} true$/m)
  })
})
