import { breakId } from '../domain/break-ids.ts'
import { BREAK_MEANINGS, type BreakKind, type Finding } from '../domain/breaks.ts'
import { createDuplicates, type Duplicates } from './duplicates.ts'
import { findingOf, type Examined, type Examiner } from './examine.ts'
import type { PendingCause } from './judge.ts'
import type { PaymentRecord, RecordSource, UnreadableRow } from './records.ts'

/** What a run has come to so far. Each record is matched, pending or broken. */
export type RunTotals = {
  records: number
  matched: number
  pending: number
  breaks: number
  unreadable: number
  repeated: number
  byKind: Partial<Record<BreakKind, number>>
  byCause: Partial<Record<PendingCause, number>>
}

/** What one chunk brought, with the totals up to it. */
export type ChunkDone = {
  findings: readonly Finding[]
  unreadable: readonly UnreadableRow[]
  /** The transactions of which something was concluded, so that older breaks of theirs are over. */
  concluded: readonly string[]
  totals: RunTotals
  cursor: string
  /** In the units of the source's size. */
  position: number
}

export type ReconcileOptions = {
  source: RecordSource
  examiner: Examiner
  signal: AbortSignal
  /** Where an earlier run was stopped, and what it had come to. */
  from?: { cursor: string | undefined; totals: RunTotals } | undefined
  since?: Date | undefined
  until?: Date | undefined
  /** Whether we signed it, beside the hashes that the source itself tells. */
  isOurs?: (hash: string) => Promise<boolean>
  /** Called after each chunk; what it stores is where a stopped run goes on. */
  onChunk: (done: ChunkDone) => Promise<void> | void
}

/** One pass over all records of the source, chunk by chunk, in memory that does not grow. */
export async function reconcile(options: ReconcileOptions): Promise<RunTotals> {
  const { source, examiner, signal, from } = options
  const totals = from?.totals ?? emptyTotals()
  const duplicates = createDuplicates()
  // Whether it was one of ours that took the nonce is known when all hashes were read.
  const replaced: Finding[] = []
  let last = { cursor: from?.cursor ?? '', position: 0 }
  for await (const chunk of source.chunks({ after: from?.cursor, signal })) {
    const fresh = chunk.records.filter((record) => isWanted(record, options))
    const records = fresh.filter((record) => !duplicates.isRepeated(record))
    totals.repeated += fresh.length - records.length
    totals.unreadable += chunk.unreadable.length
    const open = records.filter(({ isProven }) => isProven !== true)
    const examined = [
      ...records.filter(({ isProven }) => isProven === true).map(provenBySweep),
      ...(await examiner.examine(open, signal)),
    ]
    const findings = examined.flatMap((one) => tally(one, { totals, duplicates, examiner }))
    replaced.push(...findings.filter(({ kind }) => kind === 'replaced_unknown'))
    last = { cursor: chunk.cursor, position: source.positionOf(chunk.cursor) }
    await options.onChunk({
      ...last,
      totals,
      findings: findings.filter(({ kind }) => kind !== 'replaced_unknown'),
      unreadable: chunk.unreadable,
      concluded: examined.flatMap(concludedOf),
    })
  }
  const findings: Finding[] = []
  for (const finding of replaced) {
    const hash = finding.evidence['replaced_by'] ?? ''
    const isOurs = duplicates.hasHash(hash) || (await options.isOurs?.(hash)) === true
    findings.push(isOurs ? replacedByOurs(finding, examiner) : finding)
  }
  for (const { kind } of findings) totals.byKind[kind] = (totals.byKind[kind] ?? 0) + 1
  if (findings.length > 0) {
    const concluded = findings.flatMap(({ transactionId }) => transactionId ?? [])
    await options.onChunk({ ...last, totals, findings, unreadable: [], concluded })
  }
  return totals
}

function provenBySweep(record: PaymentRecord): Examined {
  const comparison = { kinds: [], payment: undefined, count: 1 }
  return { record, judgement: { state: 'matched', comparison } }
}

/** What became of a replaced one is concluded at the end, when it is known whose the other is. */
function concludedOf({ record, judgement }: Examined): string[] {
  const isDeferred =
    judgement.state === 'broken' && judgement.breaks.some(({ kind }) => kind === 'replaced_unknown')
  return judgement.state === 'pending' || isDeferred ? [] : [record.transactionId]
}

export function emptyTotals(): RunTotals {
  return {
    records: 0,
    matched: 0,
    pending: 0,
    breaks: 0,
    unreadable: 0,
    repeated: 0,
    byKind: {},
    byCause: {},
  }
}

/** A record that does not say when it was made is not left out for it. */
function isWanted({ createdAt }: PaymentRecord, { since, until }: ReconcileOptions): boolean {
  if (createdAt === undefined) return true
  return (since === undefined || createdAt >= since) && (until === undefined || createdAt < until)
}

type Tallying = { totals: RunTotals; duplicates: Duplicates; examiner: Examiner }

function tally(examined: Examined, { totals, duplicates, examiner }: Tallying): Finding[] {
  const { record, judgement } = examined
  totals.records += 1
  if (judgement.state === 'pending') {
    totals.pending += 1
    totals.byCause[judgement.cause] = (totals.byCause[judgement.cause] ?? 0) + 1
    return []
  }
  const claimed = duplicates.claim(examined)
  const breaks = judgement.state === 'broken' ? judgement.breaks : claimed ? [claimed] : []
  if (breaks.length === 0) totals.matched += 1
  totals.breaks += breaks.length
  return breaks.map((found) => {
    if (found.kind !== 'replaced_unknown') {
      totals.byKind[found.kind] = (totals.byKind[found.kind] ?? 0) + 1
    }
    return findingOf(examiner.chainId, record, found)
  })
}

function replacedByOurs(finding: Finding, { chainId }: Examiner): Finding {
  const kind = 'replaced_by_ours'
  const { transactionId, hash } = finding
  const evidence = { ...finding.evidence, meaning: BREAK_MEANINGS[kind] }
  return { ...finding, id: breakId({ chainId, kind, transactionId, hash }), kind, evidence }
}
