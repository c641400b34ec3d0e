import { BaseError } from '../base/errors.ts'

export type NetworkName =
  | 'localhost'
  | 'ethereum'
  | 'base'
  | 'arbitrum'
  | 'optimism'
  | 'polygon'
  | 'sepolia'
  | 'hoodi'
  | 'baseSepolia'
  | 'arbitrumSepolia'
  | 'optimismSepolia'
  | 'polygonAmoy'

export type Network = {
  name: NetworkName
  /** What it is called among people. */
  title: string
  /** Absent where any chain may answer, as on a local node. */
  chainId?: number
  /** A public endpoint that asks for no key; it may be slow, and an own one is better. */
  rpcUrl: string
  /** The variable, in the environment or in Hardhat's keystore, that names another endpoint. */
  rpcVariable: string
  /** How the chain charges: the OP Stack adds a fee for the data that it posts to its parent. */
  stack: 'ethereum' | 'op' | 'arbitrum'
  /** Where people look at an address. */
  explorer?: string
}

export const NETWORKS: Readonly<Record<NetworkName, Network>> = {
  localhost: {
    name: 'localhost',
    title: 'the local chain',
    rpcUrl: 'http://127.0.0.1:8545',
    rpcVariable: 'LOCALHOST_RPC_URL',
    stack: 'ethereum',
  },
  ethereum: {
    name: 'ethereum',
    title: 'Ethereum',
    chainId: 1,
    rpcUrl: 'https://ethereum-rpc.publicnode.com',
    rpcVariable: 'ETHEREUM_RPC_URL',
    stack: 'ethereum',
    explorer: 'https://etherscan.io',
  },
  base: {
    name: 'base',
    title: 'Base',
    chainId: 8453,
    rpcUrl: 'https://mainnet.base.org',
    rpcVariable: 'BASE_RPC_URL',
    stack: 'op',
    explorer: 'https://basescan.org',
  },
  arbitrum: {
    name: 'arbitrum',
    title: 'Arbitrum One',
    chainId: 42_161,
    rpcUrl: 'https://arb1.arbitrum.io/rpc',
    rpcVariable: 'ARBITRUM_RPC_URL',
    stack: 'arbitrum',
    explorer: 'https://arbiscan.io',
  },
  optimism: {
    name: 'optimism',
    title: 'OP Mainnet',
    chainId: 10,
    rpcUrl: 'https://mainnet.optimism.io',
    rpcVariable: 'OPTIMISM_RPC_URL',
    stack: 'op',
    explorer: 'https://optimistic.etherscan.io',
  },
  polygon: {
    name: 'polygon',
    title: 'Polygon',
    chainId: 137,
    rpcUrl: 'https://polygon-bor-rpc.publicnode.com',
    rpcVariable: 'POLYGON_RPC_URL',
    stack: 'ethereum',
    explorer: 'https://polygonscan.com',
  },
  sepolia: {
    name: 'sepolia',
    title: 'Sepolia',
    chainId: 11_155_111,
    rpcUrl: 'https://ethereum-sepolia-rpc.publicnode.com',
    rpcVariable: 'SEPOLIA_RPC_URL',
    stack: 'ethereum',
    explorer: 'https://sepolia.etherscan.io',
  },
  hoodi: {
    name: 'hoodi',
    title: 'Hoodi',
    chainId: 560_048,
    rpcUrl: 'https://ethereum-hoodi-rpc.publicnode.com',
    rpcVariable: 'HOODI_RPC_URL',
    stack: 'ethereum',
    explorer: 'https://hoodi.etherscan.io',
  },
  baseSepolia: {
    name: 'baseSepolia',
    title: 'Base Sepolia',
    chainId: 84_532,
    rpcUrl: 'https://sepolia.base.org',
    rpcVariable: 'BASE_SEPOLIA_RPC_URL',
    stack: 'op',
    explorer: 'https://sepolia.basescan.org',
  },
  arbitrumSepolia: {
    name: 'arbitrumSepolia',
    title: 'Arbitrum Sepolia',
    chainId: 421_614,
    rpcUrl: 'https://sepolia-rollup.arbitrum.io/rpc',
    rpcVariable: 'ARBITRUM_SEPOLIA_RPC_URL',
    stack: 'arbitrum',
    explorer: 'https://sepolia.arbiscan.io',
  },
  optimismSepolia: {
    name: 'optimismSepolia',
    title: 'OP Sepolia',
    chainId: 11_155_420,
    rpcUrl: 'https://sepolia.optimism.io',
    rpcVariable: 'OPTIMISM_SEPOLIA_RPC_URL',
    stack: 'op',
    explorer: 'https://sepolia-optimism.etherscan.io',
  },
  polygonAmoy: {
    name: 'polygonAmoy',
    title: 'Polygon Amoy',
    chainId: 80_002,
    rpcUrl: 'https://polygon-amoy-bor-rpc.publicnode.com',
    rpcVariable: 'POLYGON_AMOY_RPC_URL',
    stack: 'ethereum',
    explorer: 'https://amoy.polygonscan.com',
  },
}

/** The network that a person named; the case and dashes do not matter. */
export function findNetwork(name: string): Network {
  const wanted = plain(name)
  const found = Object.values(NETWORKS).find((network) => plain(network.name) === wanted)
  if (found === undefined) throw unknownNetwork(name)
  return found
}

function plain(name: string): string {
  return name.replaceAll(/[-_ ]/g, '').toLowerCase()
}

function unknownNetwork(name: string): NetworkError {
  const known = Object.keys(NETWORKS)
  return new NetworkError(
    `The network ${JSON.stringify(name)} is not known. Name one of ${known.join(', ')}.`,
    { code: 'network_unknown', details: { name, known } },
  )
}

export class NetworkError extends BaseError {
  override readonly name = 'NetworkError'
}
