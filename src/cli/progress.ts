/** The progress of long work, for a person who waits. */
export type Progress = {
  /** `done` of `total` in any unit. The rate is that of `counted`. */
  update: (state: ProgressState) => void
  /** Leaves the terminal as it was found. */
  end: () => void
}

export type ProgressState = { done: number; total: number | undefined; counted: number }

export type ProgressOptions = {
  label: string
  unit: string
  stream: { isTTY?: boolean; columns?: number; write: (text: string) => unknown }
  nowMs: () => number
}

/** A bar on a terminal; elsewhere a line now and then, as a log wants it. */
export function createProgress(options: ProgressOptions): Progress {
  const { stream, nowMs } = options
  const isTerminal = stream.isTTY === true
  const everyMs = isTerminal ? TERMINAL_EVERY_MS : LINE_EVERY_MS
  const startedAt = nowMs()
  let shownAt = isTerminal ? -Infinity : startedAt
  let isShown = false
  return {
    update(state) {
      const now = nowMs()
      if (now - shownAt < everyMs) return
      shownAt = now
      isShown = true
      const text = describe(options, { ...state, elapsedMs: now - startedAt })
      stream.write(
        isTerminal ? `\r\u001B[2K${text.slice(0, (stream.columns ?? 80) - 1)}` : `${text}\n`,
      )
    },
    end() {
      if (isTerminal && isShown) stream.write('\r\u001B[2K')
    },
  }
}

const TERMINAL_EVERY_MS = 100
const LINE_EVERY_MS = 10_000
const BAR_WIDTH = 24

function describe(
  { label, unit }: ProgressOptions,
  { done, total, counted, elapsedMs }: ProgressState & { elapsedMs: number },
): string {
  const rate = elapsedMs > 0 ? (counted * 1000) / elapsedMs : 0
  const told = `${counted.toLocaleString('en')} ${unit}, ${Math.round(rate).toLocaleString('en')}/s`
  if (total === undefined || total === 0) return `${label}  ${told}`
  const share = Math.min(1, done / total)
  const filled = Math.round(share * BAR_WIDTH)
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled)
  const leftMs = share > 0 ? (elapsedMs * (1 - share)) / share : undefined
  const percent = `${Math.floor(share * 100)} %`.padStart(5)
  const left = leftMs === undefined ? '' : `, ${timeLeft(leftMs)} left`
  return `${label}  ${bar} ${percent}  ${told}${left}`
}

function timeLeft(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return `${minutes} min ${seconds % 60} s`
}

/** Ends long work when a person has had enough of it. */
export function untilSignal(): { signal: AbortSignal; stop: () => void } {
  const controller = new AbortController()
  const end = (): void => controller.abort()
  process.once('SIGINT', end)
  process.once('SIGTERM', end)
  return {
    signal: controller.signal,
    stop() {
      process.off('SIGINT', end)
      process.off('SIGTERM', end)
    },
  }
}
