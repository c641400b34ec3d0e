/**
 * Lets so many requests in at once and keeps the others waiting, each caller in a queue of its own.
 * The callers take turns, so that one who floods waits behind its own requests only. One for whom
 * the wait would be too long is refused at once.
 */
export type Lane = {
  enter: (caller: string) => Promise<Entry>
  counts: () => { inside: number; waiting: number }
}

/** `leave` may be called more than once. */
export type Entry = { isIn: true; leave: () => void } | { isIn: false; waitMs: number }

export type LaneOptions = {
  /** Requests inside at once; one caller may have half of them. */
  width: number
  /** Where requests take longer, fewer are inside: what stands inside too long waits as well. */
  aimMs?: number
  maxWaiting: number
  /** A request that would wait for longer is refused at once, and one that waits far longer too. */
  maxWaitMs: number
  /** Milliseconds of a clock that never goes back. */
  now: () => number
  /** By how much the event loop is late: so long a request has waited before it comes here. */
  delayMs: () => number
}

export function createLane(options: LaneOptions): Lane {
  const { now } = options
  const state = createState(options)
  const widthNow = (): number => Math.floor(state.width)
  const watch = createWatch(state, options)

  function letIn(caller: Caller): Entry {
    state.inside += 1
    caller.inside += 1
    const startedAt = now()
    let isInside = true
    const leave = (): void => {
      if (!isInside) return
      isInside = false
      state.serviceMs += (now() - startedAt - state.serviceMs) * WEIGHT
      adapt(state, options)
      // A place is given away at the end of a turn of the event loop. So no more than `width` quick
      // requests are answered in one turn, and those that wait for a database get the next.
      if (state.left.push(caller) === 1) setImmediate(giveAway)
    }
    return { isIn: true, leave }
  }

  function giveAway(): void {
    takeBack(state)
    const width = widthNow()
    for (const caller of state.turns) {
      if (state.inside >= width) return
      // Taken out and put in again, it is the last one in the order.
      state.turns.delete(caller)
      state.waiting -= 1
      caller.queue.shift()?.resolve(letIn(caller))
      if (caller.queue.length > 0 && caller.inside < shareOf(width)) state.turns.add(caller)
    }
  }

  return {
    async enter(name) {
      const caller = state.callers.get(name) ?? { name, inside: 0, queue: [] }
      const width = widthNow()
      const share = shareOf(width)
      const hasRoom = state.inside < width && caller.inside < share
      if (hasRoom && state.turns.size === 0) {
        state.callers.set(name, caller)
        return letIn(caller)
      }
      const waitMs = options.delayMs() + estimateMs(state, caller, { width, share })
      // Each may fill half of what is left, so that there always is a place for one more.
      const isFull = caller.queue.length >= options.maxWaiting - state.waiting
      if (isFull || waitMs > options.maxWaitMs) return { isIn: false, waitMs }
      state.callers.set(name, caller)
      return new Promise((resolve) => {
        caller.queue.push({ resolve, since: now() })
        state.waiting += 1
        if (caller.inside < share) state.turns.add(caller)
        watch()
      })
    },
    counts: () => ({ inside: state.inside, waiting: state.waiting }),
  }
}

function createState(options: LaneOptions): State {
  return {
    callers: new Map(),
    turns: new Set(),
    left: [],
    inside: 0,
    waiting: 0,
    serviceMs: FIRST_SERVICE_MS,
    isSweeping: false,
    width: options.aimMs === undefined ? options.width : leastOf(options),
    narrowedAt: -Infinity,
  }
}

/**
 * As TCP finds its window: while requests take less than the aim it is one more with each round,
 * at first with each request, and a fifth fewer, once in that time, while they take more.
 */
function adapt(state: State, options: LaneOptions): void {
  const { aimMs = Infinity, width, now } = options
  if (state.serviceMs <= aimMs) {
    // Nothing is learned of a width that nobody needs.
    if (state.waiting === 0 && state.inside < Math.floor(state.width)) return
    const step = state.narrowedAt === -Infinity ? 1 : 1 / state.width
    state.width = Math.min(state.width + step, width)
  } else if (now() - state.narrowedAt > aimMs) {
    state.width = Math.max(state.width * 0.8, leastOf(options))
    state.narrowedAt = now()
  }
}

