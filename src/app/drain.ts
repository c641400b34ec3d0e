import type { Server } from 'node:http'
import type { Socket } from 'node:net'

import type { Config } from '../base/config.ts'
import { limits } from '../base/limits.ts'
import type { Logger } from '../base/logger.ts'

type Closable = { server: Server; close: () => PromiseLike<unknown> }

/** How a server ends without cutting what was begun. */
export type Drain = {
  /** Aborts when nothing new is begun any more, which ends the streams of events. */
  closing: AbortSignal
  /**
   * For a server that does not listen yet. What it returns serves on for as long as balancers need
   * to turn away, then lets what was begun end.
   */
  closerOf: (server: Closable) => () => Promise<void>
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
    closerOf({ server, close }) {
      const sockets = new Set<Socket>()
      server.on('connection', (socket: Socket) => {
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
      })
      return async () => {
        await new Promise((over) => setTimeout(over, config.drainMs))
        closing.abort()
        const timer = setTimeout(() => {
          logger.warn(`Requests that took over ${limitMs / 1000} s to end were cut.`)
          server.closeAllConnections()
        }, limitMs)
        const sweep = setInterval(() => closeUnused(server, sockets), SWEEP_MS)
        try {
          await close()
        } finally {
          clearInterval(sweep)
          clearTimeout(timer)
        }
      }
    },
  }
}

/**
 * A client keeps the connection of an answer that has ended, and a browser one or two on which it
 * has asked nothing. The server would wait for both.
 */
function closeUnused(server: Server, sockets: ReadonlySet<Socket>): void {
  server.closeIdleConnections()
  for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
}

const SWEEP_MS = 100
