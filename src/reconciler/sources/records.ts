import { messageOf } from '../../base/errors.ts'
import { parseTime } from '../../base/time.ts'
import { parseAddress, parseHash, type Hex } from '../../chain/hex.ts'
import { CURRENCY_DECIMALS, parseAmount } from '../../domain/money.ts'
import { TRANSACTION_STATUSES, type TransactionStatus } from '../../domain/states.ts'

export type UnknownReason = 'provider_lags' | 'provider_unavailable'

/** What a source says of one payment; what is undefined is not checked. Hex is lower case. */
export type PaymentRecord = {
  transactionId: string
  hash: Hex
  status: TransactionStatus | undefined
  payee: Hex | undefined
  amount: RecordedAmount | undefined
  reference: Hex | undefined
  /** The ERC-20 that the record says was paid. */
  token?: Hex | undefined
  createdAt: Date | undefined
  /** Who signed and with which nonce, which identifies the replacement of a lost transaction. */
  signer: Hex | undefined
  nonce: bigint | undefined
  /** The payer that a settlement must name, since each payer has their own references. */
  payer?: Hex
  /** The block in which the record saw it. */
  blockHash: Hex | undefined
  /** In wei, for the whole transaction. */
  fee: RecordedFee | undefined
  /** The signed transaction, which shows what it does before any node is asked. */
  raw: Hex | undefined
  /** Where a person finds it: the line of a file. */
  line: number | undefined
  /** False where the source knows that no other record of it claims the same payment. */
  isShared?: boolean
  /** The other record that it was signed for, and which it pays and nothing else. */
  signedFor?: string | undefined
}

/** What a transaction cost, in wei: its gas, and what a rollup charged in addition. */
export type RecordedFee = { gas: bigint; rollup: bigint | undefined }

/** What is paid, in its smallest unit: the coin of the chain where the token is null. */
export type Money = { units: bigint; token: Hex | null }

/** An amount as the record has it, and what it is on the chain. */
export type RecordedAmount = {
  text: string
  /** Undefined where the record names none: it is the named token's, or the coin of the chain. */
  currency: string | undefined
  /** Undefined until it is known in what the amount is, and with how many decimals. */
  money: Money | undefined
  /** Why the money is not known: for good, or only for now. */
  unknown?: Uncompared | UnknownReason
  /** The amount, unless it is in the coin of the chain, may also be the price of something else. */
  isPrice?: true
  /** The amount is what was due. It may have arrived in parts, or in excess. */
  isDue?: true
}

/** Why a record cannot be compared with its transaction in full. */
export type Uncompared = { reason: UncomparedReason; problem: string }

export type UncomparedReason =
  | 'currency_unknown'
  | 'token_differs'
  | 'token_unreadable'
  | 'amount_too_precise'
  | 'paid_in_unknown_token'
  | 'price_only'
  | 'paid_in_parts'
  | 'sent_back'

/** A row that says nothing that could be checked. */
export type UnreadableRow = { line: number; problem: string }

/** Records, rows that cannot be read, and where to go on after a stop. */
export type Chunk = {
  records: readonly PaymentRecord[]
  /** The transactions of further ones, which the source itself has shown to hold. */
  proven?: readonly string[]
  unreadable: readonly UnreadableRow[]
  /** Rows that repeat an earlier one word for word, which some servers do at the seam of pages. */
  repeated: number
  /** Names the place behind the last of them; the source that gave it can begin there. */
  cursor: string
}

export type RecordSource = {
  /** Shown to people. */
  name: string
  /** It changes when there is something else to read, as far as the source can detect it. */
  version: string | undefined
  /** How many there are, where that is known, and of what: for the time that is left. */
  size: { total: number; unit: 'bytes' | 'records' } | undefined
  /** How much of the size is read at a cursor. */
  positionOf: (cursor: string) => number
  chunks: (options: { after: string | undefined; signal: AbortSignal }) => AsyncIterable<Chunk>
}

/** The fields of a record as text, by the names that the API and the CSV give them. */
export type RecordFields = Readonly<Record<string, string | undefined>>