/**
 * What waits for others is not done sooner by being alone. Of one place half would be all of it:
 * with two a caller that fills its share leaves one.
 */
function leastOf({ width }: LaneOptions): number {
  return Math.min(Math.max(Math.ceil(width / 8), 2), width)
}

/** The places of those who have left in this turn. */
function takeBack(state: State): void {
  for (const caller of state.left.splice(0)) {
    state.inside -= 1
    caller.inside -= 1
    if (caller.queue.length > 0) state.turns.add(caller)
    else forgetIdle(state, caller)
  }
}

/** Looks after those who wait, for as long as there are any. */
function createWatch(state: State, { now, maxWaitMs }: LaneOptions): () => void {
  const sweep = (): void => {
    state.isSweeping = false
    refuseLate(state, { now: now(), maxWaitMs: maxWaitMs * LATE })
    watch()
  }
  const watch = (): void => {
    if (state.isSweeping || state.waiting === 0) return
    state.isSweeping = true
    // A program lives on for the connections of those who wait, and not for this timer.
    setTimeout(sweep, SWEEP_MS).unref()
  }
  return watch
}

/** Of the places, for one caller. */
function shareOf(width: number): number {
  return Math.ceil(width / 2)
}

/** What a request is taken to need until some have been measured. */
const FIRST_SERVICE_MS = 20
/** Of each new measurement in the mean. */
const WEIGHT = 0.1
const SWEEP_MS = 100
/** So many times as long as anybody should, before the estimate is given up. */
const LATE = 3

type State = {
  /** Those with something inside or waiting. */
  callers: Map<string, Caller>
  /** Those who wait and have less than their share inside, in the order of their turns. */
  turns: Set<Caller>
  /** Who has left in this turn of the event loop. */
  left: Caller[]
  inside: number
  waiting: number
  /** From the way in to the way out, a moving mean. */
  serviceMs: number
  isSweeping: boolean
  /** So many may be inside at present; a fraction counts when it has become one. */
  width: number
  narrowedAt: number
}

type Caller = { name: string; inside: number; queue: Waiting[] }

type Waiting = { resolve: (entry: Entry) => void; since: number }

/**
 * The places are free again at a rate of `width` in the mean time of a request. Before one more of
 * a caller its own stand, and no more of each other caller than of its own.
 */
function estimateMs(
  { waiting, turns, serviceMs }: State,
  { queue }: Caller,
  { width, share }: { width: number; share: number },
): number {
  const ahead = Math.min(waiting, (queue.length + 1) * (turns.size + 1))
  return serviceMs * Math.max((ahead + 1) / width, (queue.length + 1) / share)
}

/**
 * Refuses requests whose estimate was wrong: those that have waited for too long and, from the ends
 * of the queues, those that would.
 */
function refuseLate(state: State, { now, maxWaitMs }: { now: number; maxWaitMs: number }): void {
  const width = Math.floor(state.width)
  const refuse = (one: Waiting | undefined): void => {
    if (one === undefined) return
    state.waiting -= 1
    one.resolve({ isIn: false, waitMs: maxWaitMs })
  }
  for (const caller of state.callers.values()) {
    const { queue } = caller
    while (queue[0] && now - queue[0].since > maxWaitMs) refuse(queue.shift())
    for (let last = queue.at(-1); last; last = queue.at(-1)) {
      const leftMs = estimateMs(state, caller, { width, share: shareOf(width) })
      if (now - last.since + leftMs <= maxWaitMs) break
      refuse(queue.pop())
    }
    if (queue.length > 0) continue
    state.turns.delete(caller)
    forgetIdle(state, caller)
  }
}

function forgetIdle({ callers }: State, caller: Caller): void {
  if (caller.inside === 0 && caller.queue.length === 0) callers.delete(caller.name)
}
