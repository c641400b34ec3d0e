import { BaseError, messageOf } from '../base/errors.ts'
import { AnswerError, array, data, quantity, record, toQuantity } from '../chain/answers.ts'
import type { Hex } from '../chain/hex.ts'
import { hasUnknownFields, headerOfBlock, type Header } from '../chain/proof/header.ts'
import { EncodingError } from '../chain/proof/rlp.ts'
import type { Provider } from '../chain/rpc/provider.ts'

/** A block as one provider shows it: the header hashes to what the provider says it does. */
export type ShownBlock = { header: Header; transactions: readonly unknown[] }

/** One provider with the questions that verification asks it. */
export type Asker = {
  name: string
  ask: (method: string, ...params: unknown[]) => Promise<unknown>
  chainId: () => Promise<bigint>
  /** Undefined for a block that the provider does not know. */
  blockAt: (at: bigint | 'latest' | 'finalized' | 'safe') => Promise<ShownBlock | undefined>
  blockOf: (hash: Hex) => Promise<ShownBlock | undefined>
}

export function createAsker(provider: Provider, signal: AbortSignal | undefined): Asker {
  const ask = async (method: string, ...params: unknown[]): Promise<unknown> => {
    signal?.throwIfAborted()
    try {
      return await provider.request({ method, params, ...(signal ? { signal } : {}) })
    } catch (error) {
      signal?.throwIfAborted()
      throw new NoAnswerError(provider.name, error)
    }
  }
  return {
    name: provider.name,
    ask,
    chainId: async () => quantity(await ask('eth_chainId'), 'eth_chainId'),
    blockAt: async (at) => {
      const tag = typeof at === 'bigint' ? toQuantity(at) : at
      const block = await ask('eth_getBlockByNumber', tag, false)
      const shown = block === null ? undefined : shownBlock(block)
      if (typeof at === 'bigint' && shown && shown.header.number !== at) {
        throw new LieError(`shows block ${shown.header.number} when asked for block ${at}`)
      }
      return shown
    },
    blockOf: async (hash) => {
      const block = await ask('eth_getBlockByHash', hash, true)
      const shown = block === null ? undefined : shownBlock(block)
      if (shown && shown.header.hash !== hash) {
        throw new LieError(`shows block ${shown.header.hash} when asked for block ${hash}`)
      }
      return shown
    },
  }
}

function shownBlock(value: unknown): ShownBlock {
  const block = record(value, 'block')
  const header = headerOfBlock(block)
  if (header.hash !== data(block['hash'], 'hash', 32)) {
    // A fork may have added fields that this program does not hash yet, and no one lied.
    if (hasUnknownFields(block)) throw new UnsupportedError('a header with fields of a later fork')
    throw new LieError(`shows a header that does not hash to ${String(block['hash'])}`)
  }
  return { header, transactions: array(block['transactions'], 'transactions') }
}

/** Why a provider's answer cannot be used: it is wrong in a way that the chain's hashes show. */
export class LieError extends BaseError {
  /** Set where two answers contradict each other, as they also do when the chain reorganises. */
  readonly isAcrossAnswers: boolean

  constructor(what: string, options: { isAcrossAnswers?: boolean } = {}) {
    super(`It ${what}.`, { code: 'provider_lies' })
    this.isAcrossAnswers = options.isAcrossAnswers ?? false
  }
}

export class NoAnswerError extends BaseError {
  constructor(provider: string, cause: unknown) {
    super(`${provider} did not answer: ${messageOf(cause)}`, {
      code: 'provider_unavailable',
      retryable: true,
      cause,
    })
  }
}

export class UnsupportedError extends BaseError {
  constructor(what: string) {
    super(`It shows ${what}, which this version cannot check.`, { code: 'unsupported' })
  }
}

/** What a failed question says of the provider; anything else is a bug and goes on its way. */
export function failureOf(error: unknown): { kind: Failure; message: string } {
  if (error instanceof NoAnswerError) return { kind: 'unavailable', message: error.message }
  if (error instanceof UnsupportedError) return { kind: 'unsupported', message: error.message }
  if (error instanceof LieError) return { kind: 'lies', message: error.message }
  if (error instanceof EncodingError || error instanceof AnswerError) {
    return {
      kind: 'lies',
      message: `Its answer does not have the form of the chain. ${error.message}`,
    }
  }
  throw error
}

export type Failure = 'unavailable' | 'unsupported' | 'lies'