/** Reads a record, or says what is wrong with it in words for the one who made the file. */
export function readRecord(fields: RecordFields, line: number | undefined): PaymentRecord | string {
  const problems: string[] = []
  const read = <T>(name: string, parse: (text: string) => T | undefined, what: string) => {
    const text = fields[name]?.trim()
    if (text === undefined || text === '') return undefined
    const value = parse(text)
    if (value === undefined) problems.push(`${name} is not ${what}`)
    return value
  }
  const transactionId = read('transaction_id', idOf, 'an id of 1 to 128 visible characters')
  const hash = read('eth_transaction_hash', parseHash, '0x and 64 hexadecimal digits')
  if (!fields['transaction_id']?.trim()) problems.push('transaction_id is empty')
  if (!fields['eth_transaction_hash']?.trim()) problems.push('eth_transaction_hash is empty')
  const token = read('token', parseAddress, 'an address, or its checksum is wrong')
  const record = {
    status: read('status', statusOf, `one of ${TRANSACTION_STATUSES.join(', ')}`),
    payee: read('to_address', parseAddress, 'an address, or its checksum is wrong'),
    amount: amountOf(fields, problems),
    token,
    reference: read('reference', parseHash, '0x and 64 hexadecimal digits'),
    createdAt: read('created_at', parseTime, 'a time such as 2025-03-14T09:26:53Z'),
    signer: read('from_address', parseAddress, 'an address, or its checksum is wrong'),
    nonce: read('nonce', wholeNumber, 'a whole number'),
    blockHash: read('block_hash', parseHash, '0x and 64 hexadecimal digits'),
    fee: feeOf(read('gas_used', wholeNumber, 'a whole number'), {
      gasPrice: read('gas_price', wholeNumber, 'a whole number of wei'),
      rollup: read('rollup_fee', wholeNumber, 'a whole number of wei'),
    }),
    raw: read('raw_transaction', bytesOf, '0x and whole bytes of hexadecimal digits'),
    line,
  }
  if (problems.length > 0 || transactionId === undefined || hash === undefined) {
    return problems.join('; ')
  }
  return { transactionId, hash, ...record }
}

/** The run knows the chain, and so what is its coin and which token a currency is. */
function amountOf(fields: RecordFields, problems: string[]): RecordedAmount | undefined {
  const text = fields['amount']?.trim() ?? ''
  const currency = fields['currency']?.trim() || undefined
  if (currency !== undefined && !isCurrencyName(currency)) {
    problems.push(`currency is not a name of 1 to ${MAX_NAME} visible characters`)
  }
  if (text === '') return undefined
  try {
    parseAmount({ text, decimals: decimalsOf(currency) })
    return { text, currency, money: undefined }
  } catch (error) {
    problems.push(`amount: ${messageOf(error)}`)
    return undefined
  }
}

/** How many decimals an amount may have before its token is known. */
function decimalsOf(currency: string | undefined): number {
  // A stablecoin divides dollars further than banks do.
  if (currency === 'EUR' || currency === 'GBP') return CURRENCY_DECIMALS[currency]
  return CURRENCY_DECIMALS.ETH
}

const MAX_NAME = 32

/** A code such as USD, or a token's symbol, which may have any characters that can be seen. */
export function isCurrencyName(text: string): boolean {
  return /^[^\p{C}\p{Z}]+$/u.test(text) && text.length <= MAX_NAME
}

function feeOf(
  gasUsed: bigint | undefined,
  { gasPrice, rollup }: { gasPrice: bigint | undefined; rollup: bigint | undefined },
): RecordedFee | undefined {
  if (gasUsed === undefined || gasPrice === undefined) return undefined
  return { gas: gasUsed * gasPrice, rollup }
}

function idOf(text: string): string | undefined {
  return /^[\x21-\x7e]{1,128}$/.test(text) ? text : undefined
}

function bytesOf(text: string): Hex | undefined {
  return /^0x([0-9a-fA-F]{2})+$/.test(text) ? (text.toLowerCase() as Hex) : undefined
}

function statusOf(text: string): TransactionStatus | undefined {
  return TRANSACTION_STATUSES.find((status) => status === text)
}

function wholeNumber(text: string): bigint | undefined {
  return /^\d{1,78}$/.test(text) ? BigInt(text) : undefined
}
