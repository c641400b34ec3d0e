import { invalidCall } from './errors.ts'

/**
 * Reads JSON without rounding a number to a double. Amounts always become strings of decimal
 * digits. Any other number that is whole and safe stays a number, and the rest become strings with
 * their original text. Throws a SyntaxError for text that is not JSON.
 *
 * `JSON.parse` gives the text of a number only since Node 22 and the browsers of 2025, so the
 * numbers are put in quotes before it reads them.
 */
export function readJson(text: string): unknown {
  const quoted = text.replaceAll(STRING_OR_NUMBER, (token, offset: number) =>
    token.startsWith('"') || isSafe(token) || isKey(text, offset + token.length)
      ? token
      : `"${token}"`,
  )
  return JSON.parse(quoted, (key, value: unknown) => (AMOUNTS.has(key) ? exactText(value) : value))
}

/** Writes JSON with each `Decimal` as a number in its exact text. */
export function writeJson(value: unknown): string {
  if (value instanceof Decimal) return value.text
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .map(([name, field]) => `${JSON.stringify(name)}:${writeJson(field)}`)
  return `{${fields.join(',')}}`
}

/** A number that is written as it is. */
export class Decimal {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** An amount as a JSON number; a double is refused, since its digits may already be wrong. */
export function decimal(amount: string): Decimal {
  if (typeof amount !== 'string' || !/^(0|[1-9]\d*)(\.\d+)?$/.test(amount)) {
    throw invalidCall(`amount must be a string of decimal digits, such as '100.5'.`)
  }
  return new Decimal(amount)
}

/** Neither part can fail once it has begun, so hostile text costs no more than its length. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\[^]?[^"\\]*)*"?|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g

const AMOUNTS: ReadonlySet<string> = new Set(['amount', 'balance', 'balance_eth'])

/** By its text: 1.000000000000000001 is a safe whole number once it has been through a double. */
function isSafe(number: string): boolean {
  return /^-?\d+$/.test(number) && Number.isSafeInteger(Number(number))
}

/** A number in the place of a key is not valid JSON, and quotes would make it valid. */
function isKey(text: string, end: number): boolean {
  AFTER.lastIndex = end
  return AFTER.test(text)
}

const AFTER = /\s*:/y

function exactText(value: unknown): unknown {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? withoutExponent(value) : value
}

/** Some servers write 0.0000001 as 1e-7. */
function withoutExponent(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent] =
    /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d{1,3})$/.exec(text) ?? []
  if (exponent === undefined) return text
  const digits = whole + fraction
  const point = whole.length + Number(exponent)
  const padded =
    point > 0 ? digits.padEnd(point, '0') : digits.padStart(digits.length - point + 1, '0')
  const at = Math.max(point, 1)
  const decimals = padded.slice(at).replace(/0+$/, '')
  return `${sign}${padded.slice(0, at).replace(/^0+(?=\d)/, '')}${decimals && `.${decimals}`}`
}
