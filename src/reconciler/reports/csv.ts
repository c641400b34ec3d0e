import { csvRow } from '../../base/csv.ts'
import type { BreakFacts, Finding } from '../../domain/breaks.ts'
import type { UncomparedRecord } from '../reconcile.ts'

const COLUMNS = ['id', 'kind', 'transaction_id', 'eth_transaction_hash'] as const
const FIELDS = ['status', 'to_address', 'amount', 'reference', 'block_hash', 'fee_wei'] as const

/** The first line of a CSV of breaks. */
export function csvHeader(): string {
  const sides = ['recorded', 'on_chain'].flatMap((side) => FIELDS.map((name) => `${side}_${name}`))
  return csvRow([...COLUMNS, ...sides, 'evidence'])
}

export function csvOfFinding(finding: Finding): string {
  const { id, kind, transactionId, hash, recorded, onChain, evidence } = finding
  const sides = [recorded, onChain].flatMap((facts) => FIELDS.map((name) => facts[name] ?? ''))
  return csvRow([id, kind, transactionId ?? '', hash ?? '', ...sides, JSON.stringify(evidence)])
}

/** Among the breaks, since it needs somebody's attention as they do. */
export function csvOfUncompared(one: UncomparedRecord): string {
  const { transactionId, hash, recorded, line, reason, problem } = one
  const sides = [recorded, {}].flatMap((facts: BreakFacts) =>
    FIELDS.map((name) => facts[name] ?? ''),
  )
  const evidence = JSON.stringify({ reason, problem, line })
  return csvRow(['', 'not_compared', transactionId, hash, ...sides, evidence])
}
