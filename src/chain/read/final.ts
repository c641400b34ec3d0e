import { readBlockNumber, readFrom } from '../answers.ts'
import { attestedOf, finalUnder, heardOf, type Finality } from '../quorum.ts'
import type { Providers } from '../rpc/providers.ts'

/** The latest block that cannot be reorganised any more, undefined while there is none. */
export type ReadFinal = (signal: AbortSignal) => Promise<bigint | undefined>

/** By the height that two providers reach, or the only one there is. */
export function createFinal(deps: {
  providers: Pick<Providers, 'askAll'>
  finality: Finality
}): ReadFinal {
  const { providers, finality } = deps
  const tag = typeof finality === 'string' ? finality : 'latest'
  const call = { method: 'eth_getBlockByNumber', params: [tag, false] }
  return async (signal) => {
    const { told, needed } = heardOf(await providers.askAll({ ...call, signal }))
    const heads = told.flatMap((answer) => readFrom(answer, readBlockNumber) ?? [])
    const head = attestedOf(heads, needed)
    return head === undefined ? undefined : finalUnder(head, finality)
  }
}
