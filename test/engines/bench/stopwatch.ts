/** How long was waited for each of several parties, and for none of them. */
export type Stopwatch = {
  /** From now on one more answer is awaited. */
  begin: (party: string) => void
  end: (party: string) => void
  /** Seconds by who was waited for, such as `chain`, `sql`, `chain+sql` and empty for nobody. */
  take: () => Record<string, number>
}

export function createStopwatch(now: () => number = () => performance.now()): Stopwatch {
  const waiting = new Map<string, number>()
  let seconds: Record<string, number> = {}
  let since = now()
  const tick = (): void => {
    const at = now()
    const who = [...waiting]
      .filter(([, count]) => count > 0)
      .map(([party]) => party)
      .toSorted()
      .join('+')
    seconds[who] = (seconds[who] ?? 0) + (at - since) / 1000
    since = at
  }
  const add = (party: string, change: number): void => {
    tick()
    waiting.set(party, (waiting.get(party) ?? 0) + change)
  }
  return {
    begin: (party) => add(party, 1),
    end: (party) => add(party, -1),
    take() {
      tick()
      const taken = seconds
      seconds = {}
      return taken
    },
  }
}
