import { BaseError } from '../../base/errors.ts'
import { AnswerError, quantity } from '../answers.ts'
import { campsOf } from '../quorum.ts'
import { RpcError } from './rpc-error.ts'
import { callRpc, nameOfProvider } from './rpc.ts'

/**
 * Which chain the providers serve, before anything is known of it. Those that are silent now may
 * join later; of several answers the one of the majority counts, and a tie is refused.
 */
export async function readChainId(options: {
  urls: readonly string[]
  signal?: AbortSignal
  timeoutMs?: number
}): Promise<number> {
  const { urls, ...line } = options
  const answers = await Promise.all(urls.map((url) => askOne({ url, ...line })))
  const told = answers.flatMap((answer) => (answer.chainId === undefined ? [] : [answer.chainId]))
  const [first, second] = campsOf(told)
  if (first === undefined) throw answers.find(({ error }) => error)?.error ?? chainIdUnknown(urls)
  if (first.length === second?.length) throw chainIdsDiffer(answers)
  return first[0]
}

type ChainIdAnswer = { provider: string; chainId: number | undefined; error: RpcError | undefined }

async function askOne(line: {
  url: string
  signal?: AbortSignal
  timeoutMs?: number
}): Promise<ChainIdAnswer> {
  const provider = nameOfProvider(line.url)
  try {
    const id = Number(quantity(await callRpc({ ...line, method: 'eth_chainId' }), 'chain id'))
    const chainId = Number.isSafeInteger(id) && id >= 1 ? id : undefined
    return { provider, chainId, error: undefined }
  } catch (error) {
    if (error instanceof AnswerError) return { provider, chainId: undefined, error: undefined }
    if (error instanceof RpcError) return { provider, chainId: undefined, error }
    throw error
  }
}

function chainIdUnknown(urls: readonly string[]): ChainIdError {
  const names = urls.map(nameOfProvider).join(', ')
  return new ChainIdError(`${names} did not return a chain id. Check ETH_RPC_URL.`, {
    code: 'chain_id_unknown',
  })
}

function chainIdsDiffer(answers: readonly ChainIdAnswer[]): ChainIdError {
  const told = answers.filter(({ chainId }) => chainId !== undefined)
  const words = told.map(({ provider, chainId }) => `${provider} serves chain ${chainId}`)
  return new ChainIdError(
    `The providers serve different chains: ${words.join(', ')}. Correct ETH_RPC_URL.`,
    { code: 'chain_ids_differ' },
  )
}

class ChainIdError extends BaseError {
  override readonly name = 'ChainIdError'
}
