import type { StreamEventWire } from '../wire/group-b/admin.ts'
import { ApiFailure, type Api } from './api.ts'

/** `live`: what happens is seen at once. `lost`: since then nothing is, and it tries again. */
export type Connection = { state: 'connecting' | 'live' } | { state: 'lost'; since: Date }

export type StreamOptions = {
  api: Pick<Api, 'open'>
  onEvent: (event: StreamEventWire) => void
  onConnection: (connection: Connection) => void
  signal: AbortSignal
  /** Where the browser says that it has its network again. */
  network?: EventTarget
  /** Tests have less patience. */
  pauses?: { firstMs: number; mostMs: number; silenceMs: number }
}

/**
 * Follows the platform's events until the signal aborts. A connection that breaks, or says nothing
 * for too long, is made again, and goes on after the last event that came: none is lost.
 */
export async function followStream(options: StreamOptions): Promise<void> {
  const { signal, onConnection, pauses = PAUSES } = options
  let lastEventId = ''
  let pauseMs = pauses.firstMs
  let lostSince: Date | undefined
  while (!signal.aborted) {
    try {
      await readOnce(options, {
        lastEventId,
        silenceMs: pauses.silenceMs,
        onId: (id) => {
          lastEventId = id
          lostSince = undefined
          pauseMs = pauses.firstMs
          onConnection({ state: 'live' })
        },
      })
    } catch (error) {
      if (signal.aborted || (error instanceof ApiFailure && error.status === 401)) return
      // The place is one that this platform does not know: its log was begun anew.
      if (error instanceof ApiFailure && error.status === 400) lastEventId = ''
      lostSince ??= new Date()
      onConnection({ state: 'lost', since: lostSince })
    }
    await pause(pauseMs, options)
    pauseMs = Math.min(pauseMs * 2, pauses.mostMs)
  }
}

/** The platform says something every 10 seconds. */
const PAUSES = { firstMs: 500, mostMs: 10_000, silenceMs: 25_000 }

type Reading = { lastEventId: string; silenceMs: number; onId: (id: string) => void }

async function readOnce(options: StreamOptions, reading: Reading): Promise<void> {
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), reading.silenceMs)
  const signal = AbortSignal.any([options.signal, silence.signal])
  const headers: Record<string, string> =
    reading.lastEventId === '' ? {} : { 'last-event-id': reading.lastEventId }
  try {
    const response = await options.api.open('/api/stream', { headers, signal })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    const parser = createEventParser()
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
      if (done) return
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), reading.silenceMs)
      for (const message of parser.feed(value ?? '')) {
        if (message.data !== '') options.onEvent(JSON.parse(message.data) as StreamEventWire)
        reading.onId(message.id)
      }
    }
  } finally {
    clearTimeout(timer)
  }
}

/** One event of the stream; a heartbeat has no data. */
export type Message = { id: string; data: string }

/** Reads the form of server-sent events, however the text is cut into pieces. */
export function createEventParser(): { feed: (piece: string) => Message[] } {
  let rest = ''
  let id = ''
  return {
    feed(piece) {
      const blocks = (rest + piece).split('\n\n')
      rest = blocks.pop() ?? ''
      return blocks.map((block) => {
        const lines = block.split('\n')
        id = lines.findLast((line) => line.startsWith('id: '))?.slice(4) ?? id
        const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6))
        return { id, data: data.join('\n') }
      })
    },
  }
}

/** A browser that finds its network again does not wait for the end of the pause. */
function pause(ms: number, { signal, network }: StreamOptions): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      network?.removeEventListener('online', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    network?.addEventListener('online', done)
    signal.addEventListener('abort', done)
  })
}
