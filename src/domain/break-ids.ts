import { createHash } from 'node:crypto'

import type { BreakKind } from './breaks.ts'

/** Names a disagreement by what it is about, so that each run finds the same one again. */
export function breakId(about: {
  chainId: number
  kind: BreakKind
  transactionId: string | null
  hash: string | null
  /** What else tells it from another one, where neither of the two is known. */
  place?: string
}): string {
  const { chainId, kind, transactionId, hash, place } = about
  const text = JSON.stringify([chainId, kind, transactionId, hash, ...(place ? [place] : [])])
  return `BRK${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
}
