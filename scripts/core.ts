/**
 * Makes the package `quittance-core` in `build/core`: the entries that need no server, with what
 * they use of other packages inside, so that an install of it is small.
 */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { build, type Metafile } from 'esbuild'

/** Those that the main package has too, and where their sources are. */
const ENTRIES = ['.', './client', './contracts', './contracts/ethers', './verify']
/** The types of typebox are in the types of the client, and ethers is the caller's own. */
const OUTSIDE = ['typebox', 'ethers']
const OUT = 'build/core'
const README = `# quittance-core

The parts of Quittance that need no server: a client of both groups of endpoints, verification and
quittances, and the contracts' bindings. It is the same code as in the package \`quittance\`,
without what only a server needs.

| import | what it has |
| --- | --- |
| \`quittance-core\` | clients whose calls resolve when the chain agrees |
| \`quittance-core/client\` | typed clients, and the check of webhooks |
| \`quittance-core/verify\` | verification, and quittances |
| \`quittance-core/contracts\` | ABIs for viem, addresses and code |
| \`quittance-core/contracts/ethers\` | factories and types; needs \`npm install ethers\` |

Node 22.18 or later, and browsers. TypeScript 5.0 or later.
`

type Manifest = {
  version: string
  exports: Record<string, { types: string; default: string }>
  dependencies: Record<string, string>
  peerDependencies: Record<string, string>
  engines: object
  keywords: string[]
  license: string
}

const manifest = JSON.parse(await readFile('package.json', 'utf8')) as Manifest
await rm(OUT, { recursive: true, force: true })
await mkdir(OUT, { recursive: true })
const inputs = await bundle()
await Promise.all([...(await declarations())].map(copyDeclaration))
await writeFile(path.join(OUT, 'package.json'), `${JSON.stringify(ownManifest(), null, 2)}\n`)
await writeFile(path.join(OUT, 'LICENSES.txt'), await licensesOf(inputs))
await cp('LICENSE', path.join(OUT, 'LICENSE'))
await writeFile(path.join(OUT, 'README.md'), README)

/** The file in `dist`, without its ending. */
function fileOf(entry: string): string {
  return manifest.exports[entry]!.default.replace(/^\.\/dist\/(.*)\.js$/, '$1')
}

async function bundle(): Promise<Metafile['inputs']> {
  const { metafile } = await build({
    entryPoints: ENTRIES.map((entry) => `src/${fileOf(entry)}.ts`),
    outdir: path.join(OUT, 'dist'),
    outbase: 'src',
    chunkNames: 'shared/[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    // What browsers run, Node runs too.
    platform: 'browser',
    target: 'es2024',
    external: OUTSIDE,
    metafile: true,
    logLevel: 'warning',
  })
  return metafile.inputs
}

/** Each file of types that one of the entries leads to. */
async function declarations(): Promise<Set<string>> {
  const found = new Set<string>()
  const queue = ENTRIES.map((entry) => `dist/${fileOf(entry)}.d.ts`)
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (found.has(file)) continue
    found.add(file)
    for (const specifier of specifiersIn(await readFile(file, 'utf8'))) {
      if (!specifier.startsWith('.')) checkKnown(specifier, file)
      else queue.push(path.join(path.dirname(file), specifier.replace(/\.[jt]s$/, '.d.ts')))
    }
  }
  return found
}

/** A compiler writes each import on one line or on several, and nothing else before `from`. */
function specifiersIn(text: string): string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '')
  const statements = /^(?:import|export)\s(?:[\w\s{},*]*?\sfrom\s)?\s*["']([^"']+)["']/gm
  const inline = /\bimport\(["']([^"']+)["']\)/g
  return [...code.matchAll(statements), ...code.matchAll(inline)].map(([, name]) => name!)
}

function checkKnown(specifier: string, file: string): void {
  if (OUTSIDE.includes(specifier)) return
  throw new Error(`${file} needs the types of ${specifier}, which quittance-core does not bring.`)
}

/** Its examples name the package that they are in. */
async function copyDeclaration(file: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  const to = path.join(OUT, file)
  await mkdir(path.dirname(to), { recursive: true })
  await writeFile(to, text.replaceAll(/(from ['"])quittance(?=['"/])/g, '$1quittance-core'))
}

function ownManifest(): object {
  const { version, keywords, license, engines, dependencies, peerDependencies } = manifest
  return {
    name: 'quittance-core',
    version,
    description:
      'The parts of Quittance that need no server: client, proofs and contract bindings.',
    keywords,
    license,
    type: 'module',
    sideEffects: false,
    engines,
    exports: {
      ...Object.fromEntries(ENTRIES.map((entry) => [entry, manifest.exports[entry]])),
      './package.json': './package.json',
    },
    files: ['dist', 'LICENSE', 'LICENSES.txt', 'README.md'],
    dependencies: { typebox: dependencies['typebox'] },
    peerDependencies: { ethers: peerDependencies['ethers'] },
    peerDependenciesMeta: { ethers: { optional: true } },
  }
}

/** Of each package of others whose code is inside. */
async function licensesOf(inputs: Metafile['inputs']): Promise<string> {
  const folders = Object.keys(inputs).flatMap((file) => {
    return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []
  })
  const texts = [...new Set(folders)].toSorted().map(async (folder) => {
    const license = await readFile(path.join(folder, 'LICENSE'), 'utf8')
    return `${folder.replace(/^.*node_modules\//, '')}\n\n${license.trim()}\n`
  })
  return (await Promise.all(texts)).join('\n---\n\n')
}
