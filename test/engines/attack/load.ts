import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What a second process sends. It is bounded in time and in what is open at once. */
export type Load = {
  url: string
  requests: readonly LoadRequest[]
  seconds: number
  /** So many are open at any time. */
  atOnce?: number
  /** So many begin in a second, whether or not the ones before have been answered. */
  rate?: number
  /** Each request opens its own connection, and its time begins before it does. */
  onNewConnections?: true
}

export type LoadRequest = {
  method: string
  path: string
  headers: Record<string, string>
  /** `{n}` stands for a number that no other request has. */
  body?: string
}

export type Times = { count: number; p50Ms: number; p99Ms: number; maxMs: number }

export type LoadResult = {
  tried: number
  /** By status; 0 stands for a connection that broke, and `refused` for the door's own 503. */
  statuses: Record<string, number>
  /** Whatever the answer was, below 500. */
  answered: Times
  /** While the load lasted; the others came after it. */
  answeredInTime: number
  refused: Times
  /** Answers 503 that do not say when to come again. */
  notLater: number
  /** Not answered within `HANG_MS`. */
  hangs: number
  /** Not begun, since too many were open already. */
  notSent: number
  seconds: number
  /** By how much the sender itself was late: so much of the times is its own. */
  ownDelayMs: number
}

export const HANG_MS = 15_000
export const MOST_OPEN = 4_000

export function sendLoad(load: Load): Promise<LoadResult> {
  const child = fork(fileURLToPath(new URL('load-process.ts', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => child.kill('SIGKILL'), load.seconds * 1000 + 3 * HANG_MS)
    child.once('message', (result) => resolve(result as LoadResult))
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearTimeout(late)
      reject(new Error(`the load ended with ${code ?? signal}`))
    })
    child.send(load)
  })
}
