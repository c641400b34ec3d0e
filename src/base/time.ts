/** A day, or a time that says its zone: without one, it would depend on this machine's. */
export function parseTime(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d))?$/.test(text)) {
    return undefined
  }
  const day = text.slice(0, 10)
  const time = new Date(text.replace(' ', 'T'))
  const isDay = !Number.isNaN(time.getTime()) && new Date(day).toISOString().startsWith(day)
  return isDay ? time : undefined
}

/** The milliseconds that a Retry-After (seconds or a date) asks for; undefined for other text. */
export function parseRetryAfter(
  header: string | null | undefined,
  nowMs: number,
): number | undefined {
  if (header === null || header === undefined) return undefined
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
