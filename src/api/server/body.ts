import type { IncomingHttpHeaders } from 'node:http'

import type { FastifyInstance } from 'fastify'

import { RequestError } from '../../wire/errors.ts'
import { parseJson, type JsonValue } from '../../wire/json.ts'

/**
 * Leaves one way to read a body: whole and as bytes, whatever the type says it is. The framework
 * ends the connection when its own parsing fails, and a slip in a body is no reason for that.
 */
export function addBodyParser(server: FastifyInstance): void {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser(
    '*',
    { parseAs: 'buffer' },
    async (_request: unknown, body: Buffer) => body,
  )
}

/** The body by our own strict rules; undefined where none was sent. */
export function readBody(body: unknown): JsonValue | undefined {
  return Buffer.isBuffer(body) ? parseJson(decodeText(body)) : undefined
}

/** Refuses, before the body is read, what is not declared as JSON in UTF-8. */
export function checkMediaType(headers: IncomingHttpHeaders): void {
  const hasBody =
    headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
  const type = headers['content-type']
  if (!hasBody && type === undefined) return
  const encoding = headers['content-encoding'] ?? 'identity'
  if (type === undefined || !JSON_TYPE.test(type) || encoding.toLowerCase() !== 'identity') {
    throw new RequestError(
      'unsupported_media_type',
      'The body must be JSON in UTF-8, not compressed. Send it as Content-Type: application/json.',
    )
  }
}

/**
 * One grammar, so that no two readers of the header can disagree on it: a tab or a second parameter
 * has hidden a body from checks before.
 */
const JSON_TYPE = /^application\/json *(?:; *charset=(?:utf-8|"utf-8") *)?$/i

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeText(body: Buffer): string {
  try {
    return decoder.decode(body)
  } catch {
    throw new RequestError('invalid_request', 'The body is not UTF-8. Send it in this encoding.', {
      problems: [{ field: 'body', code: 'malformed_text', message: 'This is not UTF-8.' }],
    })
  }
}
