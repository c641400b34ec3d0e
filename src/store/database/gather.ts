import { setImmediate as turn } from 'node:timers/promises'

/**
 * Loads in one call what several callers ask for at one time. What is asked for while a call is
 * under way goes into the next one, so an answer is never older than its question.
 */
export function gathering<K, V>(
  load: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
): (key: K) => Promise<V | undefined> {
  let keys = new Set<K>()
  let next: Promise<ReadonlyMap<K, V>> | undefined
  let last: Promise<unknown> = Promise.resolve()
  const loadNext = async (): Promise<ReadonlyMap<K, V>> => {
    await last
    await turn()
    const asked = [...keys]
    keys = new Set()
    next = undefined
    const loaded = load(asked)
    // A failure is of those who asked.
    last = loaded.catch(() => undefined)
    return loaded
  }
  return async (key) => {
    keys.add(key)
    next ??= loadNext()
    return (await next).get(key)
  }
}
