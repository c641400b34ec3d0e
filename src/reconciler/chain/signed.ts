import { createKeccak } from 'hash-wasm'

import { BaseError } from '../../base/errors.ts'
import { hashOfBytes, type Hex } from '../../chain/hex.ts'
import { readSigned, type SignedTransaction } from '../../chain/proof/block-transaction.ts'
import { selectorOf } from '../../chain/read/events.ts'
import { BREAK_MEANINGS, type BreakFacts, type BreakKind } from '../../domain/breaks.ts'
import { BLANK, type Payment } from '../../verify/read-payments.ts'
import { compareIntent, type Contracts } from '../judge/compare.ts'
import { factsOfPayment, placeOf, recordedOf, type FoundBreak } from '../judge/judge.ts'
import type { PaymentRecord } from '../sources/records.ts'

/** What the bytes that were signed say, read without asking anybody. */
export type SignedCheck = {
  breaks: readonly FoundBreak[]
  /** Set where the bytes are those of the recorded hash, so that they say what it does. */
  transaction: SignedTransaction | undefined
}

/**
 * Compares a record with the raw transaction that it carries: the recorded hash must be that of the
 * bytes, and the bytes must pay the recorded payee, amount and reference.
 */
export function checkSigned(record: PaymentRecord, contracts: Contracts): SignedCheck {
  const breaks = checkSignedHash(record)
  const raw = breaks.length === 0 ? record.raw : undefined
  const transaction = raw && readOrNothing(raw)
  const intended = transaction && intendedBy(transaction, { ...contracts, named: record.token })
  if (transaction === undefined || intended === undefined) return { breaks, transaction }
  const { kinds } = compareIntent(record, intended, contracts)
  const onChain = factsOf(record.hash, { transaction, intended, contracts })
  return { breaks: kinds.map((kind) => breakOf(record, kind, onChain)), transaction }
}

function checkSignedHash(record: PaymentRecord): FoundBreak[] {
  const found = signedHashOf(record)
  if (found === undefined || found === record.hash) return []
  return [breakOf(record, 'wrong_hash', { status: 'signed', eth_transaction_hash: found })]
}

/** The hash of what was signed; undefined where the bytes are not recorded or cannot tell it. */
export function signedHashOf({ raw }: Pick<PaymentRecord, 'raw'>): Hex | undefined {
  // On its way, a blob carries more than what is hashed.
  return raw === undefined || raw.startsWith(BLOB) ? undefined : fastHashOf(raw)
}

const BLOB = '0x03'

function readOrNothing(raw: Hex): SignedTransaction | undefined {
  try {
    return readSigned(raw)
  } catch (error) {
    if (error instanceof BaseError) return undefined
    throw error
  }
}

function breakOf(record: PaymentRecord, kind: BreakKind, onChain: BreakFacts): FoundBreak {
  const evidence = {
    meaning: BREAK_MEANINGS[kind],
    found_by: 'signed_transaction',
    ...placeOf(record),
  }
  return { kind, recorded: recordedOf(record), onChain, evidence }
}

function factsOf(
  hash: Hex,
  {
    transaction,
    intended,
    contracts,
  }: { transaction: SignedTransaction; intended: Payment; contracts: Contracts },
): BreakFacts {
  const { nonce, to } = transaction
  const shown = { ...factsOfPayment(intended, contracts), contract: to }
  return { status: 'signed', eth_transaction_hash: hash, nonce: String(nonce), ...shown }
}

/**
 * The payment that the transaction makes when it succeeds. Undefined where it calls what only the
 * chain can tell the outcome of: a batch, or a contract that we do not know.
 */
function intendedBy(
  { to, value, input }: SignedTransaction,
  { settlement, tokens, named }: Contracts & { named: Hex | undefined },
): Payment | undefined {
  if (to === null) return undefined
  if (input === '0x') return { ...BLANK, kind: 'native', payee: to, amount: value }
  const call = CALLS.get(input.slice(0, 10))
  const words = wordsOf(input)
  if (call === undefined || words.length !== call.words) return undefined
  const isKnown = call.of === 'settlement' ? to === settlement : tokens.has(to) || to === named
  return isKnown ? { ...BLANK, contract: to, ...call.read({ words, to, value }) } : undefined
}

type Called = { words: readonly bigint[]; to: Hex; value: bigint }
type Call = {
  of: 'settlement' | 'token'
  words: number
  read: (called: Called) => Pick<Payment, 'kind' | 'amount'> & Partial<Payment>
}

const CALLS: ReadonlyMap<string, Call> = new Map(
  Object.entries<Call>({
    'settle(bytes32,address)': {
      of: 'settlement',
      words: 2,
      read: ({ words: [reference, payee], value }) => ({
        kind: 'settlement',
        reference: hexOf(reference, 32),
        payee: hexOf(payee, 20),
        amount: value,
      }),
    },
    'settleToken(bytes32,address,address,uint256)': {
      of: 'settlement',
      words: 4,
      read: ({ words: [reference, token, payee, amount = 0n] }) => ({
        kind: 'settlement',
        reference: hexOf(reference, 32),
        token: hexOf(token, 20),
        payee: hexOf(payee, 20),
        amount,
      }),
    },
    'settleWithPermit(bytes32,address,address,uint256,(uint256,uint8,bytes32,bytes32))': {
      of: 'settlement',
      words: 8,
      read: ({ words: [reference, token, payee, amount = 0n] }) => ({
        kind: 'settlement',
        reference: hexOf(reference, 32),
        token: hexOf(token, 20),
        payee: hexOf(payee, 20),
        amount,
      }),
    },
    'mintWithMemo(address,uint256,bytes32)': {
      of: 'token',
      words: 3,
      read: ({ words: [payee, amount = 0n, memo], to }) => ({
        kind: 'mint',
        reference: hexOf(memo, 32),
        token: to,
        payee: hexOf(payee, 20),
        amount,
      }),
    },
    'transferWithMemo(address,uint256,bytes32)': {
      of: 'token',
      words: 3,
      read: ({ words: [payee, amount = 0n, memo], to }) => ({
        kind: 'transfer',
        reference: hexOf(memo, 32),
        token: to,
        payee: hexOf(payee, 20),
        amount,
      }),
    },
    'transfer(address,uint256)': {
      of: 'token',
      words: 2,
      read: ({ words: [payee, amount = 0n], to }) => ({
        kind: 'transfer',
        token: to,
        payee: hexOf(payee, 20),
        amount,
      }),
    },
  }).map(([signature, call]) => [selectorOf(signature), call]),
)

/** The arguments behind the selector; none where they are not whole words. */
function wordsOf(input: Hex): bigint[] {
  const digits = input.slice(10)
  if (digits.length % 64 !== 0) return []
  return Array.from({ length: digits.length / 64 }, (_, at) =>
    BigInt(`0x${digits.slice(at * 64, (at + 1) * 64)}`),
  )
}

/** Bytes too many are kept, so that they are not taken for an address. */
function hexOf(word: bigint | undefined, bytes: number): Hex {
  return `0x${(word ?? 0n).toString(16).padStart(bytes * 2, '0')}`
}

const keccak = await createKeccak(256)

/** The same hash as everywhere, in WebAssembly: for those who make a million in a run. */
export function fastHashOf(bytes: Hex): Hex {
  const read = Buffer.from(bytes.slice(2), 'hex')
  // Node stops decoding at the first characters that are not a byte.
  if (2 + 2 * read.length !== bytes.length) return hashOfBytes(bytes)
  return `0x${keccak.init().update(read).digest('hex')}`
}
