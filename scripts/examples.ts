/**
 * Writes `src/api/docs/examples.json`, the examples of the API's documents, from what the tests of
 * the API were answered: one answer for each operation, and one for each way in which it fails.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

type Kept = {
  operation: string
  status: number
  type: string
  text: string
  url: string
  /** What was sent; a test may send no body. */
  sent?: string
}

type Delivered = { webhook: string; text: string }

const OUT = new URL('../src/api/docs/examples.json', import.meta.url)
const TESTS = ['api/**', 'rails', 'client', 'ledger'].map((room) => `test/${room}/*.test.ts`)
/** The tests of the examples. */
const BUT = [
  '--reporter',
  'dot',
  '--grep',
  'are there for each operation|fit what they are|are shown for all that happens|the snippets',
  '--invert',
]
/** More than that is read by nobody. */
const LONGEST = 2500
const IS_SERVED = / \/(?:api|v1)\//
/** Operations that only tests have, which are refused in words of the tests. */
const OF_TESTS = /\/(?:asked|echo|failure|greeting|items|later|slow)\b/
/** What only a test would send. */
const STRANGE = /[<>]|%|\\u|[^\x20-\x7e…’]|attack|evil|hostile|(.)\1{63}/

const operations: Record<string, Record<string, string>> = {}
const failures: Record<'a' | 'b', Record<string, string>> = { a: {}, b: {} }
const requests: Record<string, { url: string; body?: string }> = {}
const { answers, delivered } = keptByTests()
for (const [key, some] of inOrder(Map.groupBy(answers, keyOf))) {
  const [operation = '', status = ''] = key.split(' = ')
  const kept = best(some)
  if (kept === undefined) continue
  const { text, url, sent } = kept
  if (status === 'ok' || /^4(?:00|04|09|22)/.test(status)) {
    ;(operations[operation] ??= {})[status] = text
  }
  if (status === 'ok') {
    requests[operation] = {
      url: url.replace(/\?$/, ''),
      ...(sent !== undefined && { body: repeatable(sent) }),
    }
    continue
  }
  const group = operation.includes(' /v1/') ? 'a' : 'b'
  failures[group][status] = text
}
const webhooks = Object.fromEntries(
  inOrder(Map.groupBy(delivered, ({ webhook }) => webhook)).map(([key, some]) => [
    key,
    published(some[0]!.text),
  ]),
)
const examples = { webhooks, requests, operations, failures }
writeFileSync(OUT, `${JSON.stringify(examples, null, 2)}\n`)
console.log(`${Object.keys(operations).length} operations`)

function inOrder<T>(groups: Map<string, T[]>): [string, T[]][] {
  return [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function keptByTests(): { answers: Kept[]; delivered: Delivered[] } {
  const folder = mkdtempSync(path.join(tmpdir(), 'quittance-answers-'))
  try {
    const env = { ...process.env, QUITTANCE_KEEP_ANSWERS: folder }
    const { status } = spawnSync('mocha', [...TESTS, ...BUT], {
      env,
      stdio: ['ignore', 2, 'inherit'],
    })
    if (status !== 0) throw new Error('The tests above fail. Mend them first.')
    const lines = readdirSync(folder)
      .flatMap((name) => readFileSync(path.join(folder, name), 'utf8').trimEnd().split('\n'))
      .map((line) => JSON.parse(line) as Kept | Delivered)
    const delivered = lines.filter((line) => 'webhook' in line)
    const answers = lines
      .filter((line) => 'operation' in line)
      .filter(({ operation, type }) => type === 'application/json' && IS_SERVED.test(operation))
      .filter(({ operation }) => !OF_TESTS.test(operation))
    return { answers, delivered }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Group A's codes are numbers, of which several failures have the same. */
function keyOf({ operation, status, text }: Kept): string {
  if (status < 300) return `${operation} = ok`
  const { code } = JSON.parse(text) as { code?: string | number }
  return `${operation} = ${status} ${code ?? ''}`
}

/** The one that says most, and of those the first by its text, so that a run changes little. */
function best(some: readonly Kept[]): Kept | undefined {
  const plain = some
    .map((kept) => ({ ...kept, text: published(kept.text) }))
    .filter(
      ({ text, status, url, sent = '' }) =>
        ![text, ...(status < 300 ? [url, sent] : [])].some(isStrange),
    )
  const short = plain.filter(({ text }) => text.length <= LONGEST)
  const shortest = plain.toSorted((a, b) => a.text.length - b.text.length).slice(0, 1)
  const [first] = (short.length > 0 ? short : shortest).toSorted(
    (a, b) =>
      wordsIn(JSON.parse(b.text)) - wordsIn(JSON.parse(a.text)) ||
      wordsIn(JSON.parse(b.sent ?? '0')) - wordsIn(JSON.parse(a.sent ?? '0')) ||
      (a.text < b.text ? -1 : 1),
  )
  return first
}

function isStrange(text: string): boolean {
  return STRANGE.test(text)
}

/** Without keys that a server accepts once: a reader may try an example twice. */
function repeatable(sent: string): string {
  const once = /,?"(?:idempotencyKey|external_id|externalId)":"[^"]*"/g
  return published(sent.replaceAll(once, '').replaceAll('{,', '{'))
}

/** How many fields say something. */
function wordsIn(value: unknown): number {
  if (value === null || value === '') return 0
  if (typeof value !== 'object') return 1
  const parts = Array.isArray(value) ? value.slice(0, 2) : Object.values(value)
  return parts.reduce<number>((sum, part) => sum + wordsIn(part), 0)
}

/** A test's server is gone, and its secrets with it; what has their form would be taken for one. */
function published(text: string): string {
  return text
    .replaceAll(/http:\/\/(?:127\.0\.0\.1|localhost)(?::\d+)?/g, 'https://example.com')
    .replaceAll(/\b(sk_(?:live|sandbox)_)\w+/g, '$1EXAMPLE')
    .replaceAll(/eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/g, 'eyJhbGciOiJFZERTQSJ9.e30.EXAMPLE')
    .replaceAll(/"password":"[^"]*"/g, '"password":"EXAMPLE-PASSWORD"')
    .replaceAll(/whsec_[\w+/]+=*/g, 'whsec_EXAMPLE')
}
