import { Duplex } from 'node:stream'

import type { PGlite } from '@electric-sql/pglite'
import type { PostgresPool } from 'kysely'
import { Pool, type CustomTypesConfig } from 'pg'

import { createBounds } from './connections.ts'
import { createPrepared } from './statements.ts'

/**
 * The one connection to the database in this process. The driver for servers speaks to it: PGlite's
 * own interface sends six messages for a statement, one by one, and plans it each time. A plan
 * takes longer here than what it plans, so that reads are named as well.
 */
export function openEmbeddedConnection(pglite: PGlite, types: CustomTypesConfig): PostgresPool {
  const pool = new Pool({
    max: 1,
    idleTimeoutMillis: 0,
    user: 'postgres',
    database: 'postgres',
    stream: () => new Line(pglite),
    types,
  })
  // An error without a listener would end the process. The caller has it from the query.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  pool.on('error', () => undefined)
  const bounds = createBounds({ answerMs: 0, prepared: createPrepared(), namesReads: true })
  return {
    options: pool.options,
    end: () => pool.end(),
    connect: async () => bounds(await pool.connect()),
  }
}

/**
 * For how long statements follow each other without a turn of the event loop. Work of many must not
 * stop all other work; with a turn after each statement, a transaction would keep everybody waiting
 * while other work goes on.
 */
const SLICE_MS = 8

/**
 * What arrives in a turn of the event loop asks its own questions of the chain at the end of that
 * turn. They are on their way before statements follow each other again, so that they are answered
 * meanwhile.
 */
function afterNews(work: () => void): void {
  setImmediate(() => setImmediate(work))
}

/** What the driver takes for the socket of a server. */
class Line extends Duplex {
  readonly #pglite: PGlite
  #turnedAt = 0

  constructor(pglite: PGlite) {
    super()
    this.#pglite = pglite
  }

  connect(): this {
    const forget = this.#pglite.exec('deallocate all')
    forget.then(
      () => this.emit('connect'),
      (error: Error) => this.destroy(error),
    )
    return this
  }

  // A socket has these as well. Within a process they do nothing.
  setNoDelay = (): this => this
  ref = (): this => this
  unref = (): this => this

  override _read(): void {
    // Each answer is pushed when it is there.
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    // The driver writes all messages of a statement at once.
    const message = Buffer.concat(chunks.map(({ chunk }) => chunk))
    const answer = (): void => {
      this.#answer(message).then(
        () => process.nextTick(done),
        (error: Error) => process.nextTick(done, error),
      )
    }
    if (performance.now() - this.#turnedAt < SLICE_MS) return answer()
    afterNews(() => {
      this.#turnedAt = performance.now()
      answer()
    })
  }

  async #answer(message: Buffer): Promise<void> {
    this.push(await this.#ask(message))
  }

  /** What is not taken as it is answered is parsed by PGlite too, and kept with all before. */
  async #ask(message: Buffer): Promise<Buffer> {
    // The first one of a connection has no type.
    if (message[0] === 0) return Buffer.from(await this.#pglite.execProtocolRaw(message))
    const parts: Buffer[] = []
    const onRawData = (part: Uint8Array): void => void parts.push(Buffer.from(part))
    await this.#pglite.execProtocolRawStream(message, { onRawData })
    return Buffer.concat(parts)
  }

  override _final(done: () => void): void {
    this.push(null)
    done()
  }
}
