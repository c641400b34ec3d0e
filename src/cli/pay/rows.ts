import { createHash } from 'node:crypto'
import { basename } from 'node:path'

import { readCsv, readHeader } from '../../base/csv.ts'
import { BaseError, messageOf } from '../../base/errors.ts'
import { readLines } from '../../base/read-lines.ts'
import { parseAddress } from '../../chain/hex.ts'
import { parseAmount } from '../../domain/money.ts'

/** One payment of the file. */
export type PayRow = {
  line: number
  toAddress: string
  /** In decimal digits, as the file has it. */
  amount: string
  /** In the smallest unit. */
  units: bigint
  currency: string
  /** By what the server knows it, and pays it once. */
  externalId: string
  /** Whether the file has it; else it was made of what the row says. */
  hasId: boolean
  description: string
}

/** In what the server pays, its coin first, and how many decimals amounts in it have. */
export type PayCurrencies = ReadonlyMap<string, number>

const REQUIRED = ['to_address', 'amount']
const COLUMNS = [...REQUIRED, 'currency', 'external_id', 'description']

/** All rows, or all that cannot be read, by their lines: then nothing may be paid. */
export async function readPayFile(
  path: string,
  { currencies, signal }: { currencies: PayCurrencies; signal: AbortSignal },
): Promise<PayRow[]> {
  const rows: PayRow[] = []
  const problems: string[] = []
  let columns: string[] | undefined
  const seen = new Map<string, number>()
  for await (const row of readCsv(textsOf(path, signal))) {
    if ('problem' in row) problems.push(`line ${row.line}: ${row.problem}`)
    else if (columns === undefined) columns = columnsOf(row.cells)
    else {
      const { line, cells } = row
      const read = readRow({ line, cells, columns, file: basename(path), currencies, seen })
      if (typeof read === 'string') problems.push(`line ${line}: ${read}`)
      else rows.push(read)
    }
  }
  if (columns === undefined) columnsOf([])
  problems.push(...repeatedIds(rows))
  if (problems.length > 0) throw unreadable(path, problems)
  if (rows.length === 0) throw unreadable(path, ['it has no row after the names of the columns'])
  return rows
}

async function* textsOf(path: string, signal: AbortSignal): AsyncGenerator<string> {
  for await (const { text } of readLines(path, { start: 0, number: 0, signal })) yield text
}

/** A column that is spelled wrongly would be left out without a word, so it is refused. */
function columnsOf(cells: readonly string[]): string[] {
  const names = readHeader(cells, REQUIRED)
  const unknown = names.filter((name) => !COLUMNS.includes(name))
  if (unknown.length === 0) return names
  throw new BaseError(
    `The column ${unknown[0]!.slice(0, 64)} is unknown. Use: ${COLUMNS.join(', ')}.`,
    { code: 'source_invalid' },
  )
}

type Reading = {
  line: number
  cells: readonly string[]
  columns: readonly string[]
  file: string
  currencies: PayCurrencies
  /** How often each content was there before. */
  seen: Map<string, number>
}

function readRow({ line, cells, columns, file, currencies, seen }: Reading): PayRow | string {
  if (cells.length !== columns.length) {
    return `it has ${cells.length} cells, and the first line ${columns.length}`
  }
  const cellOf = (name: string): string => cells[columns.indexOf(name)]?.trim() ?? ''
  const toAddress = cellOf('to_address')
  if (parseAddress(toAddress) === undefined) {
    return `to_address: ${JSON.stringify(toAddress)} is not an address, or its checksum is wrong`
  }
  const [coin = 'ETH'] = currencies.keys()
  const currency = cellOf('currency') || coin
  const decimals = currencies.get(currency)
  if (decimals === undefined) return `currency: use one of ${[...currencies.keys()].join(', ')}`
  const given = cellOf('external_id')
  if (!/^[!-~]{0,128}$/.test(given)) return 'external_id: use at most 128 characters without spaces'
  const description = cellOf('description') || 'Payment of a batch'
  if (description.length > 512) return 'description: use at most 512 characters'
  const amount = cellOf('amount')
  try {
    const units = parseAmount({ text: amount, decimals })
    // Without a currency it is the same row on every chain, so that no other one pays it again.
    const named = cellOf('currency') || 'ETH'
    const content = JSON.stringify([file, toAddress.toLowerCase(), amount, named, description])
    const earlier = seen.get(content) ?? 0
    seen.set(content, earlier + 1)
    const externalId = given || madeId(content, earlier)
    const money = { amount, units, currency }
    return { line, toAddress, ...money, externalId, hasId: given !== '', description }
  } catch (error) {
    return `amount: ${messageOf(error)}`
  }
}

/**
 * Of a row without an id: the same row of the same file is the same payment, also where others were
 * added or taken out, and its second occurrence is another one.
 */
function madeId(content: string, earlier: number): string {
  return `row-${createHash('sha256').update(`${earlier} ${content}`).digest('hex').slice(0, 40)}`
}

function repeatedIds(rows: readonly PayRow[]): string[] {
  const groups = Map.groupBy(rows, ({ externalId }) => externalId)
  return [...groups.values()].flatMap(([first, ...others]) =>
    others.map(({ line, externalId }) => {
      return `line ${line}: external_id: ${externalId} is also in line ${first!.line}`
    }),
  )
}

function unreadable(path: string, problems: readonly string[]): BaseError {
  const shown = problems.slice(0, MOST_SHOWN).join('\n  ')
  const more = problems.length > MOST_SHOWN ? `\n  and ${problems.length - MOST_SHOWN} more` : ''
  return new BaseError(`${path} has mistakes, and nothing was paid:\n  ${shown}${more}`, {
    code: 'source_invalid',
    details: { problems: problems.length },
  })
}

const MOST_SHOWN = 20
