/**
 * One result for all who ask while it is made, and for those who ask within `maxAgeMs` of its
 * beginning. A failure goes to those who wait for it, and is not kept.
 */
export function recent<T>(options: {
  load: () => Promise<T>
  maxAgeMs: number
  now: () => number
}): () => Promise<T> {
  const { load, maxAgeMs, now } = options
  let latest: { value: Promise<T>; startedAt: number; isDone: boolean } | undefined
  return () => {
    if (latest && (!latest.isDone || now() - latest.startedAt < maxAgeMs)) return latest.value
    const made = { value: load(), startedAt: now(), isDone: false }
    latest = made
    made.value.then(
      () => void (made.isDone = true),
      () => void (latest = undefined),
    )
    return made.value
  }
}
