import { breakId } from '../domain/break-ids.ts'
import { BREAK_MEANINGS, type BreakFacts, type BreakKind, type Finding } from '../domain/breaks.ts'
import { createDuplicates, type Duplicates } from './judge/duplicates.ts'
import { findingOf, type Examined, type Examiner } from './judge/examine.ts'
import { recordedOf, type Judgement, type PendingCause } from './judge/judge.ts'
import type {
  PaymentRecord,
  RecordSource,
  Uncompared,
  UncomparedReason,
  UnreadableRow,
} from './sources/records.ts'

/** The totals of a run so far. Each record is matched, pending, not compared or broken. */
export type RunTotals = {
  records: number
  matched: number
  pending: number
  notCompared: number
  breaks: number
  unreadable: number
  repeated: number
  byKind: Partial<Record<BreakKind, number>>
  byCause: Partial<Record<PendingCause, number>>
  byReason: Partial<Record<UncomparedReason, number>>
}

/** A record whose money could not be compared, and why. */
export type UncomparedRecord = Uncompared & {
  transactionId: string
  hash: string
  line: number | undefined
  recorded: BreakFacts
}

/** What one chunk brought, with the totals up to it. */
export type ChunkDone = {
  findings: readonly Finding[]
  unreadable: readonly UnreadableRow[]
  uncompared: readonly UncomparedRecord[]
  /** The transactions of which something was concluded, so that older breaks of theirs are over. */
  concluded: readonly string[]
  totals: RunTotals
  cursor: string
  /** In the units of the source's size. */
  position: number
  carried: Carried
}

/** What later chunks need of this one, where a run goes on behind it. */
export type Carried = {
  /** What is concluded when all is read. */
  deferred: readonly Finding[]
  seen: readonly string[]
}

export type ReconcileOptions = {
  source: RecordSource
  examiner: Examiner
  signal: AbortSignal
  /** Where an earlier run was stopped, and its totals up to there. */
  from?: StoppedRun | undefined
  since?: Date | undefined
  until?: Date | undefined
  /** Whether we signed it. Without it, the hashes that the source tells are ours. */
  isOurs?: (hash: string) => Promise<boolean>
  /** Called after each chunk; what it stores is where a stopped run goes on. */
  onChunk: (done: ChunkDone) => Promise<void> | void
  /** Called once, with what only the whole source could tell. */
  onEnd: (findings: readonly Finding[]) => Promise<void> | void
}

export type StoppedRun = {
  cursor: string | undefined
  totals: RunTotals
  deferred?: readonly Finding[]
  duplicates?: Duplicates
}

/** One pass over all records of the source, chunk by chunk, in memory that does not grow. */
export async function reconcile(options: ReconcileOptions): Promise<RunTotals> {
  const { source, examiner, signal, from } = options
  const totals = from?.totals ?? emptyTotals()
  const duplicates = from?.duplicates ?? createDuplicates()
  const tallying = { totals, duplicates, examiner }
  const deferred = [...(from?.deferred ?? [])]
  for await (const chunk of source.chunks({ after: from?.cursor, signal })) {
    const fresh = chunk.records.filter((record) => isWanted(record, options))
    const records = fresh.filter((record) => isAlone(record) || !duplicates.isRepeated(record))
    totals.repeated += fresh.length - records.length
    totals.unreadable += chunk.unreadable.length
    const { proven = [] } = chunk
    totals.records += proven.length
    totals.matched += proven.length
    const examined = await examiner.examine(records, signal)
    const found = examined.flatMap((one) => tally(one, tallying))
    const { now, later } = await splitDeferred(found, options)
    countKinds(totals, now)
    deferred.push(...later)
    await options.onChunk({
      totals,
      findings: now,
      unreadable: chunk.unreadable,
      uncompared: examined.flatMap(uncomparedOf),
      concluded: [...proven, ...concludedOf(examined, later)],
      cursor: chunk.cursor,
      position: source.positionOf(chunk.cursor),
      carried: { deferred: later, seen: duplicates.takeAdded() },
    })
  }
  const findings = deferred.map((finding) =>
    duplicates.hasHash(takerOf(finding)) ? replacedByOurs(finding, examiner) : finding,
  )
  countKinds(totals, findings)
  await options.onEnd(findings)
  return totals
}

