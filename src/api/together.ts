import { RequestError } from '../wire/errors.ts'

/** What became of one of several that were done together. */
export type Outcome<T> = { ok: true; value: T } | { ok: false; error: unknown }

/**
 * Does in one go what several callers ask for at one time, and tells each what became of its own.
 * Nobody waits for others to come: those that arrive while one go is under way are the next one. A
 * go that fails as a whole is done again one by one, so that what one of them breaks is its own.
 */
export function createTogether<Item, Value>(
  go: (take: () => readonly Item[]) => Promise<ReadonlyArray<Outcome<Value>>>,
): (item: Item) => Promise<Value> {
  const waiting: Waiting<Item, Value>[] = []
  let running = 0
  // Whoever comes before a go has taken its own still goes with it.
  let isTaking = false
  const isNextDue = (): boolean => {
    if (isTaking || waiting.length === 0) return false
    isTaking = true
    return true
  }
  const take = (): Waiting<Item, Value>[] => {
    isTaking = false
    return waiting.splice(0, MAX_AT_ONCE)
  }
  const keepGoing = async (): Promise<void> => {
    do await settle(go, take)
    while (isNextDue())
    running -= 1
  }
  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= MAX_WAITING) {
        reject(tooMany())
        return
      }
      waiting.push({ item, resolve, reject })
      if (running >= GOES_AT_ONCE || !isNextDue()) return
      running += 1
      // Those whose questions to the chain were answered together come together.
      setImmediate(() => void keepGoing())
    })
}

/** While one go waits for a lock, another works. */
const GOES_AT_ONCE = 2
const MAX_AT_ONCE = 64
const MAX_WAITING = 10_000

type Waiting<Item, Value> = {
  item: Item
  resolve: (value: Value) => void
  reject: (error: unknown) => void
}

type Go<Item, Value> = Parameters<typeof createTogether<Item, Value>>[0]

/** Takes them as late as it can, for then there are more of them. */
async function settle<Item, Value>(
  go: Go<Item, Value>,
  take: () => Waiting<Item, Value>[],
): Promise<void> {
  let taken: Waiting<Item, Value>[] = []
  try {
    const outcomes = await go(() => {
      taken = take()
      return taken.map(({ item }) => item)
    })
    for (const [place, one] of taken.entries()) tell(one, outcomes[place])
  } catch (error) {
    // Before they were taken it failed for nobody else than those who wait the longest.
    if (taken.length === 0) taken = take()
    if (taken.length === 1) taken[0]?.reject(error)
    else for (const one of taken) await settle(go, () => [one])
  }
}

function tell<Item, Value>(
  { resolve, reject }: Waiting<Item, Value>,
  outcome: Outcome<Value> | undefined,
): void {
  if (outcome?.ok === true) resolve(outcome.value)
  else reject(outcome?.error ?? new TypeError('each has an outcome'))
}

function tooMany(): RequestError {
  return new RequestError('unavailable', 'Too many requests wait already. Try again in a moment.', {
    headers: { 'retry-after': '1' },
    retryable: true,
  })
}
