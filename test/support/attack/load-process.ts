import { Agent, request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

import { HANG_MS, MOST_OPEN, type Load, type LoadResult, type Times } from './load.ts'

type Run = {
  load: Load
  agent: Agent
  open: Set<Promise<void>>
  result: Omit<LoadResult, 'answered' | 'answeredInTime' | 'refused' | 'seconds'>
  answered: number[]
  refused: number[]
}

process.once('message', (load: Load) => {
  void send(load).then((result) => process.send?.(result, () => process.exit(0)))
})
// Whoever started it is gone.
process.once('disconnect', () => process.exit(0))

async function send(load: Load): Promise<LoadResult> {
  const run: Run = {
    load,
    agent: new Agent({ keepAlive: true, maxSockets: MOST_OPEN }),
    open: new Set(),
    result: { tried: 0, statuses: {}, hangs: 0, notSent: 0 },
    answered: [],
    refused: [],
  }
  const startedAt = performance.now()
  if (load.rate === undefined) await keepBusy(run, startedAt)
  else await keepPace(run, load.rate, startedAt)
  const seconds = (performance.now() - startedAt) / 1000
  const answeredInTime = run.answered.length
  await Promise.all(run.open)
  run.agent.destroy()
  return {
    ...run.result,
    answeredInTime,
    answered: timesOf(run.answered),
    refused: timesOf(run.refused),
    seconds,
  }
}

async function keepBusy(run: Run, startedAt: number): Promise<void> {
  const { atOnce = 1, seconds } = run.load
  const one = async (): Promise<void> => {
    while (performance.now() - startedAt < seconds * 1000) await ask(run)
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
      if (run.open.size >= MOST_OPEN) {
        run.result.notSent += 1
        continue
      }
      const asked = ask(run).finally(() => run.open.delete(asked))
      run.open.add(asked)
    }
    await sleep(5)
  }
}

function ask(run: Run): Promise<void> {
  const { load, agent, result } = run
  const number = result.tried
  result.tried += 1
  const { method, path, headers, body } = load.requests[number % load.requests.length]!
  const payload = body?.replace('{n}', String(number))
  const startedAt = performance.now()
  return new Promise((done) => {
    const end = (status: number): void => {
      const tookMs = performance.now() - startedAt
      result.statuses[status] = (result.statuses[status] ?? 0) + 1
      if (status >= 200 && status < 400) run.answered.push(tookMs)
      if (status === 503) run.refused.push(tookMs)
      done()
    }
    const sent = httpRequest(load.url + path, { method, agent, headers }, (answer) => {
      answer.resume()
      answer.once('end', () => end(answer.statusCode ?? 0))
      answer.once('error', () => end(0))
    })
    sent.setTimeout(HANG_MS, () => {
      result.hangs += 1
      sent.destroy()
    })
    sent.once('error', () => end(0))
    sent.end(payload)
  })
}

function timesOf(times: number[]): Times {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number): number => Math.round(sorted[Math.floor(sorted.length * share)] ?? 0)
  return { count: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99) }
}
