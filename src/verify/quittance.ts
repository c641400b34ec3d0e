import { sha256OfText, type Hex } from '../chain/hex.ts'
import type { Payment } from './read-payments.ts'

/**
 * The proof of one payment, as the file contains it. There is one text for one quittance: the keys
 * have this order, all hex is in lower case, and the digest covers every byte before it.
 */
export type Quittance = {
  version: 1
  /** Decimal digits, as every other number that may be large. */
  chainId: string
  block: { number: string; hash: Hex; time: string; header: Hex }
  transaction: { hash: Hex; index: number; from: Hex; to: Hex | null; value: string; proof: Hex[] }
  receipt: { proof: Hex[] }
  payment: Omit<Payment, 'amount'> & { amount: string }
  /** What the issuer of the file says of the order; the chain does not know it. */
  order: Readonly<Record<string, string>>
  /** SHA-256 of the text up to here. It shows damage; what proves is the block's hash. */
  digest: Hex
}

export type QuittanceBody = Omit<Quittance, 'digest'>

export type Parsed = { quittance: Quittance } | { problem: string }

/** `check` reads no file that is larger. */
export const MAX_QUITTANCE_BYTES = 4 * 1024 * 1024

export function formatQuittance(body: QuittanceBody): string {
  const text = ascii(JSON.stringify(body, null, 2)).slice(0, -END.length)
  return `${text},\n  "digest": "${sha256OfText(text)}"${END}\n`
}

const END = '\n}'
const ASCII = /^[\n -~]*$/

/** One byte a character, so that no two forms of a letter can pass for each other. */
function ascii(text: string): string {
  return text.replaceAll(/[^\n -~]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** Reads the text of a quittance, and refuses every other text that would say the same. */
export function parseQuittance(file: string | Uint8Array): Parsed {
  if (file.length > MAX_QUITTANCE_BYTES)
    return { problem: 'It is larger than the limit of a quittance.' }
  const text = textOf(file)
  if (text === undefined) return { problem: 'It has bytes that are not allowed in a quittance.' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { problem: 'It is not JSON. Perhaps its end is missing.' }
  }
  if (readKey(value, 'version') !== 1) return { problem: 'It is not a quittance of version 1.' }
  const body = bodyOf(value)
  if (body === undefined) return { problem: 'A part of it is missing, or has another form.' }
  const expected = formatQuittance(body)
  if (text !== expected) return { problem: 'It was changed: a byte differs from what was written.' }
  return { quittance: { ...body, digest: readKey(value, 'digest') as Hex } }
}

/** Undefined where a byte is not of the few that `ascii` leaves. */
function textOf(file: string | Uint8Array): string | undefined {
  if (typeof file === 'string') return ASCII.test(file) ? file : undefined
  const text = UTF_8.decode(file)
  return ASCII.test(text) ? text : undefined
}

/** A mark of the byte order is a change like any other. */
const UTF_8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** The facts of an order that a file may carry: short texts under plain names, in their order. */
export function orderFacts(facts: unknown): Readonly<Record<string, string>> | undefined {
  if (!isRecord(facts)) return undefined
  const entries = Object.entries(facts)
  const isValid = entries.every(
    ([name, value]) => NAME.test(name) && typeof value === 'string' && value.length <= MAX_FACT,
  )
  if (!isValid || entries.length > MAX_FACTS) return undefined
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1))) as Record<
    string,
    string
  >
}

const MAX_FACTS = 32
const MAX_FACT = 512
const NAME = /^[a-zA-Z]\w{0,63}$/

function bodyOf(value: unknown): QuittanceBody | undefined {
  const read = createReader(value)
  const body: QuittanceBody = {
    version: 1,
    chainId: read(['chainId'], DECIMAL),
    block: {
      number: read(['block', 'number'], DECIMAL),
      hash: read(['block', 'hash'], WORD),
      time: read(['block', 'time'], TIME),
      header: read(['block', 'header'], HEADER),
    },
    transaction: {
      hash: read(['transaction', 'hash'], WORD),
      index: read.place(['transaction', 'index']) ?? read.fail(0),
      from: read(['transaction', 'from'], ADDRESS),
      to: read.orNull(['transaction', 'to'], ADDRESS),
      value: read(['transaction', 'value'], DECIMAL),
      proof: read.proof(['transaction', 'proof']),
    },
    receipt: { proof: read.proof(['receipt', 'proof']) },
    payment: {
      kind: read(['payment', 'kind'], /^[a-z]{1,16}$/),
      contract: read.orNull(['payment', 'contract'], ADDRESS),
      token: read.orNull(['payment', 'token'], ADDRESS),
      payer: read.orNull(['payment', 'payer'], ADDRESS),
      payee: read.orNull(['payment', 'payee'], ADDRESS),
      amount: read(['payment', 'amount'], DECIMAL),
      reference: read.orNull(['payment', 'reference'], WORD),
      rail: read.orNull(['payment', 'rail'], /^[a-z0-9]{1,16}$/),
      beside: read.orNull(['payment', 'beside'], /^[A-Za-z]{1,32}$/),
      minter: read.orNull(['payment', 'minter'], ADDRESS),
      log: read.place(['payment', 'log']),
    },
    order: orderFacts(readKey(value, 'order')) ?? read.fail({}),
  }
  return read.isWhole() ? body : undefined
}

const DECIMAL = /^(0|[1-9]\d{0,77})$/
const WORD = /^0x[0-9a-f]{64}$/
const ADDRESS = /^0x[0-9a-f]{40}$/
/** Ten times the header of any chain known. */
const HEADER = /^0x([0-9a-f]{2}){1,8192}$/
const BYTES = /^0x([0-9a-f]{2})+$/
const TIME = /^[\w:.+ -]{1,64}$/
const MAX_NODES = 20

type Path = readonly string[]

/** Reads parts of a fixed form; one that is missing spoils the whole. */
function createReader(value: unknown) {
  let isWhole = true
  const fail = <Value>(instead: Value): Value => {
    isWhole = false
    return instead
  }
  const at = (path: Path): unknown =>
    path.reduce<unknown>((inner, key) => readKey(inner, key), value)
  // The pattern is what makes the text one of its type.
  const text = (path: Path, pattern: RegExp): never => {
    const found = at(path)
    return (typeof found === 'string' && pattern.test(found) ? found : fail('')) as never
  }
  return Object.assign(text, {
    fail,
    isWhole: () => isWhole,
    orNull: (path: Path, pattern: RegExp): null => (at(path) === null ? null : text(path, pattern)),
    place: (path: Path): number | null => {
      const found = at(path)
      const isPlace = Number.isSafeInteger(found) && (found as number) >= 0
      if (isPlace) return found as number
      return found === null ? null : fail(null)
    },
    proof: (path: Path): Hex[] => {
      const found = at(path)
      const isProof =
        Array.isArray(found) &&
        found.length <= MAX_NODES &&
        found.every((node) => typeof node === 'string' && BYTES.test(node))
      return isProof ? (found as Hex[]) : fail([])
    },
  })
}

function readKey(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
