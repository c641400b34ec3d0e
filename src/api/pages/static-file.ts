import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

import type { FastifyReply, FastifyRequest } from 'fastify'

import { once } from '../../base/cache.ts'

/** A body that stays the same, sent as small as the client takes it, and once to each. */
export type StaticFile = {
  send: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>
}

export function createStaticFile(options: {
  type: string
  cacheControl: string
  /** Loaded and compressed when somebody first asks. */
  load: () => Promise<Uint8Array | string>
}): StaticFile {
  const prepared = once(async () => prepare(await options.load()))
  return {
    async send(request, reply) {
      const { etag, bodies } = await prepared()
      const encoding = encodingFor(request.headers['accept-encoding'])
      const tag = `"${etag}-${encoding}"`
      reply.headers({ etag: tag, vary: 'accept-encoding', 'cache-control': options.cacheControl })
      if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send()
      if (encoding !== 'identity') reply.header('content-encoding', encoding)
      return reply.type(options.type).send(await bodies[encoding]())
    },
  }
}

type Encoding = 'br' | 'gzip' | 'identity'

/** Compressed when somebody first takes it so: a large one takes long enough. */
function prepare(content: Uint8Array | string) {
  const identity = Buffer.from(content)
  const bodies = {
    identity: async () => identity,
    br: once(() => promisify(brotliCompress)(identity, { params: BROTLI })),
    gzip: once(() => promisify(gzip)(identity, { level: 9 })),
  } satisfies Record<Encoding, () => Promise<Buffer>>
  const etag = createHash('sha256').update(identity).digest('base64url').slice(0, 22)
  return { etag, bodies }
}

/** Quality 9 takes three times as long, and makes a large program 2 % smaller. */
const BROTLI = { [constants.BROTLI_PARAM_QUALITY]: 6 }

function encodingFor(accepted: string | string[] | undefined): Encoding {
  const names = String(accepted ?? '')
    .split(',')
    .filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part))
    .map((part) => part.split(';', 1)[0]?.trim().toLowerCase())
  if (names.includes('br')) return 'br'
  return names.includes('gzip') ? 'gzip' : 'identity'
}

/** A proxy may mark the tag as weak; the bytes it stands for are the same. */
function isKnown(header: string | undefined, tag: string): boolean {
  return (header ?? '').split(',').some((part) => {
    const known = part.trim().replace(/^W\//, '')
    return known === tag || known === '*'
  })
}
