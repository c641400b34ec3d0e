import { createReadStream } from 'node:fs'

/** A line without its end, with its number and the offset of the byte behind its end. */
export type Line = { number: number; text: string; end: number }

export const MAX_LINE_BYTES = 128 * 1024

/**
 * The lines of a file, from a place that an earlier line ended at. A line that is too long is cut,
 * so that a file without line breaks does not fill the memory.
 */
export async function* readLines(
  path: string,
  options: { start: number; number: number; signal: AbortSignal },
): AsyncGenerator<Line> {
  const { signal } = options
  let { start: end, number } = options
  let held: Buffer[] = []
  let heldBytes = 0
  const take = (last: Buffer): Line => {
    number += 1
    end += 1
    const text = Buffer.concat([...held, last]).toString('utf8')
    held = []
    heldBytes = 0
    return { number, text, end }
  }
  const hold = (part: Buffer): void => {
    const room = MAX_LINE_BYTES - heldBytes
    if (room > 0) held.push(part.subarray(0, room))
    heldBytes += Math.min(part.length, Math.max(room, 0))
    end += part.length
  }
  const stream = createReadStream(path, { start: options.start, signal, highWaterMark: 256 * 1024 })
  for await (const chunk of stream) {
    const bytes = chunk as Buffer
    let at = 0
    for (;;) {
      const next = bytes.indexOf(NEW_LINE, at)
      if (next === -1) break
      hold(bytes.subarray(at, next))
      yield take(NOTHING)
      at = next + 1
    }
    hold(bytes.subarray(at))
  }
  if (heldBytes > 0) {
    const line = take(NOTHING)
    yield { ...line, end: line.end - 1 }
  }
}

const NEW_LINE = 0x0a
const NOTHING = Buffer.alloc(0)
