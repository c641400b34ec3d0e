import type { FastifyInstance } from 'fastify'

import { RequestError } from '../../wire/errors.ts'
import { parseJson, type JsonValue } from '../../wire/json.ts'

/**
 * Leaves one way to read a body: whole and as bytes, whatever the type says it is. The framework
 * ends the connection when its own parsing fails, and a slip in a body does not justify that.
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

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeText(body: Buffer): string {
  try {
    return decoder.decode(body)
  } catch {
    throw new RequestError('invalid_request', 'The body is not UTF-8. Send it in UTF-8.', {
      problems: [
        { field: 'body', code: 'malformed_text', message: 'This is not UTF-8. Send it in UTF-8.' },
      ],
    })
  }
}
