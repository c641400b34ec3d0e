import { BaseError } from '../../base/errors.ts'
import { readBlock, toQuantity } from '../answers.ts'
import type { Hex } from '../hex.ts'
import type { Providers } from '../rpc/providers.ts'
import { askAgreed, ProvidersDifferError } from './agreed.ts'

export type TimedBlock = { number: bigint; hash: Hex; time: Date }

/** A block as the providers agree on it; undefined while there is none at that height. */
export type BlockReader = (number: bigint, signal: AbortSignal) => Promise<TimedBlock | undefined>

export function createBlockReader(providers: Pick<Providers, 'askAll'>): BlockReader {
  return async (number, signal) => {
    const params = [toQuantity(number), false]
    const block = await askAgreed(providers, {
      call: { method: 'eth_getBlockByNumber', params, signal },
      read: readTimedBlock,
    })
    if (block !== undefined && block.number !== number) throw new ProvidersDifferError()
    return block
  }
}

function readTimedBlock(result: unknown): TimedBlock | undefined {
  if (result === null) return undefined
  const { number, hash, timeMs } = readBlock(result)
  return { number, hash, time: new Date(timeMs) }
}

/** A block was read, and then another one stood in its place. */
export class BlockReplacedError extends BaseError {
  constructor() {
    super('A block was replaced while its events were read. They are read again.', {
      code: 'block_replaced',
      retryable: true,
    })
  }
}
