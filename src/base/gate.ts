/** Lets so many through at once, and so many more wait; whoever comes then is told no. */
export type Gate = {
  /** Resolves to undefined, without having worked, where the queue is full. */
  run: <T>(work: () => Promise<T>) => Promise<{ value: T } | undefined>
}

export function createGate(options: { width: number; maxWaiting: number }): Gate {
  const waiting: Array<() => void> = []
  let inside = 0
  return {
    async run(work) {
      if (inside >= options.width) {
        if (waiting.length >= options.maxWaiting) return undefined
        // Whoever leaves hands the place over, so it is counted already.
        await new Promise<void>((enter) => void waiting.push(enter))
      } else {
        inside += 1
      }
      try {
        return { value: await work() }
      } finally {
        const next = waiting.shift()
        if (next) next()
        else inside -= 1
      }
    },
  }
}
