import { ageBucket } from '../../../domain/breaks.ts'
import type { OpenBreak } from '../../../store/reconciliation/breaks.ts'
import type { Run } from '../../../store/reconciliation/runs.ts'
import type { BreakWire, RunWire } from '../../../wire/group-b/reconciliation.ts'

export function toRunWire(run: Run): RunWire {
  const { totals } = run
  return {
    run_id: run.runId,
    source: run.source,
    state: run.state,
    phase: run.phase,
    records: countOf(totals['records']),
    records_expected: Number(run.expected),
    matched: countOf(totals['matched']),
    pending: countOf(totals['pending']),
    pending_by_cause: countsOf(totals['byCause']),
    not_compared: countOf(totals['notCompared']),
    not_compared_by_reason: countsOf(totals['byReason']),
    breaks: countOf(totals['breaks']),
    breaks_by_kind: countsOf(totals['byKind']),
    since: run.since?.toISOString() ?? null,
    until: run.until?.toISOString() ?? null,
    requested_by: run.requestedBy,
    error: run.error ?? null,
    created_at: run.createdAt.toISOString(),
    started_at: run.startedAt?.toISOString() ?? null,
    updated_at: run.updatedAt.toISOString(),
    ended_at: run.endedAt?.toISOString() ?? null,
  }
}

export function toBreakWire(found: OpenBreak, now: Date): BreakWire {
  return {
    id: found.id,
    kind: found.kind,
    state: found.state,
    closed_as: found.closedAs ?? null,
    source: found.source,
    transaction_id: found.transactionId,
    eth_transaction_hash: found.hash,
    recorded: found.recorded,
    on_chain: found.onChain,
    evidence: found.evidence,
    age: ageBucket(found.firstSeenAt, now),
    first_seen_at: found.firstSeenAt.toISOString(),
    last_seen_at: found.lastSeenAt.toISOString(),
    closed_at: found.closedAt?.toISOString() ?? null,
  }
}

function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

function countsOf(value: unknown): Record<string, number> {
  const entries = Object.entries(value ?? {}).map(
    ([name, count]) => [name, countOf(count)] as const,
  )
  return Object.fromEntries(entries)
}
