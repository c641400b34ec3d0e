export type BaseErrorOptions = {
  /** Stable and machine-readable; callers branch on it. */
  code: string
  /** True when the same call may succeed later without any change by the caller. */
  retryable?: boolean
  cause?: unknown
  details?: Readonly<Record<string, unknown>>
}

/**
 * The one error of the product: a code for programs, and a sentence that says what happened, then
 * what to do.
 */
export class BaseError extends Error {
  override readonly name: string = 'BaseError'
  readonly code: string
  readonly retryable: boolean
  readonly details: Readonly<Record<string, unknown>>

  constructor(message: string, options: BaseErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = options.code
    this.retryable = options.retryable ?? false
    this.details = options.details ?? {}
  }
}

/** Cannot be while the code around it keeps its word: a defect of ours, and nobody else's. */
export class ImpossibleError extends BaseError {
  constructor(message: string) {
    super(message, { code: 'impossible' })
  }
}

/** Readable text of anything that was thrown, for a log line or a terminal. */
export function messageOf(error: unknown): string {
  const facts = databaseFactsOf(error)
  if (facts !== undefined) return `The database failed with ${Object.values(facts).join(' ')}`
  if (error instanceof Error) return error.message
  return typeof error === 'string' ? error : JSON.stringify(error)
}

/** What may be known of an error of the database: a code of SQL, and where it happened. */
export type DatabaseFacts = { code: string; table?: string; constraint?: string }

/**
 * The facts of an error of either driver, undefined for any other. Its message, detail and
 * parameters are left out. They quote what was to be stored: secrets, and transactions that any
 * reader could send.
 */
export function databaseFactsOf(error: unknown): DatabaseFacts | undefined {
  if (!(error instanceof Error)) return undefined
  if (!('severity' in error || 'params' in error || 'routine' in error)) return undefined
  const { table, constraint } = error as { table?: unknown; constraint?: unknown }
  return {
    code: codeOf(error) ?? 'unknown',
    ...(typeof table === 'string' && { table }),
    ...(typeof constraint === 'string' && { constraint }),
  }
}

/**
 * The code of a system's, a driver's or our own error, undefined for anything that carries none.
 */
export function codeOf(error: unknown): string | undefined {
  const code: unknown = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/** Says what a setting must be. The code that reads the setting adds its name and its value. */
export class BadValue extends Error {}

/** What came of one of several that are done together. */
export type Result<T> = { ok: true; value: T } | { ok: false; error: unknown }
