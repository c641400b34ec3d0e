import type { Finality } from '../base/chains/config.ts'
import type { FromProvider } from './answers.ts'
import type { Provider } from './rpc/provider.ts'

/** Providers that are asked together, and how many of them must say the same to be believed. */
export type Quorum<Asked extends { name: string } = Provider> = {
  providers: readonly Asked[]
  needed: number
  signal: AbortSignal
  /** Receives each question that a provider failed to answer. */
  onFailure: (failure: Failure) => void
}

export type { Finality } from '../base/chains/config.ts'

export type Failure = { provider: string; error: unknown }

/** What each provider said, in the order of the providers. */
export type Answers<T> = { told: FromProvider<T>[]; failed: Failure[] }

/** How many must agree of so many: two, for one that lies or is mistaken counts for nothing. */
export function neededOf(asked: number, wanted = 2): number {
  return Math.min(wanted, asked)
}

/** Asks all at once, and keeps the failures. */
export async function askEach<Asked extends { name: string }, T>(
  providers: readonly Asked[],
  ask: (provider: Asked) => Promise<T>,
): Promise<Answers<T>> {
  const outcomes = await Promise.allSettled(providers.map(async (provider) => ask(provider)))
  const answers: Answers<T> = { told: [], failed: [] }
  for (const [at, outcome] of outcomes.entries()) {
    const provider = providers[at]!.name
    if (outcome.status === 'rejected') answers.failed.push({ provider, error: outcome.reason })
    else answers.told.push({ provider, value: outcome.value })
  }
  return answers
}

/** What the providers told, where enough did; otherwise it throws the first failure. */
export function heardOf<T>({ told, failed }: Answers<T>): {
  told: FromProvider<T>[]
  needed: number
} {
  const needed = neededOf(told.length + failed.length)
  if (told.length < needed) throw failed[0]?.error
  return { told, needed }
}

/** Those who say the same, the largest camp first and among equals the one that spoke first. */
export function campsOf<T>(
  answers: readonly T[],
  keyOf: (answer: T) => unknown = textOf,
): [T, ...T[]][] {
  // One alone needs no key, which may cost more than it.
  const camps = answers.length === 1 ? [answers] : Map.groupBy(answers, keyOf).values()
  return [...(camps as Iterable<[T, ...T[]]>)].toSorted((a, b) => b.length - a.length)
}

/** Whether the largest camp is enough, and no other camp rivals it. */
export function weigh(
  [best, second]: readonly (readonly unknown[])[],
  needed: number,
): 'agreed' | 'contradicted' | 'too_few' {
  const isEnough = best !== undefined && best.length >= needed
  if (second !== undefined && (!isEnough || second.length >= needed)) return 'contradicted'
  return isEnough ? 'agreed' : 'too_few'
}

/** The answer that enough share. Undefined is not an answer: too few answered, or they disagree. */
export function agreedOf<T>(
  answers: readonly T[],
  needed: number,
  keyOf?: (answer: T) => unknown,
): T | undefined {
  const [best] = campsOf(answers, keyOf)
  return best !== undefined && best.length >= needed ? best[0] : undefined
}

/** The highest number that enough reach: neither one ahead nor one behind moves it alone. */
export function attestedOf(numbers: readonly bigint[], needed: number): bigint | undefined {
  return numbers.toSorted((a, b) => (a < b ? 1 : -1))[needed - 1]
}

/** The last final block under a head, which is itself one where the chain calls it final. */
export function finalUnder(head: bigint, finality: Finality): bigint | undefined {
  if (typeof finality === 'string') return head
  const final = head - BigInt(finality) + 1n
  return final < 0n ? undefined : final
}

/** The answer that enough providers of a quorum give alike. */
export async function agreedOn<Asked extends { name: string }, T>(
  quorum: Quorum<Asked>,
  ask: Ask<Asked, T>,
  keyOf?: (answer: T) => unknown,
): Promise<T | undefined> {
  return agreedOf(await valuesOf(quorum, ask), quorum.needed, keyOf)
}

/** The highest number that enough providers of a quorum tell. */
export async function attested<Asked extends { name: string }>(
  quorum: Quorum<Asked>,
  ask: Ask<Asked, bigint>,
): Promise<bigint | undefined> {
  return attestedOf(await valuesOf(quorum, ask), quorum.needed)
}

type Ask<Asked, T> = (provider: Asked, signal: AbortSignal) => Promise<T | undefined>

async function valuesOf<Asked extends { name: string }, T>(
  { providers, signal, onFailure }: Quorum<Asked>,
  ask: Ask<Asked, T>,
): Promise<T[]> {
  const { told, failed } = await askEach(providers, (provider) => ask(provider, signal))
  failed.forEach(onFailure)
  return told.map(({ value }) => value).filter((value) => value !== undefined)
}

/** Equal facts have equal text: their fields have one order, and bigints are digits. */
function textOf(fact: unknown): string {
  return JSON.stringify(fact, (_key, part: unknown) =>
    typeof part === 'bigint' ? String(part) : part,
  )
}
