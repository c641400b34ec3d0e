import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { Metafile } from 'esbuild'

import type { PageEntry, PageFiles, PageName } from '../api/pages/shells.ts'
import { BaseError } from '../base/errors.ts'

/**
 * The pages' programs. The package carries them built; a clone of the repository builds them in
 * memory when somebody first opens a page, which takes a fraction of a second and leaves no file
 * behind that could be out of date.
 */
export async function loadPages(): Promise<PageFiles> {
  const built = join(FOLDER, MANIFEST)
  if (existsSync(built)) return readBuilt(JSON.parse(await readFile(built, 'utf8')) as Manifest)
  const { manifest, files } = await buildPages()
  return assemble(manifest, (name) => Promise.resolve(files.get(name) ?? new Uint8Array()))
}

const FOLDER = fileURLToPath(new URL('../console/', import.meta.url))
export const MANIFEST = 'manifest.json'

export type Manifest = { assets: string[]; entries: PageFiles['entries'] }
export type BuiltPages = { manifest: Manifest; files: ReadonlyMap<string, Uint8Array> }

export async function buildPages(): Promise<BuiltPages> {
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
  return { manifest: { assets: [...files.keys()], entries }, files }
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

async function readBuilt(manifest: Manifest): Promise<PageFiles> {
  return assemble(manifest, (name) => readFile(join(FOLDER, name)))
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
