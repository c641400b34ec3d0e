import type { BreakKind } from '../../../src/domain/breaks.ts'

/** Of one kind: how many there were, how many of them were found as it, and what else was. */
export type KindScore = { kind: BreakKind; injected: number; found: number; false: number }

/** Each break by what it is about and its kind; what is found twice counts as false once. */
export function scoreOf(
  expected: ReadonlyMap<string, BreakKind>,
  findings: readonly { about: string; kind: BreakKind }[],
): KindScore[] {
  const scores = new Map<BreakKind, KindScore>()
  const scoreFor = (kind: BreakKind): KindScore => {
    const known = scores.get(kind) ?? { kind, injected: 0, found: 0, false: 0 }
    scores.set(kind, known)
    return known
  }
  for (const kind of expected.values()) scoreFor(kind).injected += 1
  const open = new Map(expected)
  for (const { about, kind } of findings) {
    const isRight = open.get(about) === kind
    if (isRight) open.delete(about)
    scoreFor(kind)[isRight ? 'found' : 'false'] += 1
  }
  return [...scores.values()]
}
