import { encodeFunctionData, toFunctionSelector } from 'viem/utils'

import { BaseError, ImpossibleError } from '../../base/errors.ts'
import { referenceDollarAbi } from '../../bindings/abis.ts'
import type { PermitDomain } from '../../domain/tokens.ts'
import type { STABLECOIN_PROFILES } from '../../domain/signers.ts'
import { data as bytes, quantity, readFrom, readWord, type FromProvider } from '../answers.ts'
import type { Hex } from '../hex.ts'
import { askEach, campsOf } from '../quorum.ts'
import type { Provider } from '../rpc/provider.ts'
import type { Providers } from '../rpc/providers.ts'
import { isRevert, revertDataOf } from '../rpc/rpc-error.ts'
import { selectorOf } from './events.ts'
import { readPermitDomain } from './permit.ts'
import { readSymbol, TOKEN_VIEWS } from './token.ts'

/**
 * `memo`: its mints and burns name their order, as those of a ReferenceDollar do. `fiat_token`: it
 * has the functions of USDC, and its transaction identifies a mint. `erc20`: it moves money, and
 * nothing on the chain links a mint or a burn to an order.
 */
export type TokenProfile = (typeof STABLECOIN_PROFILES)[number]

/** What a contract says of itself; undefined is what it does not answer. */
export type TokenAnswers = {
  hasCode: boolean
  decimals: bigint | undefined
  /** Null where it is nothing that a person could read. */
  symbol: string | null | undefined
  profile: TokenProfile
  /** What its permits of ERC-2612 are signed for. */
  permitDomain: PermitDomain | undefined
}

/**
 * Reads what the contract at an address says of itself as a token. Providers that are silent now
 * may join later, as at every start; those that answer must agree.
 */
export async function readTokenAnswers(
  { all }: Pick<Providers, 'all'>,
  { address, signal }: { address: Hex; signal?: AbortSignal | undefined },
): Promise<TokenAnswers> {
  const { told, failed } = await askEach(all, (provider) => readBy(provider, address, signal))
  const [first, second] = campsOf(told, ({ value }) => wordsOf(value))
  if (second !== undefined) throw new TokenDiffersError(address, told)
  if (first !== undefined) return first[0].value
  throw failed[0]?.error ?? new ImpossibleError('there is a provider')
}

async function readBy(
  provider: Provider,
  address: Hex,
  signal: AbortSignal | undefined,
): Promise<TokenAnswers> {
  const ask = (method: string, params: readonly unknown[]): Promise<unknown> =>
    provider.request({ method, params, ...(signal && { signal }) })
  const call = async (data: Hex): Promise<ViewAnswer> => {
    try {
      return { result: await ask('eth_call', [{ to: address, data }, 'latest']) }
    } catch (error) {
      if (isRevert(error)) return { revertData: revertDataOf(error) }
      throw error
    }
  }
  const answer = { value: await ask('eth_getCode', [address, 'latest']), provider: provider.name }
  const code = readFrom(answer, (value) => bytes(value, 'code'))
  if (code === '0x') {
    const nothing = { decimals: undefined, symbol: undefined, permitDomain: undefined }
    return { hasCode: false, profile: 'erc20', ...nothing }
  }
  const chain = { value: await ask('eth_chainId', []), provider: provider.name }
  const chainId = Number(readFrom(chain, (value) => quantity(value, 'chain id')))
  const [decimals, symbol, hasMemos, isFiat, permitDomain] = await Promise.all([
    call(TOKEN_VIEWS.decimals),
    call(TOKEN_VIEWS.symbol),
    readsMemos(call),
    isFiatToken(call),
    readPermitDomain(async (data) => (await call(data)).result, { address, chainId }),
  ])
  return {
    hasCode: true,
    decimals: readWord(decimals.result),
    symbol: readSymbol(symbol.result),
    profile: hasMemos ? 'memo' : isFiat ? 'fiat_token' : 'erc20',
    permitDomain,
  }
}

/** The result of a call, or what it reverted with; neither: reverted without a word. */
type ViewAnswer = { result?: unknown; revertData?: Hex | undefined }

/**
 * For every caller, both functions first refuse an order without a reference. A token without them
 * reverts without data or succeeds in its fallback. Where a node does not return revert data, the
 * answer of the view `isMemoUsed` decides.
 */
async function readsMemos(call: (data: Hex) => Promise<ViewAnswer>): Promise<boolean> {
  const isUsed = await call(
    encodeFunctionData({
      abi: referenceDollarAbi,
      functionName: 'isMemoUsed',
      args: [NOBODY, ZERO_WORD],
    }),
  )
  if (readWord(isUsed.result) !== 0n) return false
  const refusals = await Promise.all([
    call(
      encodeFunctionData({
        abi: referenceDollarAbi,
        functionName: 'mintWithMemo',
        args: [NOBODY, 0n, ZERO_WORD],
      }),
    ),
    call(
      encodeFunctionData({
        abi: referenceDollarAbi,
        functionName: 'burnWithMemo',
        args: [0n, ZERO_WORD],
      }),
    ),
  ])
  return refusals.every(({ result, revertData = ZERO_MEMO }) => {
    return result === undefined && revertData === ZERO_MEMO
  })
}

/**
 * It has a frozen list, and minters with an allowance each. A contract that also answers an unknown
 * function is not one.
 */
async function isFiatToken(call: (data: Hex) => Promise<ViewAnswer>): Promise<boolean> {
  const answers = await Promise.all(
    FIAT_VIEWS.map((name) => call(`${selectorOf(name)}${ZERO_WORD.slice(2)}`)),
  )
  const unknown = await call(`0x${'f'.repeat(8)}`)
  return answers.every(({ result }) => readWord(result) === 0n) && unknown.result === undefined
}

const FIAT_VIEWS = ['isBlacklisted(address)', 'isMinter(address)', 'minterAllowance(address)']

const NOBODY: Hex = `0x${'0'.repeat(40)}`
const ZERO_WORD: Hex = `0x${'0'.repeat(64)}`
const ZERO_MEMO = toFunctionSelector('ZeroMemo()')

function wordsOf({ hasCode, decimals, symbol, profile, permitDomain }: TokenAnswers): string {
  if (!hasCode) return 'no contract'
  const counts = decimals === undefined ? 'no decimals' : `${shorten(String(decimals))} decimals`
  const permits = permitDomain === undefined ? 'no permits' : 'permits'
  return `${counts}, ${symbol ?? 'no symbol'}, ${profile}, ${permits}`
}

/** A number of 256 bits is no longer a line. */
export function shorten(digits: string): string {
  return digits.length <= 6 ? digits : `${digits.slice(0, 6)}…`
}

class TokenDiffersError extends BaseError {
  constructor(address: Hex, told: readonly FromProvider<TokenAnswers>[]) {
    const words = told.map(({ provider, value }) => `${provider} shows ${wordsOf(value)}`)
    super(
      `The providers differ about the token at ${address}: ${words.join('; ')}. ` +
        'One lags or lies: correct ETH_RPC_URL, or start again when they agree.',
      { code: 'providers_differ', retryable: true, details: { address } },
    )
  }
}
