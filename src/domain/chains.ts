/** The ids that anvil, Hardhat and geth give a chain of one machine, where nothing is of worth. */
const DEVELOPMENT_CHAINS: ReadonlySet<number> = new Set([1337, 31_337])

export function isDevelopmentChain(chainId: number): boolean {
  return DEVELOPMENT_CHAINS.has(chainId)
}
