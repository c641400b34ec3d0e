import { setImmediate as turn } from 'node:timers/promises'

/** Asks for the next part while this one is worked on, so that two parties work side by side. */
export async function* ahead<T>(parts: AsyncGenerator<T>): AsyncGenerator<T, void, undefined> {
  let next = parts.next()
  try {
    for (;;) {
      const { value, done } = await next
      if (done === true) return
      next = parts.next()
      // It is awaited later, or never if the consumer of the parts stops before.
      next.catch(() => undefined)
      // What is asked for leaves this process first: the work may let nothing else by.
      await turn()
      yield value
    }
  } finally {
    await parts.return(undefined)
  }
}
