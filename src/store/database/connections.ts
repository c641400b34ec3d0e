import type { Socket } from 'node:net'

import type { PostgresPool } from 'kysely'
import { Pool, type CustomTypesConfig, type PoolClient } from 'pg'

import { BaseError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { DatabaseUnavailableError, isOfConnection } from './trouble.ts'

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

/** Of a request, and of all that works beside requests. */
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

/** Connections to a server, none of which is waited for without end. */
export function openConnections(options: ConnectionsOptions): PostgresPool {
  const { url, connections, patience, types } = options
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: patience.connectMs,
    idleTimeoutMillis: limits.databaseIdleConnectionMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: limits.databaseKeepAliveMs,
    statement_timeout: patience.statementMs,
    lock_timeout: patience.lockMs,
    idle_in_transaction_session_timeout: patience.idleMs,
    application_name: 'quittance',
    // To compile the plans of our largest queries took a quarter of their time.
    options: '-c jit=off',
    types,
  })
  // An error without a listener would end the process. The pool listens only to connections that
  // nobody uses, so each reports for itself, and the pool has nothing to add.
  pool.on('connect', (client) => {
    client.on('error', options.onBroken)
    hangUp(client)
  })
  pool.on('error', () => undefined)
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      try {
        return bounded(await pool.connect(), patience.answerMs)
      } catch (error) {
        options.onRefused(error)
        throw new DatabaseUnavailableError(error)
      }
    },
  }
}

type Connection = Awaited<ReturnType<PostgresPool['connect']>>

function bounded(client: PoolClient, answerMs: number): Connection {
  const query = async (statement: string, parameters: unknown[]): Promise<unknown> => {
    const timer = answerMs > 0 ? setTimeout(() => breakOff(client, answerMs), answerMs) : undefined
    try {
      return await client.query(statement, parameters)
    } catch (error) {
      throw isOfConnection(error) ? new DatabaseUnavailableError(error) : error
    } finally {
      clearTimeout(timer)
    }
  }
  return { query: query as Connection['query'], release: (destroy) => client.release(destroy) }
}

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
function hangUp(client: PoolClient): void {
  const stream = streamOf(client)
  stream.once('finish', () => {
    const timer = setTimeout(() => stream.destroy(), limits.databaseGoodbyeMs)
    stream.once('close', () => clearTimeout(timer))
  })
}

function streamOf(client: PoolClient): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream
}
