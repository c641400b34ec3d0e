import { connect, type Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

import { HANG_MS, MOST_OPEN, type Load, type LoadResult, type Times } from './load.ts'

/**
 * A sender that costs a fraction of what it asks for: plain sockets, and no more of an answer is
 * looked at than its status and its length.
 */
type Run = {
  load: Load
  /** Each request as it goes over the line; `{n}` is still in it. */
  texts: readonly string[]
  /** Connections that wait for a request. */
  idle: Line[]
  open: Set<Asked>
  result: Omit<LoadResult, 'answered' | 'answeredInTime' | 'refused' | 'seconds' | 'ownDelayMs'>
  answered: number[]
  refused: number[]
}

type Asked = { startedAt: number; end: (how: number | 'refused') => void; done: Promise<void> }

type Line = { socket: Socket; asked: Asked | undefined }

process.once('message', (load: Load) => {
  void send(load).then((result) => process.send?.(result, () => process.exit(0)))
})
// Whoever started it is gone.
process.once('disconnect', () => process.exit(0))

async function send(load: Load): Promise<LoadResult> {
  const run: Run = {
    load,
    texts: load.requests.map((request) => textOf(load.url, request)),
    idle: [],
    open: new Set(),
    result: { tried: 0, statuses: {}, notLater: 0, hangs: 0, notSent: 0 },
    answered: [],
    refused: [],
  }
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  const hanging = setInterval(() => endHanging(run), 500)
  const kept = Math.min(Math.ceil(load.rate ?? load.atOnce ?? 1), MOST_OPEN)
  if (!load.onNewConnections) await openAll(run, kept)
  const startedAt = performance.now()
  if (load.rate === undefined) await keepBusy(run, startedAt)
  else await keepPace(run, load.rate, startedAt)
  const seconds = (performance.now() - startedAt) / 1000
  const answeredInTime = run.answered.length
  await Promise.all([...run.open].map(({ done }) => done))
  clearInterval(hanging)
  for (const { socket } of run.idle) socket.destroy()
  return {
    ...run.result,
    answeredInTime,
    answered: timesOf(run.answered),
    refused: timesOf(run.refused),
    seconds,
    ownDelayMs: Math.round(Math.max(delay.percentile(99) / 1e6 - RESOLUTION_MS, 0)),
  }
}

const RESOLUTION_MS = 5

/** As a balancer in front has its connections: open before anything is asked. */
async function openAll(run: Run, count: number): Promise<void> {
  const { url } = run.load
  const text = textOf(url, { method: 'GET', path: '/healthz', headers: {} })
  const opened = Array.from({ length: count }, () => {
    const line = openLine(run)
    const { promise: done, resolve: end } = Promise.withResolvers<unknown>()
    line.asked = { startedAt: performance.now(), end, done: done.then(() => undefined) }
    line.socket.write(text)
    return line.asked.done
  })
  await Promise.race([Promise.all(opened), sleep(HANG_MS)])
  run.result.notLater = 0
}

async function keepBusy(run: Run, startedAt: number): Promise<void> {
  const { atOnce = 1, seconds } = run.load
  const one = async (): Promise<void> => {
    do await ask(run)
    while (performance.now() - startedAt < seconds * 1000)
  }
  await Promise.all(Array.from({ length: atOnce }, one))
}

async function keepPace(run: Run, rate: number, startedAt: number): Promise<void> {
  let begun = 0
  for (;;) {
    const passedMs = performance.now() - startedAt
    if (passedMs >= run.load.seconds * 1000) return
    const due = Math.floor((passedMs / 1000) * rate)
    for (; begun < due; begun++) {
      if (run.open.size < MOST_OPEN) void ask(run)
      else run.result.notSent += 1
    }
    await sleep(RESOLUTION_MS)
  }
}

function ask(run: Run): Promise<void> {
  const { result, texts } = run
  const number = result.tried
  result.tried += 1
  const { promise: done, resolve } = Promise.withResolvers<void>()
  const startedAt = performance.now()
  const asked: Asked = {
    startedAt,
    done,
    end(how) {
      if (!run.open.delete(asked)) return
      const tookMs = performance.now() - startedAt
      result.statuses[how] = (result.statuses[how] ?? 0) + 1
      if (how === 'refused') run.refused.push(tookMs)
      else if (how >= 200 && how < 500) run.answered.push(tookMs)
      resolve()
    },
  }
  run.open.add(asked)
  const line = run.idle.pop() ?? openLine(run)
  line.asked = asked
  line.socket.write(texts[number % texts.length]!.replace('{n}', numbered(number)))
  return done
}

/** Always as long, so that the length of a body is known before. */
function numbered(number: number): string {
  return String(number).padStart('{n}'.length + 7, '0')
}

function textOf(url: string, { method, path, headers, body = '' }: Load['requests'][number]) {
  const length = body.replace('{n}', numbered(0)).length
  const all = {
    host: new URL(url).host,
    ...headers,
    ...(body && { 'content-length': `${length}` }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

function openLine(run: Run): Line {
  const { hostname, port } = new URL(run.load.url)
  const socket = connect(Number(port), hostname).setNoDelay()
  const line: Line = { socket, asked: undefined }
  let answer = createAnswer()
  socket.on('data', (chunk) => {
    if (!answer.isWhole(chunk)) return
    const { asked } = line
    const { status, closes, isRefusal, isLater } = answer
    if (status === 503 && !isLater) run.result.notLater += 1
    line.asked = undefined
    answer = createAnswer()
    if (closes || run.load.onNewConnections) socket.destroy()
    else run.idle.push(line)
    asked?.end(isRefusal ? 'refused' : status)
  })
  socket.on('error', () => undefined)
  socket.once('close', () => {
    run.idle = run.idle.filter((one) => one !== line)
    line.asked?.end(0)
  })
  return line
}

function createAnswer() {
  let head = ''
  /** Bytes of the body that are still to come; undefined while the head is not whole. */
  let left: number | undefined
  const answer = {
    status: 0,
    closes: false,
    /** The door's own: nothing was done. */
    isRefusal: false,
    isLater: false,
    isWhole(chunk: Buffer): boolean {
      if (left !== undefined) {
        left -= chunk.length
        if (left === Infinity) return chunk.toString('latin1').endsWith(LAST_CHUNK)
        return left <= 0
      }
      head += chunk.toString('latin1')
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) return false
      const lines = head.slice(0, end + 2).toLowerCase()
      answer.status = Number(head.slice(9, 12))
      answer.closes = lines.includes('\r\nconnection: close\r\n')
      answer.isRefusal = lines.includes('\r\nrequest-not-processed: true\r\n')
      answer.isLater = lines.includes('\r\nretry-after: ')
      const [, length = '0'] = /\r\ncontent-length: (\d+)\r\n/.exec(lines) ?? []
      const isChunked = lines.includes('\r\ntransfer-encoding: chunked\r\n')
      left = isChunked ? Infinity : Number(length) - (head.length - end - 4)
      return isChunked ? head.endsWith(LAST_CHUNK) : left <= 0
    },
  }
  return answer
}

const LAST_CHUNK = '0\r\n\r\n'

function endHanging(run: Run): void {
  const before = performance.now() - HANG_MS
  for (const asked of run.open) {
    // They stand in the order in which they were sent.
    if (asked.startedAt > before) return
    run.result.hangs += 1
    asked.end(0)
  }
}

function timesOf(times: number[]): Times {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)
  const maxMs = Math.round(sorted.at(-1) ?? 0)
  return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs }
}
