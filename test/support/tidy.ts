import ts from 'typescript'

export type SourceFile = { path: string; text: string }

/** Every rule is a function from one file to its violations, so that a test can plant one. */
export function violationsOf(file: SourceFile): string[] {
  return [layerRule, packageRule, builtinRule, sizeRule, lineRule, functionRule, nameRule, wordRule]
    .flatMap((rule) => rule(file))
    .map((violation) => `${file.path}: ${violation}`)
}

const SHARED = ['wire', 'store', 'verify', 'chain', 'bindings', 'domain', 'base']
const WITH_LEDGER = [...SHARED, 'ledger']

/**
 * The drawing in the README: what each folder of src may import. Siblings never import each other.
 */
const LAYERS: Record<string, readonly string[]> = {
  base: [],
  domain: ['base'],
  wire: ['domain', 'base'],
  bindings: [],
  chain: ['bindings', 'domain', 'base'],
  verify: ['chain', 'bindings', 'domain', 'base'],
  store: ['domain', 'base'],
  // One change of a payment or a transfer: its row, its postings and what is told of it.
  ledger: ['wire', 'store', 'chain', 'domain', 'base'],
  sender: SHARED,
  rails: SHARED,
  webhooks: SHARED,
  api: WITH_LEDGER,
  reconciler: [...SHARED, 'client'],
  client: ['wire', 'base'],
  checked: ['client', 'verify', 'chain', 'wire', 'domain', 'base'],
  console: ['client', 'verify', 'wire'],
  app: [...WITH_LEDGER, 'sender', 'rails', 'webhooks', 'api', 'reconciler', 'client', 'checked'],
  cli: [...SHARED, 'app', 'client'],
}

/** Packages that only some layers may know, so that a change of package stays in one folder. */
const PACKAGES: Record<string, readonly string[]> = {
  viem: ['chain', 'sender'],
  ethers: ['bindings'],
  kysely: ['store'],
  pg: ['store'],
  '@electric-sql/pglite': ['store'],
  fastify: ['api'],
  commander: ['cli'],
  'prom-client': ['api', 'app'],
  stripe: ['rails'],
  'tiny-secp256k1': ['chain'],
  uqr: ['rails'],
}

/** These run in a browser too. */
const WITHOUT_BUILTINS: readonly string[] = ['wire', 'client', 'verify', 'checked', 'console']

function layerRule(file: SourceFile): string[] {
  const from = layerOf(file.path)
  if (from === undefined) return []
  const allowed = LAYERS[from]
  if (!allowed) return [`src/${from} is no layer of the design`]
  return importsOf(file)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => layerOf(resolveFrom(file.path, specifier)))
    .filter((to) => to !== undefined && to !== from && !allowed.includes(to))
    .map((to) => `layer ${from} may not import ${to}`)
}

function packageRule(file: SourceFile): string[] {
  const from = layerOf(file.path)
  if (from === undefined) return []
  return importsOf(file)
    .map(packageOf)
    .filter((name) => PACKAGES[name] && !PACKAGES[name].includes(from))
    .map((name) => `layer ${from} may not know the package ${name}`)
}

function builtinRule(file: SourceFile): string[] {
  const from = layerOf(file.path)
  if (from === undefined || !WITHOUT_BUILTINS.includes(from)) return []
  return importsOf(file)
    .filter((specifier) => specifier.startsWith('node:'))
    .map((specifier) => `layer ${from} runs in a browser and may not import ${specifier}`)
}

const MAX_FILE_LINES = 400
const MAX_FUNCTION_LINES = 70

function sizeRule(file: SourceFile): string[] {
  const lines = file.text.trimEnd().split('\n').length
  return lines > MAX_FILE_LINES ? [`${lines} lines, at most ${MAX_FILE_LINES}`] : []
}

function lineRule(file: SourceFile): string[] {
  const max = file.path.endsWith('.sol') ? 120 : 100
  return file.text
    .split('\n')
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line.length > max && !isUnbreakable(line))
    .map(({ line, number }) => `line ${number} has ${line.length} characters, at most ${max}`)
}

/** One long literal, such as a sentence or a hash, is not cut. */
function isUnbreakable(line: string): boolean {
  return /^\s*([\w.]+(:|\s=)\s)?[?:+]?\s*(hex)?(['"`]).*\4[,;)]*$/.test(line)
}

function functionRule(file: SourceFile): string[] {
  // A suite of tests is one function by form, but read case by case.
  if (!file.path.endsWith('.ts') || file.path.endsWith('.test.ts')) return []
  const source = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.Latest, true)
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) {
      const start = source.getLineAndCharacterOfPosition(node.getStart()).line
      const lines = source.getLineAndCharacterOfPosition(node.end).line - start + 1
      if (lines > MAX_FUNCTION_LINES) {
        found.push(
          `function at line ${start + 1} has ${lines} lines, at most ${MAX_FUNCTION_LINES}`,
        )
      }
    }
    node.forEachChild(visit)
  }
  visit(source)
  return found
}

function nameRule(file: SourceFile): string[] {
  const folders = file.path.split('/').slice(0, -1)
  return [
    ...folders
      .filter((folder) => /^(utils?|helpers?|common|misc)$/.test(folder))
      .map((folder) => `a folder called ${folder} says nothing`),
    ...(file.path.startsWith('src/') && file.path.endsWith('/index.ts') && !isPublished(file.path)
      ? ['a barrel that is no published entry']
      : []),
  ]
}

function isPublished(path: string): boolean {
  return /^src\/(client|verify|bindings|checked)\/index\.ts$/.test(path)
}

function wordRule(file: SourceFile): string[] {
  return file.text
    .split('\n')
    .filter((line) => /(^|\s)(\/\/|\*)\s*(TODO|FIXME|XXX|HACK)\b/.test(line))
    .map((line) => `unfinished work is an issue, not a comment: ${line.trim()}`)
}

function layerOf(path: string): string | undefined {
  const match = /^src\/([^/]+?)(?:\.ts$|\/)/.exec(path)
  return match?.[1]
}

function packageOf(specifier: string): string {
  const parts = specifier.split('/')
  return specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '')
}

function importsOf(file: SourceFile): string[] {
  if (!file.path.endsWith('.ts') && !file.path.endsWith('.tsx')) return []
  return ts.preProcessFile(file.text, true, true).importedFiles.map((found) => found.fileName)
}

function resolveFrom(path: string, specifier: string): string {
  return new URL(specifier, `file:///${path}`).pathname.slice(1)
}
