import type { Socket } from 'node:net'

import type { PostgresPool } from 'kysely'
import {
  Pool,
  type ClientBase,
  type CustomTypesConfig,
  type PoolClient,
  type QueryConfig,
  type QueryResult,
} from 'pg'

import { parseDatabaseAddress, type DatabaseAddress } from '../../base/database-address.ts'
import { BaseError, codeOf } from '../../base/errors.ts'
import { createGate } from '../../base/gate.ts'
import { limits } from '../../base/limits.ts'
import { createPrepared, type Prepared } from './statements.ts'
import { DatabaseUnavailableError, isOfConnection, READ_ONLY } from './trouble.ts'

/** How long a server may take, for each thing that is asked of it. */
export type Patience = {
  /** To let us in, or for another caller of this process to give a connection back. */
  connectMs: number
  /** For an answer. A connection that is silent for longer is thrown away. */
  answerMs: number
  /** For a statement, as the server measures it. */
  statementMs: number
  /** For a lock that somebody else holds. */
  lockMs: number
  /** For our next word in an open transaction; then the server ends it. */
  idleMs: number
}

/** For requests, and for all work outside of requests. */
export const PATIENCE: Patience = {
  connectMs: limits.databaseConnectTimeoutMs,
  answerMs: limits.databaseAnswerTimeoutMs,
  statementMs: limits.databaseStatementTimeoutMs,
  lockMs: limits.databaseLockTimeoutMs,
  idleMs: limits.databaseIdleTransactionMs,
}

/** What fills a new column of a large table takes longer than any request may. */
export const MIGRATION_PATIENCE: Patience = {
  ...PATIENCE,
  answerMs: 0,
  statementMs: 0,
  lockMs: 0,
}

export type ConnectionsOptions = {
  url: string
  connections: number
  patience: Patience
  types: CustomTypesConfig
  /** A connection that breaks is reported here; the next query opens another. */
  onBroken: (error: Error) => void
  /** Why there was no connection to be had. */
  onRefused: (error: unknown) => void
}

/**
 * Connections to a server, none of which is waited for without end. Of several hosts it is the one
 * that can write, which is looked for anew when the last one fails.
 */
export function openConnections(options: ConnectionsOptions): PostgresPool {
  const { hosts, needsPrimary, isPooled } = addressOf(options.url)
  const connectMs = Math.ceil(options.patience.connectMs / hosts.length)
  const pools = hosts.map((host) => {
    const pool = openPool(options, { url: host.href, connectMs, isPooled })
    return { pool, takeTurn: createTurns() }
  })
  const primaries = new WeakSet<PoolClient>()
  // Behind a pooler the next transaction has another session, which knows none of them.
  const prepared = isPooled ? undefined : createPrepared()
  const bounds = createBounds({ answerMs: options.patience.answerMs, prepared })
  const connectTo = async ({ pool, takeTurn }: (typeof pools)[number]): Promise<Connection> => {
    const endTurn = await takeTurn()
    const client = await pool.connect().catch((error: unknown) => {
      endTurn()
      throw error
    })
    const connection = bounds(client, endTurn)
    if (!needsPrimary || primaries.has(client)) return connection
    await requirePrimary(connection)
    primaries.add(client)
    return connection
  }
  let last = 0
  return {
    options: pools[0]!.pool.options,
    async end() {
      await Promise.all(pools.map(({ pool }) => pool.end()))
    },
    async connect() {
      const refusals: unknown[] = []
      for (const first = last; refusals.length < pools.length;) {
        const next = (first + refusals.length) % pools.length
        try {
          const connection = await connectTo(pools[next]!)
          last = next
          return connection
        } catch (error) {
          options.onRefused(error)
          refusals.push(error)
        }
      }
      // A standby among them may be the next primary, which is worth more than who is down.
      const standby = refusals.find((error) => codeOf(error) === READ_ONLY)
      throw new DatabaseUnavailableError(standby ?? refusals[0])
    },
  }
}

export function addressOf(url: string): DatabaseAddress {
  return (
    parseDatabaseAddress(url) ?? { hosts: [new URL(url)], needsPrimary: false, isPooled: false }
  )
}

/** A connection that dies without a word is noticed. */
export const KEPT_OPEN = {
  keepAlive: true,
  keepAliveInitialDelayMillis: limits.databaseKeepAliveMs,
  application_name: 'quittance',
}

function openPool(
  { connections, patience, types, onBroken }: ConnectionsOptions,
  { url, connectMs, isPooled }: { url: string; connectMs: number; isPooled: boolean },
): Pool {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: limits.databaseIdleConnectionMs,
    ...KEPT_OPEN,
    // A pooler in front refuses these, and its database has limits of its own.
    ...(!isPooled && ofSession(patience)),
    types,
  })
  // An error without a listener would end the process. The pool listens only to connections that
  // nobody uses, so each reports for itself, and the pool has nothing to add.
  pool.on('connect', (client) => {
    client.on('error', onBroken)
    hangUp(client)
  })
  pool.on('error', () => undefined)
  return pool
}

