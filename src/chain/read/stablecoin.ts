import type { Hex } from 'viem'
import { encodeFunctionData, toFunctionSelector } from 'viem/utils'

import { BaseError } from '../../base/errors.ts'
import { referenceDollarAbi } from '../../bindings/abis.ts'
import { data as bytes, readFrom, readWord, type FromProvider } from '../answers.ts'
import { askEach, campsOf } from '../quorum.ts'
import type { Provider } from '../rpc/provider.ts'
import type { Providers } from '../rpc/providers.ts'
import { isRevert, revertDataOf } from '../rpc/rpc-error.ts'
import { readSymbol, TOKEN_VIEWS } from './token.ts'

/**
 * `memo`: its mints and burns name their order, as those of a ReferenceDollar do. `erc20`: it moves
 * money, and nothing on the chain tells which order a mint or a burn belongs to.
 */
export type TokenProfile = 'memo' | 'erc20'

/** What the configured stablecoin says of itself. */
export type TokenFacts = {
  /** Null where it is nothing that a person could read. */
  symbol: string | null
  decimals: number
  profile: TokenProfile
}

/** A dollar has six decimals wherever amounts are read, stored and shown. */
export const STABLECOIN_DECIMALS = 6

/**
 * Reads the token and refuses one that does not fit, so that no amount is ever counted in other
 * units than the token's. Providers that are silent now may join later, as at every start; those
 * that answer must agree.
 */
export async function readStablecoin(
  { all }: Pick<Providers, 'all'>,
  { address, signal }: { address: Hex; signal?: AbortSignal | undefined },
): Promise<TokenFacts> {
  const { told, failed } = await askEach(all, (provider) => readBy(provider, address, signal))
  const [first, second] = campsOf(told, ({ value }) => wordsOf(value))
  if (first === undefined) throw failed[0]?.error ?? noCode(address)
  if (second !== undefined) throw new TokenDiffersError(address, told)
  return requireFit(address, first[0].value)
}

/** Undefined is what the contract does not answer. */
type Found = {
  hasCode: boolean
  decimals: bigint | undefined
  symbol: string | null | undefined
  profile: TokenProfile
}

async function readBy(
  provider: Provider,
  address: Hex,
  signal: AbortSignal | undefined,
): Promise<Found> {
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
    return { hasCode: false, decimals: undefined, symbol: undefined, profile: 'erc20' }
  }
  const [decimals, symbol, hasMemos] = await Promise.all([
    call(TOKEN_VIEWS.decimals),
    call(TOKEN_VIEWS.symbol),
    readsMemos(call),
  ])
  return {
    hasCode: true,
    decimals: readWord(decimals.result),
    symbol: readSymbol(symbol.result),
    profile: hasMemos ? 'memo' : 'erc20',
  }
}

/** The result of a call, or what it reverted with; neither: reverted without a word. */
type ViewAnswer = { result?: unknown; revertData?: Hex | undefined }

/**
 * Both functions refuse an order without a reference before they look at anything else, whoever
 * calls, and a token without them reverts with nothing or succeeds in its fallback. A node that
 * keeps revert data to itself is believed for the view beside them.
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

const NOBODY: Hex = `0x${'0'.repeat(40)}`
const ZERO_WORD: Hex = `0x${'0'.repeat(64)}`
const ZERO_MEMO = toFunctionSelector('ZeroMemo()')

function requireFit(address: Hex, { hasCode, decimals, symbol, profile }: Found): TokenFacts {
  if (!hasCode) throw noCode(address)
  if (decimals === undefined) throw unfit(address, 'its decimals() answers no number')
  if (decimals !== BigInt(STABLECOIN_DECIMALS)) {
    throw unfit(address, `its decimals() is ${shorten(String(decimals))}`)
  }
  if (symbol === undefined) throw unfit(address, 'its symbol() answers no text')
  return { symbol, decimals: STABLECOIN_DECIMALS, profile }
}

function wordsOf({ hasCode, decimals, symbol, profile }: Found): string {
  if (!hasCode) return 'no contract'
  const counts = decimals === undefined ? 'no decimals' : `${shorten(String(decimals))} decimals`
  return `${counts}, ${symbol ?? 'no symbol'}, ${profile}`
}

/** A number of 256 bits is no longer a line. */
function shorten(digits: string): string {
  return digits.length <= 6 ? digits : `${digits.slice(0, 6)}…`
}

function noCode(address: Hex): UnfitTokenError {
  return new UnfitTokenError(
    `There is no contract at ${address} on this chain: found no code, expected a dollar token of ` +
      `${STABLECOIN_DECIMALS} decimals. Correct STABLECOIN_ADDRESS, or deploy one with: quittance deploy`,
    { code: 'contract_missing', details: { address } },
  )
}

function unfit(address: Hex, found: string): UnfitTokenError {
  return new UnfitTokenError(
    `The contract at ${address} is not a token to settle in: ${found}, and a dollar token of ` +
      `${STABLECOIN_DECIMALS} decimals is expected. ` +
      'Correct STABLECOIN_ADDRESS, or deploy one with: quittance deploy',
    { code: 'stablecoin_unfit', details: { address, found } },
  )
}

class UnfitTokenError extends BaseError {
  override readonly name = 'UnfitTokenError'
}

class TokenDiffersError extends BaseError {
  constructor(address: Hex, told: readonly FromProvider<Found>[]) {
    const words = told.map(({ provider, value }) => `${provider} shows ${wordsOf(value)}`)
    super(
      `The providers differ about the token at ${address}: ${words.join('; ')}. ` +
        'One lags or lies: correct ETH_RPC_URL, or start again when they agree.',
      { code: 'providers_differ', retryable: true, details: { address } },
    )
  }
}
