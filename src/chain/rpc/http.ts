import { BaseError, codeOf } from '../../base/errors.ts'

/** JSON that is sent by POST. */
export type JsonExchange = {
  url: string
  json: object
  timeoutMs: number
  maxAnswerBytes: number
  signal?: AbortSignal | undefined
}

/** Without JSON and without a text it is a GET. */
export type HttpExchange = Omit<JsonExchange, 'json'> & {
  json?: object
  /** In addition to those that follow from the address and the body. */
  headers?: Readonly<Record<string, string>>
  /** A body that is not JSON, sent by POST; the headers contain its type. */
  text?: string
}

export type HttpAnswer = {
  status: number
  ok: boolean
  text: string
  /** How long the server asked to be left alone. */
  retryAfterMs: number | undefined
}

/** One request whose answer is bounded in time and size. No error of it quotes the address. */
export type Exchange = (options: JsonExchange) => Promise<HttpAnswer>

/** For the caller to put into words: the message is only the reason. */
export class HttpError extends BaseError {
  override readonly name = 'HttpError'
  declare readonly code: HttpErrorCode

  constructor(code: HttpErrorCode, reason: string) {
    super(reason, { code, retryable: code === 'timeout' || code === 'unreachable' })
  }
}

export type HttpErrorCode = 'aborted' | 'timeout' | 'unreachable' | 'answer_too_large'

export function aborted(): HttpError {
  return new HttpError('aborted', 'the wait was ended')
}

export function timedOut(ms: number): HttpError {
  return new HttpError('timeout', `no answer within ${ms} ms`)
}

export function tooLarge(maxBytes: number): HttpError {
  return new HttpError('answer_too_large', `its answer is larger than ${maxBytes} bytes`)
}

/** The words of the error may quote the address, so its code must do. */
export function unreachable(error: unknown): HttpError {
  return new HttpError('unreachable', codeOf(error) ?? 'the connection failed')
}
