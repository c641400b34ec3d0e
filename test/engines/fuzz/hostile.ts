import { exactNumber, stringifyJson } from '../../../src/wire/json.ts'
import type { Random } from '../../fixtures/random.ts'

/** Spoils a body that would pass: in its fields, or in its text. */
export function spoil(value: unknown, random: Random): string | Buffer {
  let spoiled = value
  for (let count = random.below(3); count >= 0; count--) spoiled = spoilField(spoiled, random)
  const text = stringifyJson(spoiled) ?? ''
  return random.chance(0.4) ? random.pick(TEXT_SPOILERS)(text, random) : text
}

/** What has broken parsers, databases and comparisons before. */
export const HOSTILE_TEXTS: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '\u202egnp.exe',
  'ﬁ',
  '２０',
  'a'.repeat(513),
  '🙂'.repeat(600),
  "'; drop table users; --",
  '${jndi:ldap://127.0.0.1/a}',
  '../../../etc/passwd',
  '<script>alert(1)</script>',
  '__proto__',
  'TX00000000000000000000',
  '2025-02-30',
  '0000-01-01',
  '-1',
  '1e5',
  '9'.repeat(400),
  '0x0000000000000000000000000000000000000000',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD',
  'http://169.254.169.254/latest/meta-data',
  'http://[::1]:5432/',
  'file:///etc/passwd',
]

const HOSTILE_VALUES: readonly unknown[] = [
  ...HOSTILE_TEXTS,
  null,
  true,
  0,
  -1,
  2 ** 31,
  exactNumber('1.5'),
  exactNumber('9007199254740993'),
  exactNumber('-0'),
  exactNumber('1e400'),
  exactNumber('0.0000000000000000001'),
  exactNumber('9'.repeat(400)),
  exactNumber('9223372036854775808'),
  [],
  {},
  [[[[]]]],
  { rawJSON: '1' },
  { toString: null, valueOf: 1 },
  Array.from({ length: 200 }, () => 'x'),
]

function spoilField(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return random.pick(HOSTILE_VALUES)
  }
  const record = { ...(value as Record<string, unknown>) }
  const names = Object.keys(record)
  const name = names.length > 0 ? random.pick(names) : 'amount'
  const way = random.below(10)
  if (way === 0) Reflect.deleteProperty(record, name)
  else if (way === 1) define(record, random.pick(STRANGE_NAMES), random.pick(HOSTILE_VALUES))
  else if (way < 5) define(record, name, spoilField(record[name], random))
  else define(record, name, random.pick(HOSTILE_VALUES))
  return record
}

const STRANGE_NAMES: readonly string[] = [
  '__proto__',
  'constructor',
  'toString',
  '',
  'a'.repeat(300),
  'user_id',
  'idempotencyKey',
  '\u0000',
  'é',
]

/** An assignment to `__proto__` would vanish. */
function define(record: object, name: string, value: unknown): void {
  Object.defineProperty(record, name, { value, enumerable: true, configurable: true })
}

type Spoiler = (text: string, random: Random) => string | Buffer

const TEXT_SPOILERS: readonly Spoiler[] = [
  (text, random) => text.slice(0, random.below(text.length + 1)),
  (text) => `${text}}`,
  (text) => `\ufeff${text}`,
  (text) => text.replace('{', '{"amount":1,"amount":2,'),
  (text) => text.replace('{', `{"${'x'.repeat(70_000)}":1,`),
  (text) => text.replaceAll(':', ':\u00a0'),
  (text) => text.replace(/:"[^"]*"/, String.raw`:"\ud800"`),
  (text) => text.replace(/:"[^"]*"/, String.raw`:"\u0000"`),
  (text) => text.replace(/:"[^"]*"/, ':01'),
  (text) => text.replace(/:"[^"]*"/, ':NaN'),
  () => `${'['.repeat(17)}${']'.repeat(17)}`,
  () => '['.repeat(30_000),
  () => `{"a":${'{"a":'.repeat(5000)}1${'}'.repeat(5001)}`,
  () => 'null',
  () => '',
  () => '"text"',
  (text) => Buffer.concat([Buffer.from(text.slice(0, 5)), Buffer.from([0xff, 0xfe, 0xc0, 0x80])]),
  (text) => Buffer.from(text, 'utf16le'),
]
