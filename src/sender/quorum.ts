import { messageOf } from '../base/errors.ts'
import type { Provider } from '../chain/rpc/provider.ts'

/** Providers that are asked together, and how many of them must say the same to be believed. */
export type Quorum = {
  providers: readonly Provider[]
  needed: number
  signal: AbortSignal
  /** Told of each question that a provider failed to answer. */
  onFailure: (failure: { provider: string; reason: string }) => void
}

/** One provider at a time, which rejects or knows nothing by undefined. */
export type Ask<T> = (provider: Provider, signal: AbortSignal) => Promise<T | undefined>

/**
 * The answer that enough providers gave alike, compared by its key. Undefined is no fact: some did
 * not answer, did not know, or disagree.
 */
export async function agreedOn<T>(
  quorum: Quorum,
  ask: Ask<T>,
  keyOf: (answer: T) => string = String,
): Promise<T | undefined> {
  const votes = new Map<string, number>()
  for (const answer of await askAll(quorum, ask)) {
    const key = keyOf(answer)
    const count = (votes.get(key) ?? 0) + 1
    if (count >= quorum.needed) return answer
    votes.set(key, count)
  }
  return undefined
}

/** The highest number that enough providers reach: one that lies cannot raise it alone. */
export async function attested(quorum: Quorum, ask: Ask<bigint>): Promise<bigint | undefined> {
  const answers = await askAll(quorum, ask)
  return answers.toSorted((a, b) => Number(b - a))[quorum.needed - 1]
}

/** What each provider answered, without those that did not. */
export async function askAll<T>(quorum: Quorum, ask: Ask<T>): Promise<T[]> {
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
