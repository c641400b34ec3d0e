import { readBlockNumber, readFrom, type Seen } from '../answers.ts'
import type { ProviderAnswer, Providers } from '../rpc/providers.ts'
import { RpcError } from '../rpc/rpc-error.ts'

/** So many blocks, the receipt's own included, or whatever the chain itself calls final. */
export type Finality = number | 'finalized'

/** The latest block that cannot be reorganised any more, undefined while there is none. */
export type ReadFinal = (signal: AbortSignal) => Promise<Seen<bigint> | undefined>

/**
 * The height that two providers reach, or the only one there is: one that lies or is mistaken about
 * its head makes nothing final that is not.
 */
export function createFinal(deps: {
  providers: Pick<Providers, 'askAll'>
  finality: Finality
}): ReadFinal {
  const { providers, finality } = deps
  const tag = finality === 'finalized' ? finality : 'latest'
  const call = { method: 'eth_getBlockByNumber', params: [tag, false] }
  return async (signal) => {
    const answers = await providers.askAll({ ...call, signal })
    const needed = Math.min(2, answers.length)
    const told = answers.filter((answer) => answer.ok)
    if (told.length < needed) throw firstError(answers)
    const heads = told
      .flatMap(({ result, provider }) => {
        const value = readFrom({ value: result, provider }, readBlockNumber)
        return value === undefined ? [] : [{ value, provider }]
      })
      .toSorted((a, b) => Number(b.value - a.value))
    const head = heads[needed - 1]
    if (head === undefined || finality === 'finalized') return head
    const value = head.value - BigInt(finality) + 1n
    return value < 0n ? undefined : { ...head, value }
  }
}

function firstError(answers: readonly ProviderAnswer[]): Error {
  const failed = answers.find((answer) => !answer.ok)
  return failed?.error ?? new RpcError('No provider answered.', { code: 'rpc_no_provider' })
}