/** What a run that goes on has to remember of the records before its cursor. */
export async function remember(
  records: readonly PaymentRecord[],
  {
    duplicates,
    examiner,
    signal,
  }: Pick<ReconcileOptions, 'examiner' | 'signal'> & { duplicates: Duplicates },
): Promise<void> {
  const fresh = records.filter((record) => !duplicates.isRepeated(record))
  if (fresh.length === 0) return
  for (const examined of await examiner.examine(fresh, signal)) duplicates.claim(examined)
}

/** What cannot be doubled need not be remembered. */
function isAlone({ isShared }: PaymentRecord): boolean {
  return isShared === false
}

/** Where nobody else can tell whose it is, it is known when all hashes were read. */
async function splitDeferred(
  found: readonly Finding[],
  { isOurs, examiner }: ReconcileOptions,
): Promise<{ now: Finding[]; later: Finding[] }> {
  const split: { now: Finding[]; later: Finding[] } = { now: [], later: [] }
  for (const finding of found) {
    if (finding.kind !== 'replaced_unknown') split.now.push(finding)
    else if (isOurs === undefined) split.later.push(finding)
    else {
      const isKnown = await isOurs(takerOf(finding))
      split.now.push(isKnown ? replacedByOurs(finding, examiner) : finding)
    }
  }
  return split
}

/** Which transaction took the nonce. */
function takerOf({ evidence }: Finding): string {
  return evidence['replaced_by'] ?? ''
}

function countKinds({ byKind }: RunTotals, findings: readonly Finding[]): void {
  for (const { kind } of findings) byKind[kind] = (byKind[kind] ?? 0) + 1
}

/** What became of a replaced one is concluded at the end, when it is known whose the other is. */
function concludedOf(examined: readonly Examined[], later: readonly Finding[]): string[] {
  const waiting = new Set(later.map(({ transactionId }) => transactionId))
  return examined.flatMap(({ record: { transactionId }, judgement }) =>
    isDecided(judgement) && !waiting.has(transactionId) ? [transactionId] : [],
  )
}

function isDecided(judgement: Judgement): boolean {
  if (judgement.state === 'broken') return judgement.isUndecided !== true
  return judgement.state === 'matched'
}

export function emptyTotals(): RunTotals {
  return {
    records: 0,
    matched: 0,
    pending: 0,
    notCompared: 0,
    breaks: 0,
    unreadable: 0,
    repeated: 0,
    byKind: {},
    byCause: {},
    byReason: {},
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
  if (judgement.state === 'not_compared') {
    const { reason } = judgement.uncompared
    totals.notCompared += 1
    totals.byReason[reason] = (totals.byReason[reason] ?? 0) + 1
    return []
  }
  const claimed = isAlone(record) ? undefined : duplicates.claim(examined)
  const breaks = judgement.state === 'broken' ? judgement.breaks : claimed ? [claimed] : []
  if (breaks.length === 0) totals.matched += 1
  totals.breaks += breaks.length
  return breaks.map((found) => findingOf(examiner.chainId, record, found))
}

function uncomparedOf({ record, judgement }: Examined): UncomparedRecord[] {
  if (judgement.state !== 'not_compared') return []
  const { transactionId, hash, line, amount, token } = record
  const recorded = {
    ...recordedOf(record),
    ...(amount?.currency !== undefined && { currency: amount.currency }),
    ...(token !== undefined && { token }),
  }
  return [{ transactionId, hash, line, recorded, ...judgement.uncompared }]
}

function replacedByOurs(finding: Finding, { chainId }: Examiner): Finding {
  const kind = 'replaced_by_ours'
  const { transactionId, hash } = finding
  const evidence = { ...finding.evidence, meaning: BREAK_MEANINGS[kind] }
  return { ...finding, id: breakId({ chainId, kind, transactionId, hash }), kind, evidence }
}
