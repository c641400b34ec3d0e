import { setTimeout as sleep } from 'node:timers/promises'

import { addressFrom } from '../sim/world.ts'
import type { Payer } from './platform.ts'

/** Status 0 stands for a connection that broke, or an answer that did not come in a minute. */
export type Answer = {
  status: number
  headers: Headers
  body: Record<string, unknown>
  text: string
  tookMs: number
}

export type Question = {
  path: string
  key: string
  method?: string
  body?: object
  idempotencyKey?: string
}

const LONGEST_MS = 60_000

export async function ask(url: string, question: Question): Promise<Answer> {
  const { path, key, body, method = body ? 'POST' : 'GET', idempotencyKey } = question
  const startedAt = performance.now()
  const headers = {
    'x-api-key': key,
    accept: 'application/json, application/problem+json;q=0.9',
    ...(body && { 'content-type': 'application/json' }),
    ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
  }
  const tookMs = (): number => performance.now() - startedAt
  try {
    const answer = await fetch(url + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(LONGEST_MS),
    })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type')?.includes('json') ?? false
    const read = (isJson ? JSON.parse(text) : {}) as Record<string, unknown>
    return { status: answer.status, headers: answer.headers, body: read, text, tookMs: tookMs() }
  } catch {
    return { status: 0, headers: new Headers(), body: {}, text: '', tookMs: tookMs() }
  }
}

/** One wei over the chain. */
export function payment({ key }: Payer, name: string): Question {
  const body = {
    to_address: addressFrom(name),
    amount: '0.000000000000000001',
    description: name,
  }
  return { path: '/api/blockchain/transactions', key, body, idempotencyKey: name }
}

/** A cent from one wallet of the payer to the other. */
export function transfer({ key, from, to }: Payer, name: string): Question {
  const source = { type: 'wallet', id: from }
  const destination = { type: 'wallet', id: to }
  const body = { source, destination, amount: '0.01' }
  return { path: '/v1/transfers', key, body, idempotencyKey: name }
}

/**
 * Asks as a careful client does: again with the same key, until it is done or the time is over.
 * All answers on the way are returned, the last one last.
 */
export async function askUntilDone(
  url: string,
  question: Question,
  withinMs: number,
): Promise<Answer[]> {
  const startedAt = performance.now()
  const answers: Answer[] = []
  for (;;) {
    const answer = await ask(url, question)
    answers.push(answer)
    const passedMs = performance.now() - startedAt
    if ((answer.status >= 200 && answer.status < 300) || passedMs > withinMs) return answers
    await sleep(500)
  }
}

export function isDone(answers: readonly Answer[]): boolean {
  const { status = 0 } = answers.at(-1) ?? {}
  return status >= 200 && status < 300
}

/** How often there was which status. */
export function countStatuses(answers: readonly Answer[]): string {
  const counts = new Map<number, number>()
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${count} × ${status || 'no answer'}`).join(', ')
}

export function longestMs(answers: readonly Answer[]): number {
  return Math.round(Math.max(0, ...answers.map(({ tookMs }) => tookMs)))
}

/** Whether each of those that serve says of itself that it can. */
export async function areReady(statusUrls: readonly string[]): Promise<boolean[]> {
  return Promise.all(
    statusUrls.map(async (url) => (await ask(url, { path: '/readyz', key: '' })).status === 200),
  )
}

/** How long it took to be so; undefined where it was not so in time. */
export async function waitUntil(
  isSo: () => Promise<boolean>,
  withinMs: number,
): Promise<number | undefined> {
  const startedAt = performance.now()
  for (;;) {
    if (await isSo()) return Math.round(performance.now() - startedAt)
    if (performance.now() - startedAt > withinMs) return undefined
    await sleep(250)
  }
}

/** Whether all payments by these ids are completed. */
export async function areCompleted(
  url: string,
  payments: ReadonlyArray<{ key: string; id: string }>,
): Promise<boolean> {
  for (const { key, id } of payments) {
    const { body } = await ask(url, { path: `/api/transactions/${id}`, key })
    if (body['status'] !== 'completed') return false
  }
  return true
}

/** The sentences whose condition holds. */
export function wrongsIn(wrongs: ReadonlyArray<readonly [boolean, string]>): string[] {
  return wrongs.filter(([isWrong]) => isWrong).map(([, sentence]) => sentence)
}
