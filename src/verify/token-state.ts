import { readWord, toQuantity } from '../chain/answers.ts'
import type { Hex } from '../chain/hex.ts'
import { campsOf } from '../chain/quorum.ts'
import { selectorOf } from '../chain/read/events.ts'
import { readDecimals, readSymbol, TOKEN_VIEWS } from '../chain/read/token.ts'
import { createAsker, type Asker } from './ask.ts'
import { addressField, checkOptions, type CheckedOptions, type VerifyOptions } from './claim.ts'
import type { Coin } from './coins.ts'
import type { Profile } from './profiles.ts'

/** The state of the token at the block. Undefined: the provider did not answer it. */
export type TokenState = {
  /** The code behind a proxy, which its admin can exchange. */
  implementation: Hex | undefined
  paused: boolean | undefined
  /** Whether the account that received, or redeemed, was frozen after the block. */
  frozen: boolean | undefined
  /** What the token calls itself. Another token may use the same symbol. */
  symbol: string | undefined
  /** How many digits of its amounts follow the decimal point. */
  decimals: number | undefined
}

export async function readTokenState(
  asker: Asker,
  at: { token: Hex; account: Hex | null; number: bigint; profile: Profile | undefined },
): Promise<TokenState> {
  const { token, account, profile } = at
  const block = toQuantity(at.number)
  const view = async (data: Hex): Promise<boolean | undefined> =>
    flagOf(await asker.ask('eth_call', { to: token, data }, block).catch(() => undefined))
  const slots = await Promise.all(
    IMPLEMENTATION_SLOTS.map((slot) =>
      asker.ask('eth_getStorageAt', token, slot, block).catch(() => undefined),
    ),
  )
  const frozenView = account === null ? undefined : profile?.frozenView
  return {
    ...(await readNames(asker, token)),
    implementation: slots.map(implementationOf).find((found) => found !== undefined),
    paused: await view(selectorOf('paused()')),
    frozen:
      frozenView === undefined
        ? undefined
        : await view(`${selectorOf(frozenView)}${'0'.repeat(24)}${account?.slice(2)}`),
  }
}

/** As it is now: no token changes them, and few nodes have old states. */
async function readNames(
  asker: Asker,
  token: Hex,
): Promise<Pick<TokenState, 'symbol' | 'decimals'>> {
  const [symbol, decimals] = await Promise.all(
    [TOKEN_VIEWS.symbol, TOKEN_VIEWS.decimals].map((data) =>
      asker.ask('eth_call', { to: token, data }, 'latest').catch(() => undefined),
    ),
  )
  return { symbol: plainSymbol(symbol), decimals: readDecimals(decimals) }
}

/**
 * A token's symbol and decimals, where enough providers say the same.
 *
 * @example
 *   ```ts
 *   import { plainProvider, readCoin } from 'quittance/verify'
 *
 *   const providers = [plainProvider('https://one.example'), plainProvider('https://two.example')]
 *   const coin = await readCoin('0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', { providers })
 *   console.log(coin?.symbol, coin?.decimals)
 *   ```
 */
export async function readCoin(token: string, options: VerifyOptions): Promise<Coin | undefined> {
  return coinFrom(addressField('token', token), checkOptions(options))
}

export async function coinFrom(
  token: Hex,
  asked: Pick<CheckedOptions, 'providers' | 'agreement' | 'signal'>,
): Promise<Coin | undefined> {
  const { providers, agreement, signal } = asked
  const told = await Promise.all(
    providers.map(async (provider) => ({
      name: provider.name,
      state: await readNames(createAsker(provider, signal), token),
    })),
  )
  const decimals = mostSay(told, 'decimals')
  if (decimals.value === undefined || decimals.names.length < agreement) return undefined
  const symbol = mostSay(told, 'symbol')
  const isAgreed = symbol.names.length >= agreement
  return { decimals: decimals.value, symbol: isAgreed ? symbol.value : undefined }
}

/**
 * What the providers that can say it say, each part by itself: a node without old states says
 * nothing, and is not blamed for that. Who alone says otherwise than most is an exception.
 */
export function commonState(told: readonly { name: string; state: TokenState }[]): {
  state: TokenState
  exceptions: string[]
} {
  const exceptions = new Set<string>()
  const common = <Part extends keyof TokenState>(part: Part): TokenState[Part] | undefined => {
    const { value, others } = mostSay(told, part)
    for (const name of others) exceptions.add(name)
    return value
  }
  const state = {
    implementation: common('implementation'),
    paused: common('paused'),
    frozen: common('frozen'),
    symbol: common('symbol'),
    decimals: common('decimals'),
  }
  return { state, exceptions: [...exceptions] }
}

/** The answer that most providers share. A tie decides nothing. */
function mostSay<State extends Partial<TokenState>, Part extends keyof State & keyof TokenState>(
  told: readonly { name: string; state: State }[],
  part: Part,
): { value: State[Part] | undefined; names: string[]; others: string[] } {
  const known = told.filter(({ state }) => state[part] !== undefined)
  const camps: (typeof known)[] = campsOf(known, ({ state }) => state[part])
  const [largest = [], second = []] = camps
  if (largest.length === second.length) return { value: undefined, names: [], others: [] }
  const others = known.filter((one) => !largest.includes(one))
  return { value: largest[0]?.state[part], names: largest.map(nameOf), others: others.map(nameOf) }
}

function nameOf({ name }: { name: string }): string {
  return name
}

/** EIP-1967, and the one that OpenZeppelin used before it, which USDC has. */
const IMPLEMENTATION_SLOTS = [
  '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc',
  '0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3',
]

function implementationOf(value: unknown): Hex | undefined {
  const word = readWord(value)
  return word && word < 1n << 160n ? `0x${word.toString(16).padStart(40, '0')}` : undefined
}

function flagOf(value: unknown): boolean | undefined {
  const word = readWord(value)
  return word === 0n || word === 1n ? word === 1n : undefined
}

/** Verdicts show it with amounts, so it has no letters of other scripts that look like Latin. */
function plainSymbol(answer: unknown): string | undefined {
  const symbol = readSymbol(answer) ?? ''
  return /^[!-~]{1,16}$/.test(symbol) ? symbol : undefined
}
