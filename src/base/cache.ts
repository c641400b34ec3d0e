import type { Clock } from './clock.ts'

/** Holds at most so many values; the one that was longest not asked for goes first. */
export type Cache<V> = {
  get: (key: string) => V | undefined
  set: (key: string, value: V) => void
  delete: (key: string) => void
  entries: () => IterableIterator<[string, V]>
}

export function createCache<V>(capacity: number): Cache<V> {
  // A map keeps the order of insertion, so what was asked for last is inserted again.
  const values = new Map<string, V>()
  return {
    get(key) {
      const value = values.get(key)
      if (value === undefined) return undefined
      values.delete(key)
      values.set(key, value)
      return value
    },
    set(key, value) {
      values.delete(key)
      values.set(key, value)
      if (values.size <= capacity) return
      for (const oldest of values.keys()) {
        values.delete(oldest)
        break
      }
    },
    delete: (key) => void values.delete(key),
    entries: () => values.entries(),
  }
}

/** Remembers what it loads, and never returns anything older than its limit. */
export type FreshCache<V> = {
  get: (key: string, options?: { maxAgeMs?: number }) => Promise<V | undefined>
  /** Also keeps loads that are under way from being remembered. */
  forget: (matches: (value: V) => boolean) => void
}

export type FreshCacheOptions<V> = {
  /** Undefined, which is not remembered, where there is no such thing. */
  load: (key: string) => Promise<V | undefined>
  capacity: number
  /** Past this age a value is still returned, and loaded again in the background. */
  refreshMs: number
  /** Past this age a value is loaded before it is returned. */
  limitMs: number
  clock: Clock
}

export function createFreshCache<V>(options: FreshCacheOptions<V>): FreshCache<V> {
  const { clock, limitMs, refreshMs } = options
  const values = createCache<{ value: V; loadedAt: number }>(options.capacity)
  const loading = new Map<string, Promise<V | undefined>>()
  let epoch = 0

  function load(key: string): Promise<V | undefined> {
    const underWay = loading.get(key)
    if (underWay) return underWay
    const work = loadNow(key)
    loading.set(key, work)
    return work
  }

  async function loadNow(key: string): Promise<V | undefined> {
    const startedIn = epoch
    // The age counts from before the query, as the row may change while the answer travels.
    const loadedAt = clock.now().getTime()
    try {
      const value = await options.load(key)
      if (startedIn !== epoch) return value
      if (value === undefined) values.delete(key)
      else values.set(key, { value, loadedAt })
      return value
    } finally {
      if (startedIn === epoch) loading.delete(key)
    }
  }

  return {
    async get(key, { maxAgeMs = limitMs } = {}) {
      const known = values.get(key)
      if (!known) return load(key)
      const age = clock.now().getTime() - known.loadedAt
      if (age >= maxAgeMs) return load(key)
      // A failed refresh reaches a caller only once the value is too old: that call loads again.
      if (age >= refreshMs) load(key).catch(() => undefined)
      return known.value
    },
    forget(matches) {
      for (const [key, { value }] of values.entries()) if (matches(value)) values.delete(key)
      loading.clear()
      epoch += 1
    },
  }
}

/** Loads when somebody first asks. A failure is not kept: the next one to ask tries again. */
export function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
}

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
