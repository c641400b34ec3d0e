import { BaseError, messageOf } from '../base/errors.ts'
import type { Provider } from './rpc/provider.ts'
import type { Providers } from './rpc/providers.ts'

/**
 * How many of so many providers must say the same to be believed: two, or the only one there is. It
 * follows from how many are configured: one that is down makes no other one believable alone.
 */
export function enoughOf(asked: number, wanted = 2): number {
  return Math.min(wanted, asked)
}

/** The highest number that so many reach: neither one ahead nor one behind can move it. */
export function highestOf(numbers: readonly bigint[], needed: number): bigint | undefined {
  return numbers.toSorted((a, b) => (a < b ? 1 : -1))[needed - 1]
}

/** The last block with so many confirmations below a head; undefined while there is none. */
export function finalBelow(head: bigint, confirmations: number): bigint | undefined {
  const height = head - BigInt(confirmations) + 1n
  return height < 0n ? undefined : height
}

/** The first answer that so many gave alike, compared by its key. */
export function commonOf<T>(
  answers: readonly (T | undefined)[],
  needed: number,
  keyOf: (answer: T) => unknown = String,
): T | undefined {
  const votes = new Map<unknown, number>()
  for (const answer of answers) {
    if (answer === undefined) continue
    const key = keyOf(answer)
    const count = (votes.get(key) ?? 0) + 1
    if (count >= needed) return answer
    votes.set(key, count)
  }
  return undefined
}

/** Providers that are asked together, and how many of them must say the same to be believed. */
export type Quorum = {
  providers: readonly Provider[]
  needed: number
  signal: AbortSignal
  /** Called for each question that a provider failed to answer. */
  onFailure: (failure: { provider: string; reason: string }) => void
}

/** One provider at a time, which rejects or knows nothing by undefined. */
export type Ask<T> = (provider: Provider, signal: AbortSignal) => Promise<T | undefined>

/**
 * The answer that enough providers gave alike. Undefined is no fact: some did not answer, did not
 * know, or disagree.
 */
export async function agreedOn<T>(
  quorum: Quorum,
  ask: Ask<T>,
  keyOf?: (answer: T) => string,
): Promise<T | undefined> {
  return commonOf(await askAll(quorum, ask), quorum.needed, keyOf)
}

/** The highest number that enough providers reach: one that lies cannot raise it alone. */
export async function attested(quorum: Quorum, ask: Ask<bigint>): Promise<bigint | undefined> {
  return highestOf(await askAll(quorum, ask), quorum.needed)
}

/** What each provider answered, without those that did not. */
async function askAll<T>(quorum: Quorum, ask: Ask<T>): Promise<T[]> {
  const answers = await Promise.all(
    quorum.providers.map(async (provider) => {
      try {
        return await ask(provider, quorum.signal)
      } catch (error) {
        quorum.onFailure({ provider: provider.name, reason: messageOf(error) })
        return undefined
      }
    }),
  )
  return answers.filter((answer) => answer !== undefined)
}

/** Asks all, and takes what every one that answers says. */
export async function askAgreed<T>(
  providers: Pick<Providers, 'askAll'>,
  { call, read }: { call: Parameters<Providers['askAll']>[0]; read: (result: unknown) => T },
): Promise<T> {
  const answers = await providers.askAll(call)
  return agreed(
    answers.map((answer) =>
      answer.ok
        ? { status: 'fulfilled' as const, value: read(answer.result) }
        : { status: 'rejected' as const, reason: answer.error },
    ),
  )
}

/** What all that answer say. Rejects while they are too few, and where two say different things. */
export function agreed<T>(answers: readonly PromiseSettledResult<T>[]): T {
  const told = answers.filter((answer) => answer.status === 'fulfilled')
  const values = told.map(({ value }) => value)
  const [first] = values
  const failed = answers.find((answer) => answer.status === 'rejected')
  if (failed !== undefined && values.length < enoughOf(answers.length)) throw failed.reason
  if (values.some((value) => textOf(value) !== textOf(first))) throw new ProvidersDifferError()
  return first as T
}

function textOf(value: unknown): string {
  return JSON.stringify([value], (_key, part: unknown) =>
    typeof part === 'bigint' ? String(part) : part,
  )
}

export class ProvidersDifferError extends BaseError {
  constructor() {
    super('The providers tell different things of final blocks. One lags or lies: look at them.', {
      code: 'providers_differ',
      retryable: true,
    })
  }
}
