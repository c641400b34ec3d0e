import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'

import type { FastifyInstance } from 'fastify'

import { BaseError, codeOf, messageOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'

/** `variable` sets the port. An error names it, so that the operator can set another port. */
export type Where = { host: string; port: number; variable: string }

/** Makes the end of the server the end of its listeners; a server that is ready takes no hook. */
export function addListeners(server: FastifyInstance): void {
  const listeners: Server[] = []
  server.decorate(OPEN, listeners)
  server.addHook('preClose', async () => {
    await Promise.all(listeners.map(async (one) => new Promise((closed) => one.close(closed))))
  })
}

const OPEN = 'quittanceListeners'

/** Starts to listen, and resolves to the URL. */
export async function listen(server: FastifyInstance, where: Where): Promise<string> {
  // Listeners that share a port would share it with another program of the same user as well.
  await requireListenable(where)
  const listeners = server.getDecorator<Server[]>(OPEN)
  listeners.push(server.server)
  try {
    const { host, port } = where
    const shared = { backlog: limits.waitingConnections, reusePort: LISTENERS > 1 }
    const url = await server.listen({ host, port, ...shared })
    const { address, port: taken } = server.server.address() as AddressInfo
    while (listeners.length < LISTENERS) {
      const other = createServer(AS_HTTP, (socket) => server.server.emit('connection', socket))
      listeners.push(other.listen({ host: address, port: taken, ...shared }))
      await once(other, 'listening')
    }
    return url
  } catch (error) {
    throw new ListenError(where, error)
  }
}

/**
 * Node accepts one connection of a listener in each turn of the event loop, and lets no more wait
 * than the system says. With several at one port a flood is accepted, and refused, sooner.
 */
const LISTENERS = process.platform === 'linux' ? 32 : 1

/** What Node sets for a server of HTTP. */
const AS_HTTP = { allowHalfOpen: true, noDelay: true }

/** Rejects where `listen` would, before anything else is started. */
export async function requireListenable(where: Where): Promise<void> {
  const { host, port } = where
  const probe = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject).listen({ host, port }, resolve)
    })
  } catch (error) {
    throw new ListenError(where, error)
  }
  await new Promise((closed) => probe.close(closed))
}

class ListenError extends BaseError {
  constructor({ host, port, variable }: Where, cause: unknown) {
    const code = codeOf(cause)
    const sentence =
      code === 'EADDRINUSE'
        ? `Port ${port} on ${host} is in use by another program. Stop it, or set ${variable} to another port; 0 takes any free one.`
        : code === 'EACCES'
          ? `Port ${port} needs rights that this user lacks. Set ${variable} to one above 1023.`
          : `Cannot listen on ${host} (${code ?? messageOf(cause)}). Set HOST to an address of this machine.`
    super(sentence, { code: 'cannot_listen', cause, details: { host, port } })
  }
}
