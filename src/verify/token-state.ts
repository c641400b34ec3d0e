import { selectorOf } from '../chain/events.ts'
import type { Hex } from '../chain/hex.ts'
import { hexOf, type Asker } from './ask.ts'
import type { Profile } from './profiles.ts'

/** How the token stood at the block. Undefined is what the provider could not tell. */
export type TokenState = {
  /** The code behind a proxy, which its admin can exchange. */
  implementation: Hex | undefined
  paused: boolean | undefined
  /** Whether the account that received, or redeemed, was frozen after the block. */
  frozen: boolean | undefined
}

export async function readTokenState(
  asker: Asker,
  at: { token: Hex; account: Hex | null; number: bigint; profile: Profile | undefined },
): Promise<TokenState> {
  const { token, account, profile } = at
  const block = hexOf(at.number)
  const view = async (data: Hex): Promise<boolean | undefined> =>
    flagOf(await asker.ask('eth_call', { to: token, data }, block).catch(() => undefined))
  const slots = await Promise.all(
    IMPLEMENTATION_SLOTS.map((slot) =>
      asker.ask('eth_getStorageAt', token, slot, block).catch(() => undefined),
    ),
  )
  const frozenView = account === null ? undefined : profile?.frozenView
  return {
    implementation: slots.map(implementationOf).find((found) => found !== undefined),
    paused: await view(selectorOf('paused()')),
    frozen:
      frozenView === undefined
        ? undefined
        : await view(`${selectorOf(frozenView)}${'0'.repeat(24)}${account?.slice(2)}`),
  }
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
    const known = told.filter(({ state }) => state[part] !== undefined)
    const values = [...new Set(known.map(({ state }) => state[part]))]
    const camps = values.map((value) => known.filter(({ state }) => state[part] === value))
    const [largest = [], second = []] = camps.toSorted((a, b) => b.length - a.length)
    // Where both sides are as many, nobody can tell which of them is right.
    if (largest.length === second.length) return undefined
    const others = known.filter((one) => !largest.includes(one))
    for (const { name } of others) exceptions.add(name)
    return largest[0]?.state[part]
  }
  const state = {
    implementation: common('implementation'),
    paused: common('paused'),
    frozen: common('frozen'),
  }
  return { state, exceptions: [...exceptions] }
}

/** EIP-1967, and the one that OpenZeppelin used before it, which USDC has. */
const IMPLEMENTATION_SLOTS = [
  '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc',
  '0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3',
]

function implementationOf(value: unknown): Hex | undefined {
  const isAddress = typeof value === 'string' && /^0x0{24}[0-9a-f]{40}$/i.test(value)
  return isAddress && !/^0x0+$/.test(value)
    ? (`0x${value.slice(26)}`.toLowerCase() as Hex)
    : undefined
}

function flagOf(value: unknown): boolean | undefined {
  const isFlag = typeof value === 'string' && /^0x0{63}[01]$/.test(value)
  return isFlag ? value.endsWith('1') : undefined
}
