import { createHash } from 'node:crypto'
import { existsSync, statSync, type Stats } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Metafile } from 'esbuild'

import type { PageEntry, PageFiles, PageName } from '../api/pages/shells.ts'
import { BaseError } from '../base/errors.ts'
import { makeFolder } from '../base/lock.ts'

/**
 * The pages' programs. The package carries them built. A clone of the repository builds them when
 * somebody first opens a page, and keeps them for its next start.
 */
export async function loadPages(kept = KEPT): Promise<PageFiles> {
  const built = join(FOLDER, MANIFEST)
  if (existsSync(built)) {
    const manifest = JSON.parse(await readFile(built, 'utf8')) as Manifest
    return assemble(manifest, (name) => readFile(join(FOLDER, name)))
  }
  const { manifest, files } = (await readKept(kept)) ?? (await buildAndKeep(kept))
  return assemble(manifest, (name) => Promise.resolve(files.get(name) ?? new Uint8Array()))
}

const FOLDER = fileURLToPath(new URL('../console/', import.meta.url))
/** Clones may share their packages, and each has pages of its own. */
const CLONE = createHash('sha256').update(FOLDER).digest('hex').slice(0, 8)
const KEPT = join(FOLDER, `../../node_modules/.cache/quittance/pages.${CLONE}.json`)
export const MANIFEST = 'manifest.json'

export type Manifest = { assets: string[]; entries: PageFiles['entries'] }
export type BuiltPages = { manifest: Manifest; files: ReadonlyMap<string, Uint8Array> }

/** By the path of each source its state; by the name of each file its bytes, in base64. */
type Kept = {
  sources: Record<string, string>
  manifest: Manifest
  files: Record<string, string>
}

/** Undefined where there are none, and where a source is no longer what it was. */
async function readKept(file: string): Promise<BuiltPages | undefined> {
  try {
    const { sources, manifest, files } = JSON.parse(await readFile(file, 'utf8')) as Kept
    for (const [path, state] of Object.entries(sources)) {
      if (stateOf(statSync(path)) !== state) return undefined
    }
    const bytes = Object.entries(files).map(
      ([name, text]) => [name, Buffer.from(text, 'base64')] as const,
    )
    return { manifest, files: new Map(bytes) }
  } catch {
    return undefined
  }
}

async function buildAndKeep(file: string): Promise<BuiltPages> {
  const startedAt = Date.now()
  const { sources, ...pages } = await buildPages()
  const draft = `${file}.${process.pid}`
  try {
    const states = sources.map((path) => [path, statSync(path)] as const)
    // Of a source that was written meanwhile nobody knows which state they were made of.
    if (states.some(([, { mtimeMs }]) => mtimeMs >= startedAt)) return pages
    const kept: Kept = {
      sources: Object.fromEntries(states.map(([path, stats]) => [path, stateOf(stats)])),
      manifest: pages.manifest,
      files: Object.fromEntries(
        [...pages.files].map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64')]),
      ),
    }
    makeFolder(dirname(file))
    await writeFile(draft, JSON.stringify(kept))
    await rename(draft, file)
  } catch {
    // Where nothing can be written, each start builds them.
    await rm(draft, { force: true }).catch(() => undefined)
  }
  return pages
}

/** A file that was written again counts as changed, so that no start has to read them all. */
function stateOf({ size, mtimeMs }: Stats): string {
  return `${size} ${mtimeMs}`
}

/** With the paths of what they were made of. */
export async function buildPages(): Promise<BuiltPages & { sources: readonly string[] }> {
  const { build, stop } = await import('esbuild').catch((error: unknown) => {
    throw new PagesMissingError(error)
  })
  const shared = {
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    platform: 'browser',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.woff2': 'file' },
    outdir: FOLDER,
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
  } as const
  const built = await Promise.all([
    // Its screens that a first look does not need are files of their own.
    build({ ...shared, entryPoints: [join(FOLDER, 'console.tsx')], splitting: true }),
    build({ ...shared, entryPoints: ['receipt.tsx', 'checkout.ts'].map((it) => join(FOLDER, it)) }),
  ])
  // It keeps a process of its own for builds to come, and there are none.
  await stop()
  const files = new Map(
    built.flatMap(({ outputFiles }) => outputFiles.map((it) => [basename(it.path), it.contents])),
  )
  const outputs = Object.assign({}, ...built.map(({ metafile }) => metafile.outputs)) as Outputs
  const entries = {
    console: entryOf('console', outputs),
    receipt: entryOf('receipt', outputs),
    checkout: entryOf('checkout', outputs),
  }
  const sources = built.flatMap(({ metafile }) => Object.keys(metafile.inputs))
  return {
    manifest: { assets: [...files.keys()], entries },
    files,
    sources: [fileURLToPath(import.meta.url), ...sources.map((path) => resolve(path))],
  }
}

type Outputs = Metafile['outputs']

function entryOf(page: PageName, outputs: Outputs): PageEntry {
  const [path = '', output] =
    Object.entries(outputs).find(
      ([path]) => basename(path).startsWith(`${page}-`) && path.endsWith('.js'),
    ) ?? []
  return {
    script: basename(path),
    style: basename(output?.cssBundle ?? ''),
    parts: [...partsOf(path, outputs)].map((part) => basename(part)),
  }
}

/** What the program cannot start without: a browser would only find it once it has the program. */
function partsOf(path: string, outputs: Outputs, found = new Set<string>()): Set<string> {
  for (const { path: part, kind } of outputs[path]?.imports ?? []) {
    if (kind !== 'import-statement' || found.has(part)) continue
    partsOf(part, outputs, found.add(part))
  }
  return found
}

async function assemble(
  manifest: Manifest,
  read: (name: string) => Promise<Uint8Array>,
): Promise<PageFiles> {
  const assets = new Map<string, { type: string; body: Uint8Array }>()
  for (const name of manifest.assets) {
    assets.set(name, { type: TYPES[extname(name)] ?? 'text/plain', body: await read(name) })
  }
  return { assets, entries: manifest.entries }
}

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.woff2': 'font/woff2',
}

class PagesMissingError extends BaseError {
  constructor(cause: unknown) {
    super('The pages are not built, and esbuild is not installed. Run: npm ci', {
      code: 'pages_missing',
      cause,
    })
  }
}
