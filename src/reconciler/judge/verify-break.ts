import type { Clock } from '../../base/clock.ts'
import type { Db } from '../../store/database/database.ts'
import { closeBreak, noteVerified, type OpenBreak } from '../../store/reconciliation/breaks.ts'
import { isOurHash } from '../../store/reconciliation/recorded-payments.ts'
import { findStoreRecord } from '../sources/store.ts'
import type { Examiner } from './examine.ts'

/** `unclear`: the nodes cannot tell now, or only a run over all records can. */
export type BreakCheck = 'stands' | 'resolved' | 'unclear'

/** Looks at one break again, now. Stores nothing. */
export async function checkBreak(
  { db, examiner, signal }: { db: Db; examiner: Examiner; signal: AbortSignal },
  found: OpenBreak,
): Promise<BreakCheck> {
  const { chainId, transactionId, hash, kind } = found
  if (transactionId === null) {
    if (kind !== 'unknown_outgoing' || hash === null) return 'unclear'
    return (await isOurHash(db, { chainId, hash })) ? 'resolved' : 'stands'
  }
  if (kind === 'duplicate_payment') return 'unclear'
  const record = await findStoreRecord(db, { chainId, transactionId })
  if (record === undefined) return 'unclear'
  const [examined] = await examiner.examine([record], signal)
  const judgement = examined?.judgement
  if (judgement?.state === 'matched') return 'resolved'
  if (judgement?.state !== 'broken') return 'unclear'
  const kinds = judgement.breaks.map((one) => one.kind)
  const isReplaced = kind === 'replaced_by_ours' && kinds.includes('replaced_unknown')
  if (kinds.includes(kind) || isReplaced) return 'stands'
  return judgement.isUndecided === true ? 'unclear' : 'resolved'
}

/** Writes down what a check found, and closes the break when its cause is gone. */
export async function settleBreak(
  db: Db,
  settled: { found: OpenBreak; check: BreakCheck; actor: string; clock: Clock },
): Promise<void> {
  const { found, check, actor, clock } = settled
  const now = clock.now()
  if (check === 'stands') await noteVerified(db, { key: found.key, actor, now })
  if (check === 'resolved') {
    await closeBreak(db, { breakId: found.id, as: 'resolved', actor, note: undefined, now })
  }
}
