import { setTimeout as sleep } from 'node:timers/promises'

import { addressFrom } from '../sim/world.ts'

/** What was asked for, under one idempotency key, and what became of it. */
export type Asked = {
  key: string
  apiKey: string
  payee: string
  wei: bigint
  transactionId: string | undefined
}

/**
 * Asks for one payment as a careful client does: with the same key at one server after the other,
 * until one of them has answered.
 */
export async function askOnce(options: {
  urls: readonly string[]
  apiKey: string
  name: string
  pick: (count: number) => number
}): Promise<Asked> {
  const { urls, apiKey, name, pick } = options
  const payee = addressFrom(name)
  const wei = BigInt(1 + pick(1_000_000))
  const body = {
    to_address: payee,
    amount: `0.${String(wei).padStart(18, '0')}`,
    description: name,
    use_contract: pick(2) === 1,
  }
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const answer = await send(`${urls[pick(urls.length)]}/api/blockchain/transactions`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json', 'idempotency-key': name },
      body: JSON.stringify(body),
    })
    if (answer?.status === 201) {
      const { transaction_id: id } = answer.body as { transaction_id: string }
      return { key: name, apiKey, payee, wei, transactionId: id }
    }
    const isFinal = answer !== undefined && answer.status < 500 && !AGAIN.has(answer.status)
    if (isFinal) throw new Error(`${name}: ${answer.status} ${JSON.stringify(answer.body)}`)
    await sleep(50 + pick(200))
  }
  throw new Error(`${name}: nobody answered`)
}

const MAX_ROUNDS = 500
/** In flight elsewhere, or too many at once. */
const AGAIN: ReadonlySet<number> = new Set([409, 429])

/** Undefined where nobody listens, or the answer was cut off. */
export async function send(
  url: string,
  init: RequestInit,
): Promise<{ status: number; body: unknown } | undefined> {
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(20_000) })
    return { status: answer.status, body: await answer.json() }
  } catch {
    return undefined
  }
}
