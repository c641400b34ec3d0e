// Runs the command line program of this clone from one bundle of its modules: to find, read and
// compile two thousand files takes longer than all else in a start. The bundle is named by a digest
// of the files that it was made of, and is made anew where that differs. Uses built-ins only, until
// it has to make one.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, rmSync, statSync, utimesSync } from 'node:fs'
import { readFile, rename } from 'node:fs/promises'
import { enableCompileCache } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const CACHE = join(ROOT, 'node_modules/.cache/quittance')
const UNUSED_MS = 7 * 86_400_000
/** These read files beside them, are native, or are loaded by few. */
const UNBUNDLED = [
  '@aws-sdk/client-kms',
  '@electric-sql/pglite',
  '@node-rs/argon2',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
  '@scalar/fastify-api-reference',
  'esbuild',
  'google-auth-library',
  'tiny-secp256k1',
]

/** The program that it starts stands beside it in the bundle too. */
const STARTS_PROGRAM = join('src', 'rails', 'simulators', 'start.ts')
/** Packages that are CommonJS call it. */
const BANNER =
  "import { createRequire as requireIn } from 'node:module'; " +
  'const require = requireIn(import.meta.url);'

const folder = join(CACHE, digest())
let program = join(folder, 'main.mjs')
try {
  if (existsSync(program)) utimesSync(folder, new Date(), new Date())
  else await bundle(folder)
} catch {
  // Where nothing can be written, and where a source is wrong, which Node then says.
  if (!existsSync(program)) program = join(ROOT, 'src/cli/main.ts')
}
// What we start as programs of their own keeps its code there as well.
process.env.NODE_COMPILE_CACHE ??= join(folder, 'code')
if (process.env.NODE_COMPILE_CACHE !== '') enableCompileCache(process.env.NODE_COMPILE_CACHE)
// An error names the source that it comes from.
process.setSourceMapsEnabled(true)
await import(pathToFileURL(program).href)

/**
 * Of everything that the bundle is made of, and of where it stands, which it names. A file that was
 * written again counts as changed, so that no command has to read them all.
 */
function digest() {
  const hash = createHash('sha256').update(ROOT)
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true })
    .filter((name) => /\.(ts|json)$/.test(name))
    .map((name) => join('src', name))
  for (const file of [...sources.toSorted(), 'package-lock.json', 'scripts/main.mjs']) {
    const { size, mtimeMs } = statSync(join(ROOT, file))
    hash.update(`${file} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 32)
}

async function bundle(folder) {
  const { build, stop } = await import('esbuild')
  const draft = `${folder}.${process.pid}`
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/cli/main.ts', 'src/rails/simulators/program.ts'],
    outdir: draft,
    entryNames: '[name]',
    bundle: true,
    splitting: true,
    outExtension: { '.js': '.mjs' },
    // What is shorter is sooner read and compiled, and its lines are counted for the source map.
    minifySyntax: true,
    minifyWhitespace: true,
    keepNames: true,
    sourcemap: 'linked',
    sourcesContent: false,
    format: 'esm',
    platform: 'node',
    target: `node${process.versions.node}`,
    external: UNBUNDLED,
    banner: { js: BANNER },
    plugins: [{ name: 'places', setup: keepPlaces }],
    logLevel: 'silent',
  })
  await stop()
  // Another start may have made it meanwhile.
  await rename(draft, folder).catch(() => rmSync(draft, { recursive: true }))
  for (const name of readdirSync(CACHE)) {
    const old = join(CACHE, name)
    if (Date.now() - statSync(old).mtimeMs > UNUSED_MS) rmSync(old, { recursive: true })
  }
}

/** Our own modules find files by where they stand, which is not where the bundle stands. */
function keepPlaces({ onLoad }) {
  onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
    if (path.includes('node_modules') || path.endsWith(STARTS_PROGRAM)) return undefined
    const text = await readFile(path, 'utf8')
    const contents = text
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
    return { contents, loader: 'ts' }
  })
}
