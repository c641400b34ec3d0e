import { createHash } from 'node:crypto'

import type { BreakKind } from './breaks.ts'

/** Names a disagreement by what it is about, so that each run finds the same one again. */
export function breakId(about: {
  chainId: number
  kind: BreakKind
  transactionId: string | null
  hash: string | null
}): string {
  const text = JSON.stringify([about.chainId, about.kind, about.transactionId, about.hash])
  return `BRK${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
}
