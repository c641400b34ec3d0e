import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import type { PageFiles, PageName } from '../api/pages/shells.ts'
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
  const { outputFiles, metafile } = await build({
    entryPoints: {
      console: join(FOLDER, 'console.tsx'),
      receipt: join(FOLDER, 'receipt.tsx'),
      checkout: join(FOLDER, 'checkout.ts'),
    },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    platform: 'browser',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    entryNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.woff2': 'file' },
    outdir: FOLDER,
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'silent',
  })
  // It keeps a process of its own for builds to come, and there are none.
  await stop()
  const files = new Map(outputFiles.map((file) => [basename(file.path), file.contents]))
  const outputs = Object.entries(metafile.outputs)
  const entryOf = (page: PageName): { script: string; style: string } => {
    const [path, output] =
      outputs.find(([path]) => basename(path).startsWith(`${page}-`) && path.endsWith('.js')) ?? []
    return { script: basename(path ?? ''), style: basename(output?.cssBundle ?? '') }
  }
  const entries = {
    console: entryOf('console'),
    receipt: entryOf('receipt'),
    checkout: entryOf('checkout'),
  }
  return { manifest: { assets: [...files.keys()], entries }, files }
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
