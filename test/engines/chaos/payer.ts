import { setTimeout as sleep } from 'node:timers/promises'

import { formatAmount } from '../../../src/domain/money.ts'
import type { Hex } from '../../../src/domain/orders.ts'
import { addressFrom } from '../sim/world.ts'

/** Ether over the chain, dollars between two wallets, or a mint for dollars of a wallet. */
export type Act = 'payment' | 'transfer' | 'mint'

/** Somebody who asks, with two wallets. */
export type Payer = {
  userId: number
  apiKey: string
  address: string
  main: bigint
  second: bigint
}

/** What was asked for, under one idempotency key, and what became of it. */
export type Asked = {
  act: Act
  key: string
  payer: Payer
  /** Nobody else is paid there. */
  payee: Hex
  /** In wei, or in millionths of a dollar. */
  amount: bigint
  id: string
  /** It was accepted, and later nobody knew it. */
  isGone?: boolean
}

/** Where each act is asked for, and where what became of it is read. */
export const PATHS: Record<Act, string> = {
  payment: '/api/blockchain/transactions',
  transfer: '/v1/transfers',
  mint: '/v1/businessAccount/transfers',
}

/**
 * Asks for one thing as a careful client does: with the same key at one server after the other,
 * until one of them has answered. What was no answer is told.
 */
export async function askOnce(options: {
  nextUrl: () => string
  payer: Payer
  name: string
  pick: (count: number) => number
  onFailure?: (sentence: string) => void
}): Promise<Asked> {
  const { nextUrl, payer, name, pick, onFailure } = options
  const act = (['payment', 'payment', 'transfer', 'mint'] as const)[pick(4)]!
  const asked = { act, key: name, payer, payee: addressFrom(name), amount: amountFor(act, pick) }
  const body = JSON.stringify(bodyOf(asked, pick(2) === 1))
  let last = ''
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const answer = await send(`${nextUrl()}${PATHS[act]}`, {
      method: 'POST',
      headers: {
        'x-api-key': payer.apiKey,
        'content-type': 'application/json',
        'idempotency-key': name,
      },
      body,
    })
    if (answer?.status === 201) return { ...asked, id: idOf(answer.body) }
    const isFinal = answer !== undefined && answer.status < 500 && !AGAIN.has(answer.status)
    if (isFinal) throw new Error(`${name}: ${answer.status} ${JSON.stringify(answer.body)}`)
    if (answer !== undefined) last = `${answer.status} ${JSON.stringify(answer.body)}`
    onFailure?.(`${name}: ${answer === undefined ? 'no answer' : last}`)
    await sleep(50 + pick(200))
  }
  throw new Error(`${name}: the ${act} was not accepted; last ${last || 'nobody answered'}`)
}

const MAX_ROUNDS = 500
/** In flight elsewhere, or too many at once. */
const AGAIN: ReadonlySet<number> = new Set([409, 429])

/** Dollars in whole cents, as the API has them. */
function amountFor(act: Act, pick: (count: number) => number): bigint {
  return BigInt(1 + pick(1000)) * (act === 'payment' ? 1n : 10_000n)
}

function bodyOf({ act, key, payer, payee, amount }: Omit<Asked, 'id'>, useContract: boolean) {
  const dollars = formatAmount({ amount, decimals: 6 })
  switch (act) {
    case 'payment':
      return {
        to_address: payee,
        amount: formatAmount({ amount, decimals: 18 }),
        description: key,
        use_contract: useContract,
      }
    case 'transfer':
      return {
        source: { type: 'wallet', id: String(payer.main) },
        destination: { type: 'wallet', id: String(payer.second) },
        amount: dollars,
      }
    case 'mint':
      return { destination: { type: 'blockchain', chain: 'ETH', address: payee }, amount: dollars }
    default:
      return act satisfies never
  }
}

function idOf(body: unknown): string {
  const { transaction_id: transactionId, data } = body as {
    transaction_id?: string
    data?: { id: string }
  }
  return transactionId ?? data?.id ?? ''
}

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
