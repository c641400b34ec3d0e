import type { FastifyBaseLogger } from 'fastify'

import type { Logger } from '../../base/logger.ts'

/**
 * The log of one request, made when it has something to say. To strike out secrets, a logger looks
 * through what it is made with; done for each request, that took more time than its answer.
 */
export function createRequestLogger(parent: Logger, bindings: Bindings): FastifyBaseLogger {
  return new RequestLogger(parent, bindings)
}

type Bindings = Record<string, unknown>
type Level = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace'

/** A class, since one is made for each request: its methods are made once for all. */
class RequestLogger implements FastifyBaseLogger {
  readonly #parent: Logger
  readonly #bindings: Bindings
  #own: Logger | undefined

  constructor(parent: Logger, bindings: Bindings) {
    this.#parent = parent
    this.#bindings = bindings
  }

  get level(): string {
    return this.#parent.level
  }

  fatal(...line: unknown[]): void {
    this.#write('fatal', line)
  }

  error(...line: unknown[]): void {
    this.#write('error', line)
  }

  warn(...line: unknown[]): void {
    this.#write('warn', line)
  }

  info(...line: unknown[]): void {
    this.#write('info', line)
  }

  debug(...line: unknown[]): void {
    this.#write('debug', line)
  }

  trace(...line: unknown[]): void {
    this.#write('trace', line)
  }

  silent(): void {}

  child(bindings: Bindings): FastifyBaseLogger {
    return new RequestLogger(this.#parent, { ...this.#bindings, ...bindings })
  }

  #write(level: Level, line: unknown[]): void {
    if (!this.#parent.isLevelEnabled(level)) return
    this.#own ??= this.#parent.child(this.#bindings)
    // Callers of the methods above keep to the signature of the logger.
    this.#own[level](...(line as [object, string]))
  }
}

/**
 * Requests of which there can be very many, by anybody: they are counted, and the log gets no line
 * for each.
 */
const unlogged = new WeakSet<object>()

export function leaveUnlogged(request: object): void {
  unlogged.add(request)
}

export function isUnlogged(request: object): boolean {
  return unlogged.has(request)
}
