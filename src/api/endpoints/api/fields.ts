/**
 * The named fields of a row as Group B writes them: the names in snake case, times in ISO 8601, and
 * null for what is not there. Nothing else of the row comes out.
 */
export function fieldsOf<Row, Name extends keyof Row & string>(
  row: Row,
  ...names: readonly Name[]
): { -readonly [Key in Name as SnakeCase<Key>]-?: OnWire<Row[Key]> } {
  const fields = names.map((name) => [snakeCase(name), onWire(row[name])])
  return Object.fromEntries(fields)
}

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : ''

type OnWire<Value> = Value extends Date ? string : Value extends undefined ? null : Value

/** Of names in the code, of which there are not many. */
const known = new Map<string, string>()

function snakeCase(name: string): string {
  const found = known.get(name)
  if (found !== undefined) return found
  const made = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  known.set(name, made)
  return made
}

function onWire(value: unknown): unknown {
  return value instanceof Date ? value.toISOString() : (value ?? null)
}
