import { BaseError } from '../base/errors.ts'

/**
 * The platform's `fetch` for libraries that would read whatever comes: no redirects, and no answer
 * beyond a bound.
 */
export async function readBounded(
  input: string | URL | Request,
  init?: RequestInit,
): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: 'error' })
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the rest of the answer.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > MAX_ANSWER_BYTES) throw new AnswerTooLargeError()
    chunks.push(chunk)
  }
  const { status, headers } = response
  const isEmpty = status === 204 || status === 304
  return new Response(isEmpty ? null : Buffer.concat(chunks), { status, headers })
}

const MAX_ANSWER_BYTES = 256 * 1024

class AnswerTooLargeError extends BaseError {
  constructor() {
    super(`The answer has more than ${MAX_ANSWER_BYTES / 1024} KB, and was not read.`, {
      code: 'answer_too_large',
    })
  }
}
