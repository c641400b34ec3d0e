import type { Db } from '../../../src/store/database/database.ts'
import { EXPORTS } from '../../../src/store/transactions/exports.ts'
import { exportLines } from '../../../src/wire/group-b/exports.ts'
import { exposeCollection } from '../../fixtures/store/garbage.ts'

/** What an export wrote, and how much more it held meanwhile than before. */
export type Exported = { lines: number; seconds: number; heldMb: number; last: string }

/** Writes the transactions of a user as JSON lines, and looks at the heap as they go by. */
export async function measureExport(
  db: Db,
  { userId, lookEvery }: { userId: number; lookEvery: number },
): Promise<Exported> {
  const collect = exposeCollection()
  const heldNow = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const [from, to] = [new Date(0), new Date()]
  const wanted = { kind: 'transactions', format: 'jsonl', from, to } as const
  const startedAt = performance.now()
  const before = heldNow()
  let [lines, next, last, most] = [0, lookEvery, '', before]
  for await (const line of exportLines(EXPORTS.transactions(db, { userId, from, to }), wanted)) {
    lines += 1
    last = line
    if (lines < next) continue
    next += lookEvery
    most = Math.max(most, heldNow())
  }
  const seconds = (performance.now() - startedAt) / 1000
  return { lines, seconds, heldMb: (most - before) / 2 ** 20, last }
}
