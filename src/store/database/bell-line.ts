import { randomUUID } from 'node:crypto'

import { sql } from 'kysely'
import { Client } from 'pg'

import type { Bells } from '../../base/bells.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Logger } from '../../base/logger.ts'
import { addressOf, hangUp, KEPT_OPEN } from './connections.ts'
import type { Db } from './database.ts'

export type BellLineDeps = {
  url: string
  db: Db
  clock: Clock
  logger: Logger
  signal: AbortSignal
}

/**
 * Carries rings between the processes that share a server, by NOTIFY. The NOTIFY runs outside the
 * transaction that made the work: inside it, it would hold up the commits of all others. PgBouncer
 * keeps no session that could listen, so behind it each process only polls.
 */
export async function runBellLine(bells: Bells, deps: BellLineDeps): Promise<void> {
  const { hosts, isPooled } = addressOf(deps.url)
  bells.setHeard(false)
  if (isPooled) return
  const own = randomUUID()
  bells.carry(carrier(deps, own))
  while (!deps.signal.aborted) {
    for (const host of hosts) {
      await listenAt(host, deps, {
        onListening: () => bells.setHeard(true),
        onRing(payload) {
          const [, from, name] = /^(\S+) (.+)$/.exec(payload) ?? []
          if (from !== own && name !== undefined) bells.ringHere(name)
        },
      })
      bells.setHeard(false)
    }
    await deps.clock.sleep(RECONNECT_MS, deps.signal)
  }
}

/** Sends a ring at once. Rings that follow within `QUIET_MS` are sent as one, at its end. */
function carrier({ db, logger }: BellLineDeps, own: string): (name: string) => void {
  const waiting = new Map<string, boolean>()
  const tell = (name: string): void => {
    waiting.set(name, false)
    sql`select pg_notify(${CHANNEL}, ${`${own} ${name}`})`.execute(db).catch((error: unknown) => {
      logger.debug({ bell: name, reason: messageOf(error) }, 'a ring was not carried')
    })
    setTimeout(() => {
      const isRungAgain = waiting.get(name)
      waiting.delete(name)
      if (isRungAgain) tell(name)
    }, QUIET_MS).unref()
  }
  return (name) => {
    if (waiting.has(name)) waiting.set(name, true)
    else tell(name)
  }
}

/** Resolves when either side has ended the connection. */
async function listenAt(
  host: URL,
  { logger, signal }: BellLineDeps,
  { onListening, onRing }: { onListening: () => void; onRing: (payload: string) => void },
): Promise<void> {
  const client = new Client({
    connectionString: host.href,
    connectionTimeoutMillis: limits.databaseConnectTimeoutMs,
    ...KEPT_OPEN,
  })
  const ended = new Promise<void>((resolve) => client.once('end', () => resolve()))
  client.on('error', (error) => {
    logger.debug({ reason: messageOf(error) }, 'the connection that listens broke')
  })
  client.on('notification', ({ payload = '' }) => onRing(payload))
  const leave = (): void => void client.end().catch(() => undefined)
  signal.addEventListener('abort', leave)
  try {
    await client.connect()
    hangUp(client)
    // A standby passes nothing on: it refuses to listen, and the next host is asked.
    await client.query(`listen ${CHANNEL}`)
    onListening()
    if (!signal.aborted) await ended
  } catch (error) {
    logger.debug({ reason: messageOf(error) }, 'no connection to listen on')
  } finally {
    signal.removeEventListener('abort', leave)
    leave()
  }
}

const CHANNEL = 'quittance'
const QUIET_MS = 50
const RECONNECT_MS = 1000
