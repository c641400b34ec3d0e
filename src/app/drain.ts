import type { Config } from '../base/config.ts'
import { limits } from '../base/limits.ts'
import type { Logger } from '../base/logger.ts'

type Closable = {
  server: { closeAllConnections: () => void; closeIdleConnections: () => void }
  close: () => PromiseLike<unknown>
}

/** How a server ends without cutting what was begun. */
export type Drain = {
  /** Aborts when nothing new is begun any more, which ends the streams of events. */
  closing: AbortSignal
  /** Serves on for as long as balancers need to turn away, then lets what was begun end. */
  close: (server: Closable) => Promise<void>
}

export function createDrain(options: {
  config: Pick<Config, 'drainMs'>
  logger: Logger
  /** A test has less patience. */
  limitMs?: number
}): Drain {
  const { config, logger, limitMs = limits.drainMs } = options
  const closing = new AbortController()
  return {
    closing: closing.signal,
    async close(server) {
      await new Promise((over) => setTimeout(over, config.drainMs))
      closing.abort()
      const timer = setTimeout(() => {
        logger.warn(`Requests that took over ${limitMs / 1000} s to end were cut.`)
        server.server.closeAllConnections()
      }, limitMs)
      // A client keeps the connection of an answer that has ended, and the server waits for it.
      const sweep = setInterval(() => server.server.closeIdleConnections(), SWEEP_MS)
      try {
        await server.close()
      } finally {
        clearInterval(sweep)
        clearTimeout(timer)
      }
    },
  }
}

const SWEEP_MS = 100
