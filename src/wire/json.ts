import { BaseError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { RequestError } from './errors.ts'

/**
 * A number as its exact text. `JSON.stringify` writes it as it is, without a detour through a
 * double.
 */
export type ExactNumber = { readonly rawJSON: string }

/**
 * What a body may hold. Only whole numbers that a double holds exactly are of type `number`; any
 * other number keeps its text.
 */
export type JsonValue =
  null | boolean | number | string | ExactNumber | JsonValue[] | { [key: string]: JsonValue }

/**
 * Reads JSON strictly: no key twice in one object, no key that reaches a prototype, no nesting
 * without end, and no number that would change its value. Refusals name the path, never the text,
 * which may hold a password.
 */
export function parseJson(text: string): JsonValue {
  checkStructure(text)
  try {
    return native.parse(text, readNumber)
  } catch (error) {
    if (error instanceof SyntaxError) throw malformed()
    throw error
  }
}

/**
 * Writes JSON. Bigints and exact numbers become JSON numbers with all their digits; a double that
 * may have lost some is a fault of ours and never leaves the house.
 */
export function stringifyJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, writeNumber, indent)
}

/** One text for all bodies that say the same: keys in order, no spaces, numbers as they came. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    isPlainObject(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : writeNumber('', part),
  )
}

export function exactNumber(text: string): ExactNumber {
  if (!NUMBER.test(text)) throw new NotANumberError(text)
  return native.rawJSON(text)
}

export function isExactNumber(value: unknown): value is ExactNumber {
  return native.isRawJSON(value)
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

/** What ECMAScript has for exact numbers and TypeScript's library does not know yet. */
const native = JSON as unknown as {
  parse: (text: string, reviver: Reviver) => JsonValue
  rawJSON: (text: string) => ExactNumber
  isRawJSON: (value: unknown) => value is ExactNumber
}

type Reviver = (key: string, value: unknown, context: { source?: string }) => unknown

function readNumber(_key: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== 'number' || context.source === undefined) return value
  // -0, 1.0 and 1e3 are other texts than the number's own, and stay what they are.
  return Number.isSafeInteger(value) && String(value) === context.source
    ? value
    : native.rawJSON(context.source)
}

function writeNumber(_key: string, value: unknown): unknown {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new NotANumberError(String(value))
    return value
  }
  return typeof value === 'bigint' ? native.rawJSON(value.toString()) : value
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
  )
}

type Frame = {
  /** Undefined in an array. */
  keys: Set<string> | undefined
  /** Whether the next string is a key. */
  expectsKey: boolean
  at: string | number
}

/**
 * Walks over the brackets and keys, which `JSON.parse` does not keep. Text that is not JSON may
 * pass here: the parser refuses it afterwards.
 */
function checkStructure(text: string): void {
  const stack: Frame[] = []
  for (let position = 0; position < text.length; position += 1) {
    const frame = stack.at(-1)
    switch (text.charAt(position)) {
      case '"': {
        const end = endOfString(text, position)
        const literal = text.slice(position, end + 1)
        const string = decode(literal)
        if (frame?.keys && frame.expectsKey) {
          frame.expectsKey = false
          frame.at = string
          addKey({ stack, keys: frame.keys, key: string })
        }
        // Without an escape there is no such character, or else no JSON.
        if (literal.includes('\\')) checkCharacters(stack, string)
        position = end
        break
      }
      case '{':
        push(stack, { keys: new Set(), expectsKey: true, at: '' })
        break
      case '[':
        push(stack, { keys: undefined, expectsKey: false, at: 0 })
        break
      case '}':
      case ']':
        stack.pop()
        break
      case ',':
        if (frame?.keys) frame.expectsKey = true
        else if (typeof frame?.at === 'number') frame.at += 1
        break
      default:
    }
  }
}

function push(stack: Frame[], frame: Frame): void {
  if (stack.length >= limits.jsonDepth) {
    const message = `Objects and arrays can be nested at most ${limits.jsonDepth} levels deep.`
    throw refusal({ field: pathOf(stack.slice(0, 3)) || 'body', code: 'too_deep', message })
  }
  stack.push(frame)
}

const FORBIDDEN_KEYS: readonly string[] = ['__proto__', 'constructor', 'prototype']

function addKey(options: { stack: readonly Frame[]; keys: Set<string>; key: string }): void {
  const { stack, keys, key } = options
  if (keys.has(key)) {
    const message = 'The key is duplicated. Send it once.'
    throw refusal({ field: pathOf(stack), code: 'duplicate_key', message })
  }
  if (FORBIDDEN_KEYS.includes(key)) {
    throw refusal({
      field: pathOf(stack),
      code: 'forbidden_key',
      message: 'This name is not allowed. Leave the field out.',
    })
  }
  keys.add(key)
}

/** PostgreSQL refuses the first, and encodes the second as another text than came. */
function checkCharacters(stack: readonly Frame[], string: string): void {
  if (string.includes('\0') || !string.isWellFormed()) {
    const message = 'Text must not contain U+0000 or half of a surrogate pair. Remove it.'
    throw refusal({ field: pathOf(stack) || 'body', code: 'bad_character', message })
  }
}

function endOfString(text: string, start: number): number {
  let position = start + 1
  while (position < text.length && text[position] !== '"') {
    position += text[position] === '\\' ? 2 : 1
  }
  return position
}

/** Decodes the string, so that an escape cannot bypass a check. */
function decode(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1)
  try {
    return String(JSON.parse(literal))
  } catch {
    throw malformed()
  }
}

function pathOf(stack: readonly Frame[]): string {
  return stack.map((frame) => nameOf(frame.at)).join('.')
}

/** Keys come from outside: as long as the body, and with what no terminal should see. */
function nameOf(key: string | number): string {
  return String(key).slice(0, 64).replaceAll(/\p{C}/gu, '?')
}

function malformed(): RequestError {
  return new RequestError('invalid_request', 'The body is not valid JSON. Correct its syntax.', {
    problems: [{ field: 'body', code: 'malformed_json', message: 'This is not valid JSON.' }],
  })
}

function refusal(problem: { field: string; code: string; message: string }): RequestError {
  return new RequestError('invalid_request', `${problem.field}: ${problem.message}`, {
    problems: [problem],
  })
}

class NotANumberError extends BaseError {
  constructor(text: string) {
    super(`${text.slice(0, 80)} cannot be written as an exact JSON number.`, {
      code: 'not_an_exact_number',
    })
  }
}
