import type { BreakFacts, Finding } from '../../domain/breaks.ts'
import type { RunTotals, UncomparedRecord } from '../reconcile.ts'
import type { Uncompared, UnreadableRow } from '../sources/records.ts'

/** What `reconcile --json` prints. Later versions may add fields, and take none away. */
export type ReportJson = {
  summary: {
    records: number
    matched: number
    pending: number
    /** Records whose money could not be compared. They do not count as matched. */
    not_compared: number
    breaks: number
    unreadable: number
    repeated: number
    by_kind: Readonly<Record<string, number>>
    pending_by_cause: Readonly<Record<string, number>>
    not_compared_by_reason: Readonly<Record<string, number>>
    chain_id: number
    source: string
    elapsed_ms: number
    /** Set where more was found than is shown below; the CSV has all. */
    truncated?: true
  }
  breaks: readonly BreakJson[]
  unreadable: readonly UnreadableRow[]
  not_compared: readonly UncomparedJson[]
}

type UncomparedJson = Uncompared & {
  transaction_id: string
  eth_transaction_hash: string
  /** Null where the source has no lines. */
  line: number | null
  recorded: BreakFacts
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
  uncompared: readonly UncomparedRecord[]
  chainId: number
  source: string
  elapsedMs: number
}): ReportJson {
  const { totals, findings, unreadable, uncompared } = report
  const isCut =
    findings.length < totals.breaks ||
    unreadable.length < totals.unreadable ||
    uncompared.length < totals.notCompared
  return {
    summary: {
      records: totals.records,
      matched: totals.matched,
      pending: totals.pending,
      not_compared: totals.notCompared,
      breaks: totals.breaks,
      unreadable: totals.unreadable,
      repeated: totals.repeated,
      by_kind: totals.byKind,
      pending_by_cause: totals.byCause,
      not_compared_by_reason: totals.byReason,
      chain_id: report.chainId,
      source: report.source,
      elapsed_ms: report.elapsedMs,
      ...(isCut && { truncated: true }),
    },
    breaks: findings.map(breakJson),
    unreadable,
    not_compared: uncompared.map(uncomparedJson),
  }
}

function uncomparedJson(one: UncomparedRecord): UncomparedJson {
  const { transactionId, hash, line, reason, problem, recorded } = one
  return {
    transaction_id: transactionId,
    eth_transaction_hash: hash,
    line: line ?? null,
    reason,
    problem,
    recorded,
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
