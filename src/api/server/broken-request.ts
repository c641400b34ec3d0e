import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'

import { codeOf } from '../../base/errors.ts'
import { RequestError } from '../../wire/errors.ts'
import { describeFailure } from './errors.ts'
import { newRequestId } from './headers.ts'

/**
 * Answers, on the bare connection, what never became a request: broken framing, endless headers, or
 * a body that trickles in for longer than the limit.
 */
export function answerBrokenRequest(error: Error, socket: Socket): void {
  const code = codeOf(error)
  if (code === 'ECONNRESET' || socket.destroyed) return
  if (socket.writable) {
    const requestId = newRequestId(Date.now())
    const answer = describeFailure({
      failure: failureOf(code),
      group: 'b',
      requestId,
      wantsProblem: false,
    })
    const head = [
      `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}`,
      ...Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`),
      `content-length: ${Buffer.byteLength(answer.body)}`,
      `x-request-id: ${requestId}`,
      'connection: close',
    ].join('\r\n')
    socket.write(`${head}\r\n\r\n${answer.body}`)
  }
  socket.destroySoon()
}

function failureOf(code: string | undefined): RequestError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new RequestError('request_timeout', 'The request did not arrive in time. Try again.')
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new RequestError('headers_too_large', 'The headers are too large. Send less of them.')
  }
  return new RequestError('invalid_request', 'This is not valid HTTP. Correct the request.')
}
