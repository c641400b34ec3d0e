import type { EventPage, PlatformEvent } from './platform-types.ts'
import { sleep, type Runtime } from './runtime.ts'
import type { CallOptions } from './transport.ts'

/** Where to begin following events, and how often to look when there are none. */
export type FollowOptions = CallOptions & {
  /** The `next_after` from which to go on; absent for the oldest event. */
  after?: string | undefined
  /** How long to wait where nothing is new. */
  pollMs?: number | undefined
}

/** Every event, and those to come, until the signal ends it with an `aborted` error. */
export async function* followEvents(
  runtime: Runtime,
  read: (after: string) => Promise<EventPage>,
  options: FollowOptions,
): AsyncGenerator<PlatformEvent, void, undefined> {
  let after = options.after ?? ''
  for (;;) {
    const { events, next_after, has_more } = await read(after)
    yield* events
    // A server that says there is more but does not move on is asked no faster than others.
    if (!has_more || next_after === after) {
      await sleep(runtime, options.pollMs ?? DEFAULT_POLL_MS, options.signal)
    }
    after = next_after
  }
}

const DEFAULT_POLL_MS = 1000
