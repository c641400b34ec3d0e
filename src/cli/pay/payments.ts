import { createHash } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'

import { csvRow } from '../../base/csv.ts'
import { BaseError } from '../../base/errors.ts'
import { forEachAtOnce, groupsOf } from '../../base/groups.ts'
import {
  ApiError,
  type BatchItem,
  type BatchRequest,
  type PlatformClient,
} from '../../client/index.ts'
import { MAX_BATCH, type OnFailure } from '../../domain/batches.ts'
import { MAX_DECIMALS, parseAmount } from '../../domain/money.ts'
import type { PayRow } from './rows.ts'

type Blockchain = PlatformClient['blockchain']

/** What of the platform the payment of a file needs. */
export type PayClient = {
  blockchain: Pick<Blockchain, 'batch' | 'balance'> & {
    batches: Pick<Blockchain['batches'], 'estimate' | 'get' | 'items'>
  }
  transactions: Pick<PlatformClient['transactions'], 'list'>
}

/** What became of a row, as the server tells it. */
export type PaidRow = {
  transactionId: string
  hash: string
  state: string
  error: string
}

/** Rows of one currency that go into one request. */
export type Part = { currency: string; rows: readonly PayRow[] }

export type Plan = {
  /** What is to be paid. */
  parts: readonly Part[]
  /** Those that an earlier run has paid, or is paying. */
  before: ReadonlyMap<PayRow, PaidRow>
  /** The batches that those are in. */
  batches: ReadonlySet<string>
  feeWei: bigint
  transactions: number
  contracts: readonly PayRow[]
}

type PayOptions = {
  /** As the server names it; undefined of one that names none. */
  chain: string | undefined
  onFailure: OnFailure
  signal: AbortSignal
}

/**
 * Asks the server what it would do, by the very checks that the payment meets. What it knows
 * already is looked up, and must be the same payment.
 */
export async function makePlan(
  client: PayClient,
  rows: readonly PayRow[],
  options: PayOptions & { onPart: (rows: number) => void },
): Promise<Plan> {
  const parts: Part[] = []
  const contracts: PayRow[] = []
  const known: PayRow[] = []
  let feeWei = 0n
  let transactions = 0
  const estimated: Array<{ currency: string } & Awaited<ReturnType<typeof estimateOpen>>> = []
  await forEachAtOnce([...partsOf(rows).entries()], REQUESTS_AT_ONCE, async ([at, part]) => {
    const { currency } = part
    estimated[at] = { currency, ...(await estimateOpen(client, part, options)) }
    options.onPart(part.rows.length)
  })
  for (const { currency, estimate, open, used } of estimated) {
    known.push(...used)
    if (estimate === undefined) continue
    parts.push({ currency, rows: open })
    feeWei += BigInt(estimate.fee_wei)
    transactions += estimate.chain_transactions
    contracts.push(...estimate.contracts.map((place) => open[place]!))
  }
  const found = await findKnown(client, known, options)
  return { parts, ...found, feeWei, transactions, contracts }
}

/** While the chain is asked for one, the others are read and stored. */
export const REQUESTS_AT_ONCE = 3

function partsOf(rows: readonly PayRow[]): Part[] {
  return [...Map.groupBy(rows, ({ currency }) => currency)].flatMap(([currency, own]) =>
    groupsOf(own, MAX_BATCH).map((some) => ({ currency, rows: some })),
  )
}

/** Leaves out what the server has under the same id, and asks again for the rest. */
async function estimateOpen(
  client: PayClient,
  { currency, rows }: Part,
  { signal, ...how }: PayOptions,
) {
  const used: PayRow[] = []
  for (let open = [...rows]; open.length > 0;) {
    try {
      const request = requestOf({ currency, rows: open }, how)
      const estimate = await client.blockchain.batches.estimate(request, { signal })
      return { estimate, open, used }
    } catch (error) {
      const taken = new Set(usedPlaces(error))
      if (taken.size === 0) throw byLines(error, open)
      used.push(...open.filter((_, place) => taken.has(place)))
      open = open.filter((_, place) => !taken.has(place))
    }
  }
  return { estimate: undefined, open: [], used }
}

function usedPlaces(error: unknown): number[] {
  if (!(error instanceof ApiError) || error.code !== 'conflict') return []
  return error.fields.flatMap(({ field, code }) =>
    code === 'external_id_used' ? (placeIn(field) ?? []) : [],
  )
}

function placeIn(field: string): number | undefined {
  const [, place] = /^items\.(\d+)\./.exec(field) ?? []
  return place === undefined ? undefined : Number(place)
}

