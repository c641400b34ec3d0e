/** Wakes the loops of one kind of work, when there is more of it. */
export type Bell = {
  /** Wakes all listeners, in this process and in the others that share the database. */
  ring: () => void
  /** Returns a function that ends it. */
  listen: (wake: () => void) => () => void
  /** Whether a ring in any of those processes is heard here now. */
  isHeard: () => boolean
}

export type Bells = {
  of: (name: string) => Bell
  /** Wakes those of this process alone, as when another one has rung. */
  ringHere: (name: string) => void
  /** Called with the name of each bell that is rung in this process. */
  carry: (onRing: (name: string) => void) => void
  /** Says whether those of other processes are heard; without a word there are no others. */
  setHeard: (isHeard: boolean) => void
}

/** A ring that nobody hears costs time, and nothing else: every listener polls as well. */
export function createBells(): Bells {
  const listening = new Map<string, Set<() => void>>()
  let carry: ((name: string) => void) | undefined
  let isHeard = true
  const ringHere = (name: string): void => {
    for (const wake of listening.get(name) ?? []) wake()
  }
  return {
    ringHere,
    carry(onRing) {
      carry = onRing
    },
    setHeard(now) {
      isHeard = now
    },
    of: (name) => ({
      ring() {
        ringHere(name)
        carry?.(name)
      },
      listen(wake) {
        const all = listening.get(name) ?? new Set()
        listening.set(name, all.add(wake))
        return () => void all.delete(wake)
      },
      isHeard: () => isHeard,
    }),
  }
}
