import type { ReportJson } from '../app/reconcile/source.ts'
import type { BreakFacts, BreakKind } from '../domain/breaks.ts'
import { coinOfChain } from '../domain/coins.ts'
import { formatTable } from './output.ts'

type Break = ReportJson['breaks'][number]
type Shown = { chainId: number; isTerminal: boolean }

/** A table in which each break has what differs below it. In a terminal, it is narrow. */
export function breakLines(breaks: readonly Break[], shown: Shown): string[] {
  const rows = breaks.map((one) =>
    [one.kind, one.transaction_id ?? '', one.eth_transaction_hash ?? ''].map((cell) =>
      cellOf(cell, shown),
    ),
  )
  const [head = '', ...lines] = formatTable(['break', 'transaction', 'hash'], rows).split('\n')
  const below = breaks.map((one) => differenceLines(one, shown))
  return [head, ...lines.flatMap((line, place) => [line, ...(below[place] ?? [])])]
}

/** What came from outside must not steer the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?')
}

function differenceLines({ kind, recorded, on_chain: onChain }: Break, shown: Shown): string[] {
  const [said, found] = [recorded, onChain].map((facts) => sayingOf(facts, { kind, ...shown }))
  if (said === undefined || found === undefined || said === found) return []
  return [`    recorded: ${said}`, `    on chain: ${found}`]
}

function sayingOf(facts: BreakFacts, of: Shown & { kind: BreakKind }): string | undefined {
  const field = FIELDS[of.kind] ?? 'status'
  const text = field === 'amount' ? moneyOf(facts, of) : facts[field]
  if (text === undefined || text === null) return undefined
  return text
    .split(' ')
    .map((word) => cellOf(word, of))
    .join(' ')
}

/** What a kind of break is about, other than the status. */
const FIELDS: Partial<Record<BreakKind, string>> = {
  wrong_amount: 'amount',
  wrong_contract: 'amount',
  wrong_recipient: 'to_address',
  wrong_reference: 'reference',
  reorged: 'block_hash',
  stale_receipt: 'block_hash',
}

function moneyOf(facts: BreakFacts, { chainId }: Shown): string | undefined {
  const { amount, amount_units: units, currency, token } = facts
  if (amount === undefined && units === undefined) return undefined
  const unit = currency ?? (token ? `of ${token}` : coinOfChain(chainId))
  return `${amount ?? `${units} smallest units`} ${unit}`
}

function cellOf(text: string, { isTerminal }: Shown): string {
  const safe = printable(text)
  if (!isTerminal || safe.length <= MAX_CELL) return safe
  return `${safe.slice(0, 10)}…${safe.slice(-8)}`
}

/** An address is whole, and a hash is not. */
const MAX_CELL = 42
