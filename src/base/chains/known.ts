/** How a chain charges: the OP Stack adds a fee for the data that it posts to its parent. */
export type Stack = 'ethereum' | 'op' | 'arbitrum'

/** What is known of a chain by its name, so that nobody has to look it up. */
export type KnownChain = {
  name: string
  /** What it is called among people. */
  title: string
  chainId: number
  /** As Group A calls it. Of a testnet the same as of its main net, as in Circle's sandbox. */
  code: string
  /** The coin that gas is paid in. */
  coin: string
  /** A public endpoint that asks for no key; it may be slow, and an own one is better. */
  rpcUrl: string
  /** The variable, in the environment or in Hardhat's keystore, that names another endpoint. */
  rpcVariable: string
  stack: Stack
  /**
   * Where a sequencer or a few validators make the blocks, their number says nothing: there the
   * chain itself says what is final.
   */
  finality: number | 'finalized'
  /** Where people look at an address. */
  explorer: string
}

export const KNOWN_CHAINS = {
  ethereum: {
    name: 'ethereum',
    title: 'Ethereum',
    chainId: 1,
    code: 'ETH',
    coin: 'ETH',
    rpcUrl: 'https://ethereum-rpc.publicnode.com',
    rpcVariable: 'ETHEREUM_RPC_URL',
    stack: 'ethereum',
    finality: 12,
    explorer: 'https://etherscan.io',
  },
  base: {
    name: 'base',
    title: 'Base',
    chainId: 8453,
    code: 'BASE',
    coin: 'ETH',
    rpcUrl: 'https://mainnet.base.org',
    rpcVariable: 'BASE_RPC_URL',
    stack: 'op',
    finality: 'finalized',
    explorer: 'https://basescan.org',
  },
  arbitrum: {
    name: 'arbitrum',
    title: 'Arbitrum One',
    chainId: 42_161,
    code: 'ARB',
    coin: 'ETH',
    rpcUrl: 'https://arb1.arbitrum.io/rpc',
    rpcVariable: 'ARBITRUM_RPC_URL',
    stack: 'arbitrum',
    finality: 'finalized',
    explorer: 'https://arbiscan.io',
  },
  optimism: {
    name: 'optimism',
    title: 'OP Mainnet',
    chainId: 10,
    code: 'OP',
    coin: 'ETH',
    rpcUrl: 'https://mainnet.optimism.io',
    rpcVariable: 'OPTIMISM_RPC_URL',
    stack: 'op',
    finality: 'finalized',
    explorer: 'https://optimistic.etherscan.io',
  },
  polygon: {
    name: 'polygon',
    title: 'Polygon',
    chainId: 137,
    code: 'MATIC',
    coin: 'POL',
    rpcUrl: 'https://polygon-bor-rpc.publicnode.com',
    rpcVariable: 'POLYGON_RPC_URL',
    stack: 'ethereum',
    finality: 'finalized',
    explorer: 'https://polygonscan.com',
  },
  sepolia: {
    name: 'sepolia',
    title: 'Sepolia',
    chainId: 11_155_111,
    code: 'ETH',
    coin: 'ETH',
    rpcUrl: 'https://ethereum-sepolia-rpc.publicnode.com',
    rpcVariable: 'SEPOLIA_RPC_URL',
    stack: 'ethereum',
    finality: 12,
    explorer: 'https://sepolia.etherscan.io',
  },
  hoodi: {
    name: 'hoodi',
    title: 'Hoodi',
    chainId: 560_048,
    code: 'ETH',
    coin: 'ETH',
    rpcUrl: 'https://ethereum-hoodi-rpc.publicnode.com',
    rpcVariable: 'HOODI_RPC_URL',
    stack: 'ethereum',
    finality: 12,
    explorer: 'https://hoodi.etherscan.io',
  },
  baseSepolia: {
    name: 'baseSepolia',
    title: 'Base Sepolia',
    chainId: 84_532,
    code: 'BASE',
    coin: 'ETH',
    rpcUrl: 'https://sepolia.base.org',
    rpcVariable: 'BASE_SEPOLIA_RPC_URL',
    stack: 'op',
    finality: 'finalized',
    explorer: 'https://sepolia.basescan.org',
  },
  arbitrumSepolia: {
    name: 'arbitrumSepolia',
    title: 'Arbitrum Sepolia',
    chainId: 421_614,
    code: 'ARB',
    coin: 'ETH',
    rpcUrl: 'https://sepolia-rollup.arbitrum.io/rpc',
    rpcVariable: 'ARBITRUM_SEPOLIA_RPC_URL',
    stack: 'arbitrum',
    finality: 'finalized',
    explorer: 'https://sepolia.arbiscan.io',
  },
  optimismSepolia: {
    name: 'optimismSepolia',
    title: 'OP Sepolia',
    chainId: 11_155_420,
    code: 'OP',
    coin: 'ETH',
    rpcUrl: 'https://sepolia.optimism.io',
    rpcVariable: 'OPTIMISM_SEPOLIA_RPC_URL',
    stack: 'op',
    finality: 'finalized',
    explorer: 'https://sepolia-optimism.etherscan.io',
  },
  polygonAmoy: {
    name: 'polygonAmoy',
    title: 'Polygon Amoy',
    chainId: 80_002,
    code: 'MATIC',
    coin: 'POL',
    rpcUrl: 'https://polygon-amoy-bor-rpc.publicnode.com',
    rpcVariable: 'POLYGON_AMOY_RPC_URL',
    stack: 'ethereum',
    finality: 'finalized',
    explorer: 'https://amoy.polygonscan.com',
  },
} as const satisfies Record<string, KnownChain>

const ALL: readonly KnownChain[] = Object.values(KNOWN_CHAINS)

/** The chain that a person named; the case and dashes do not matter. */
export function findKnownChain(name: string): KnownChain | undefined {
  return ALL.find((chain) => plainName(chain.name) === plainName(name))
}

export function findKnownChainById(chainId: number): KnownChain | undefined {
  return ALL.find((chain) => chain.chainId === chainId)
}

export function plainName(name: string): string {
  return name.replaceAll(/[-_ ]/g, '').toLowerCase()
}