function ofSession({ statementMs, lockMs, idleMs }: Patience) {
  return {
    statement_timeout: statementMs,
    lock_timeout: lockMs,
    idle_in_transaction_session_timeout: idleMs,
    // To compile the plans of our largest queries took a quarter of their time.
    options: '-c jit=off',
  }
}

/**
 * Lets a few use their connections at a time. Each connection is a process of the server, with
 * plans and memory of its own, so that a crowd is served sooner by a few that are warm. A while
 * after it was asked for, a turn has begun, and counts no longer: who waits for a lock, or reads
 * for long, keeps nobody from another connection.
 */
function createTurns(): () => Promise<() => void> {
  const gate = createGate({ width: limits.databaseTurns, maxWaiting: Infinity })
  return async () => {
    const begun = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      begun.resolve()
      ended.resolve()
    }, limits.databaseTurnMs)
    void gate.run(() => {
      begun.resolve()
      return ended.promise
    })
    await begun.promise
    return () => {
      clearTimeout(timer)
      ended.resolve()
    }
  }
}

/** Of one that only reads nothing is kept: it may write the next time it is asked. */
async function requirePrimary(connection: Connection): Promise<void> {
  let mode: unknown
  try {
    const { rows } = await connection.query<{ transaction_read_only: string }>(
      'show transaction_read_only',
      [],
    )
    mode = rows[0]?.transaction_read_only
  } finally {
    if (mode !== 'off') connection.release(true)
  }
  if (mode !== 'off') throw new StandbyError()
}

type Connection = Awaited<ReturnType<PostgresPool['connect']>>

type Bounds = { answerMs: number; prepared: Prepared | undefined; namesReads?: boolean }

/**
 * Makes connections that wait no longer than they may, and name what they ask again and again. A
 * client has one for all who borrow it, since Kysely keeps something for each that it is given.
 */
export function createBounds(
  options: Bounds,
): (client: PoolClient, onReleased?: () => void) => Connection {
  const lenders = new WeakMap<PoolClient, (onReleased: () => void) => Connection>()
  return (client, onReleased = () => undefined) => {
    const lend = lenders.get(client) ?? createLender(client, options)
    lenders.set(client, lend)
    return lend(onReleased)
  }
}

function createLender(
  client: PoolClient,
  { answerMs, prepared, namesReads = false }: Bounds,
): (onReleased: () => void) => Connection {
  let isUseless = false
  let isInTransaction = false
  let released: () => void
  const query = async (text: string, values: unknown[]): Promise<unknown> => {
    isInTransaction ||= BEGIN.test(text)
    const isPrepared = (isInTransaction || namesReads) && values.length > 0
    const name = isPrepared ? prepared?.nameOf(text) : undefined
    const timer = answerMs > 0 ? setTimeout(() => breakOff(client, answerMs), answerMs) : undefined
    try {
      return await ask(client, name === undefined ? { text, values } : { name, text, values })
    } catch (error) {
      const isLost = name !== undefined && prepared?.isLost(error) === true
      isUseless ||= isLost || codeOf(error) === READ_ONLY
      throw isLost || isOfConnection(error) ? new DatabaseUnavailableError(error) : error
    } finally {
      clearTimeout(timer)
    }
  }
  const connection: Connection = {
    query: query as Connection['query'],
    release(destroy) {
      client.release(destroy || isUseless)
      released()
    },
  }
  return (onReleased) => {
    isInTransaction = false
    released = onReleased
    return connection
  }
}

/**
 * By a callback: behind the driver's own promise, a query that is under way when garbage is
 * collected keeps all that follow it until the next full collection. Each small one then copied
 * 4 to 8 MB, and stopped a busy process for up to 43 ms.
 */
function ask(client: PoolClient, query: QueryConfig): Promise<QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<QueryResult>()
  client.query(query, (error, result) => (error ? reject(error) : resolve(result)))
  return promise
}

/** The caller that begins a transaction gives the connection back at its end. */
const BEGIN = /^(begin|start transaction)\b/

/**
 * The query that waits fails, and so does what follows on the connection, such as a rollback. The
 * pool throws it away, since it can serve nobody any more.
 */
function breakOff(client: PoolClient, answerMs: number): void {
  streamOf(client).destroy(
    new BaseError(`The connection was silent for ${answerMs / 1000} s.`, {
      code: 'database_silent',
    }),
  )
}

/**
 * The driver waits without end for a server to answer our goodbye, and its socket would keep a
 * program that has stopped.
 */
export function hangUp(client: ClientBase): void {
  const stream = streamOf(client)
  stream.once('finish', () => {
    const timer = setTimeout(() => stream.destroy(), limits.databaseGoodbyeMs)
    stream.once('close', () => clearTimeout(timer))
  })
}

function streamOf(client: ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream
}

class StandbyError extends BaseError {
  constructor() {
    super('This server is a standby, which accepts no writes.', {
      code: READ_ONLY,
      retryable: true,
    })
  }
}
