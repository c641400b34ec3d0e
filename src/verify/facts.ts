import { parseAddress, parseHash, type Hex } from '../chain/hex.ts'
import { isReference } from './match.ts'
import type { Payment } from './read-payments.ts'
import type { Disagreement, DisagreementKind } from './verdict.ts'

/** What the chain knows of a payment, whatever its order says. */
export type Proven = {
  payment: Payment
  chainId: bigint
  hash: Hex
  block: { number: bigint; hash: Hex }
}

type Fact = {
  /** Its canonical text; undefined for a text that is not such a fact. */
  read: (text: string) => string | undefined
  found: (proven: Proven) => string
  kind: DisagreementKind
  /** Compares it where a rail logs its hash, so that the texts of equal facts differ. */
  is?: (text: string, proven: Proven) => boolean
}

const chain: Fact = { read: digits, found: ({ chainId }) => `${chainId}`, kind: 'wrong_chain' }
const hash: Fact = { read: parseHash, found: ({ hash }) => hash, kind: 'tampered' }
const blockHash: Fact = { read: parseHash, found: ({ block }) => block.hash, kind: 'wrong_block' }
const blockNumber: Fact = {
  read: digits,
  found: ({ block }) => `${block.number}`,
  kind: 'wrong_block',
}

/** The facts of an order that the chain also knows. Every other fact is only a claim. */
const FACTS: Readonly<Record<string, Fact>> = {
  payer: addressOf('payer', 'wrong_payer'),
  payee: addressOf('payee', 'wrong_recipient'),
  token: addressOf('token', 'wrong_token'),
  amount: { read: digits, found: ({ payment }) => `${payment.amount}`, kind: 'wrong_amount' },
  reference: {
    read: bytes,
    found: ({ payment }) => payment.reference ?? '',
    kind: 'wrong_reference',
    is: (text, { payment }) => isReference(payment, text as Hex),
  },
  chainId: chain,
  chain_id: chain,
  hash,
  transactionHash: hash,
  transaction_hash: hash,
  eth_transaction_hash: hash,
  blockHash,
  block_hash: blockHash,
  blockNumber,
  block_number: blockNumber,
}

/** The facts as a file has them, or the name of the first that cannot be read. */
export function readFacts(
  order: Readonly<Record<string, string>>,
): { order: Record<string, string> } | { unreadable: string } {
  const read = Object.entries(order).map(([name, text]) => [name, readFact(name, text)] as const)
  const [unreadable] = read.find(([, text]) => text === undefined) ?? []
  if (unreadable !== undefined) return { unreadable }
  return { order: Object.fromEntries(read) as Record<string, string> }
}

/** Which facts, as `readFacts` gives them, are otherwise on the chain. */
export function contradictionsOf(
  order: Readonly<Record<string, string>>,
  proven: Proven,
): Disagreement[] {
  return Object.entries(order).flatMap(([name, text]) => {
    const fact = factOf(name)
    if (fact === undefined) return []
    const found = fact.found(proven)
    if (fact.is === undefined ? text === found : text === found || fact.is(text, proven)) return []
    const message = `The order has ${name} ${text || 'none'}, and the chain has ${found || 'none'}.`
    return [{ kind: fact.kind, message, expected: text || 'none', found: found || 'none' }]
  })
}

function readFact(name: string, text: string): string | undefined {
  const fact = factOf(name)
  return fact === undefined ? text : fact.read(text)
}

function factOf(name: string): Fact | undefined {
  return Object.hasOwn(FACTS, name) ? FACTS[name] : undefined
}

/** An empty text says that there is none, such as the token of native coin. */
function addressOf(part: 'payer' | 'payee' | 'token', kind: DisagreementKind): Fact {
  return {
    read: (text) => (text === '' ? '' : parseAddress(text)),
    found: ({ payment }) => payment[part] ?? '',
    kind,
  }
}

function digits(text: string): string | undefined {
  return /^\d{1,78}$/.test(text) ? `${BigInt(text)}` : undefined
}

function bytes(text: string): string | undefined {
  return /^(0x([0-9a-fA-F]{2}){1,1024})?$/.test(text) ? text.toLowerCase() : undefined
}
