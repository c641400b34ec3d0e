import type { Finding } from '../domain/breaks.ts'
import type { RunTotals } from './reconcile.ts'
import type { UnreadableRow } from './records.ts'

/** What `reconcile --json` prints. Later versions may add fields, and take none away. */
export type ReportJson = {
  summary: {
    records: number
    matched: number
    pending: number
    breaks: number
    unreadable: number
    repeated: number
    by_kind: Readonly<Record<string, number>>
    pending_by_cause: Readonly<Record<string, number>>
    chain_id: number
    source: string
    elapsed_ms: number
    /** Set where more was found than is shown below; the CSV has all. */
    truncated?: true
  }
  breaks: readonly BreakJson[]
  unreadable: readonly UnreadableRow[]
}

type BreakJson = Omit<Finding, 'transactionId' | 'hash' | 'onChain'> & {
  transaction_id: string | null
  eth_transaction_hash: string | null
  on_chain: Finding['onChain']
}

export function reportJson(report: {
  totals: RunTotals
  findings: readonly Finding[]
  unreadable: readonly UnreadableRow[]
  chainId: number
  source: string
  elapsedMs: number
}): ReportJson {
  const { totals, findings, unreadable } = report
  const isCut = findings.length < totals.breaks || unreadable.length < totals.unreadable
  return {
    summary: {
      records: totals.records,
      matched: totals.matched,
      pending: totals.pending,
      breaks: totals.breaks,
      unreadable: totals.unreadable,
      repeated: totals.repeated,
      by_kind: totals.byKind,
      pending_by_cause: totals.byCause,
      chain_id: report.chainId,
      source: report.source,
      elapsed_ms: report.elapsedMs,
      ...(isCut && { truncated: true }),
    },
    breaks: findings.map(breakJson),
    unreadable,
  }
}

export function breakJson(finding: Finding): BreakJson {
  const { id, kind, transactionId, hash, recorded, onChain, evidence } = finding
  return {
    id,
    kind,
    transaction_id: transactionId,
    eth_transaction_hash: hash,
    recorded,
    on_chain: onChain,
    evidence,
  }
}