/** What the server refuses, by the lines of the file. */
function byLines(error: unknown, rows: readonly PayRow[]): unknown {
  if (!(error instanceof ApiError)) return error
  const lines = error.fields.flatMap(({ field, message }) => {
    const row = rows[placeIn(field) ?? -1]
    return row === undefined ? [] : [`line ${row.line}: ${message}`]
  })
  if (lines.length === 0) return error
  const shown = lines.slice(0, 20).join('\n  ')
  const message = `The server refuses these rows, and none of them was paid:\n  ${shown}`
  return new BaseError(message, { code: error.code, cause: error })
}

function requestOf(
  { currency, rows }: Part,
  { chain, onFailure }: Omit<PayOptions, 'signal'>,
): BatchRequest {
  const items = rows.map(({ toAddress, amount, externalId, description }) => {
    return { to_address: toAddress, amount, external_id: externalId, description }
  })
  return { ...(chain !== undefined && { chain }), currency, on_failure: onFailure, items }
}

/** Pays a part, once however often it is asked for: the key is made of what it says. */
export async function payPart(
  client: PayClient,
  part: Part,
  { signal, ...how }: PayOptions,
): Promise<{ batchId: string; transactions: readonly string[] }> {
  const request = requestOf(part, how)
  const digest = createHash('sha256').update(JSON.stringify(request)).digest('hex')
  const idempotencyKey = `pay-${digest.slice(0, 40)}`
  try {
    const batch = await client.blockchain.batch(request, { signal, idempotencyKey })
    return { batchId: batch.batch_id, transactions: batch.transactions }
  } catch (error) {
    throw byLines(error, part.rows)
  }
}

/** What an earlier run has paid: it is found by its id, and with it all of its batch. */
async function findKnown(
  client: PayClient,
  rows: readonly PayRow[],
  { chain, signal }: Omit<PayOptions, 'onFailure'>,
): Promise<Pick<Plan, 'before' | 'batches'>> {
  const before = new Map<PayRow, PaidRow>()
  const batches = new Set<string>()
  const items = new Map<string, BatchItem>()
  const others: string[] = []
  for (const row of rows) {
    if (!items.has(row.externalId)) {
      const { transactions } = await client.transactions.list(
        { external_id: row.externalId, limit: 1 },
        { signal },
      )
      const { batch_id: batchId, chain: paidOn } = transactions[0] ?? {}
      if (typeof batchId === 'string' && isOn(chain, paidOn)) {
        batches.add(batchId)
        for await (const item of client.blockchain.batches.items(batchId, { signal })) {
          if (typeof item.external_id === 'string') items.set(item.external_id, item)
        }
      }
    }
    const item = items.get(row.externalId)
    if (item !== undefined && isSame(row, item)) before.set(row, paidRowOf(item))
    else others.push(`line ${row.line}: ${row.externalId} belongs to another payment already`)
  }
  if (others.length > 0) throw otherPayments(others)
  return { before, batches }
}

/** A server that names no chain has one. */
function isOn(chain: string | undefined, paidOn: unknown): boolean {
  return chain === undefined || typeof paidOn !== 'string' || paidOn === chain
}

function isSame({ toAddress, amount, currency }: PayRow, item: BatchItem): boolean {
  if (toAddress.toLowerCase() !== item.to_address.toLowerCase()) return false
  if (item.currency !== currency) return false
  const [asked, known] = [amount, item.amount].map((text) =>
    parseAmount({ text, decimals: MAX_DECIMALS }),
  )
  return asked === known
}

export function paidRowOf(item: BatchItem): PaidRow {
  return {
    transactionId: item.transaction_id,
    hash: item.eth_transaction_hash ?? '',
    state: item.status,
    error: item.error_code ?? '',
  }
}

function otherPayments(lines: readonly string[]): BaseError {
  return new BaseError(
    `An external_id pays once. Nothing was paid:\n  ${lines.slice(0, 20).join('\n  ')}`,
    { code: 'external_id_used' },
  )
}

/** Writes the results next to the file, completely or not at all: each row with its outcome. */
export async function writeResults(
  path: string,
  rows: readonly PayRow[],
  paid: ReadonlyMap<PayRow, PaidRow>,
): Promise<void> {
  const lines = rows.map((row) => {
    const { toAddress, amount, currency, externalId, description } = row
    const { transactionId = '', hash = '', state = 'open', error = '' } = paid.get(row) ?? {}
    const asked = [toAddress, amount, currency, externalId, description]
    return csvRow(asked.concat(transactionId, hash, state, error))
  })
  await writeFile(`${path}.part`, csvRow(COLUMNS) + lines.join(''))
  await rename(`${path}.part`, path)
}

const COLUMNS = [
  'to_address',
  'amount',
  'currency',
  'external_id',
  'description',
  'transaction_id',
  'eth_transaction_hash',
  'state',
  'error_code',
]
