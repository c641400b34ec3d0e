import { MAX_SANDBOX_CHAINS, SANDBOX_CHAIN_ID } from '../base/chains/config.ts'

/** How a chain is called. */
export type ChainNames = {
  chainId: number
  /** By requests and records. */
  name: string
  /** By Group A. */
  code: string
  /** What gas is paid in there. */
  coin: string
}

/** The ids that anvil, Hardhat and geth give a chain of one machine, where nothing is of worth. */
const DEVELOPMENT_CHAINS: ReadonlySet<number> = new Set([
  1337,
  ...Array.from({ length: MAX_SANDBOX_CHAINS }, (_, place) => SANDBOX_CHAIN_ID + place),
])

export function isDevelopmentChain(chainId: number): boolean {
  return DEVELOPMENT_CHAINS.has(chainId)
}
