import { readBlockNumber, readFrom } from '../answers.ts'
import { attestedOf, finalUnder, heardOf, type Finality } from '../quorum.ts'
import type { Providers } from '../rpc/providers.ts'

/** The latest block that cannot be reorganised any more, undefined while there is none. */
export type ReadFinal = (signal: AbortSignal) => Promise<bigint | undefined>

/** By the height that two providers reach, or the only one there is. */
export function createFinal(deps: Reading): ReadFinal {
  const readHeads = createHeads(deps, (result) => {
    const number = readBlockNumber(result)
    return number === undefined ? undefined : { number }
  })
  return async (signal) => (await readHeads(signal)).final
}

/** The same, with what each provider says of its head. */
export function createHeads<Head extends { number: bigint }>(
  { providers, finality }: Reading,
  read: (result: unknown) => Head | undefined,
): (signal: AbortSignal) => Promise<{ final: bigint | undefined; heads: Head[] }> {
  const tag = typeof finality === 'string' ? finality : 'latest'
  const call = { method: 'eth_getBlockByNumber', params: [tag, false] }
  return async (signal) => {
    const { told, needed } = heardOf(await providers.askAll({ ...call, signal }))
    const heads = told.flatMap((answer) => readFrom(answer, read) ?? [])
    const numbers = heads.map(({ number }) => number)
    const head = attestedOf(numbers, needed)
    return { heads, final: head === undefined ? undefined : finalUnder(head, finality) }
  }
}

type Reading = { providers: Pick<Providers, 'askAll'>; finality: Finality }
