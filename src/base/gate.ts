/** Runs a number of calls at once, and lets a number of others wait. It refuses the rest. */
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
        // A call that ends hands its place over, so this call is counted already.
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
