import { BaseError } from '../base/errors.ts'
import { KNOWN_CHAINS, plainName, type KnownChain } from '../base/chains/known.ts'

export type NetworkName = 'localhost' | keyof typeof KNOWN_CHAINS

/** A chain to deploy to. */
export type Network = Pick<KnownChain, 'title' | 'rpcUrl' | 'rpcVariable' | 'stack'> & {
  name: NetworkName
  /** Absent where any chain may answer, as on a local node. */
  chainId?: number
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
  ...KNOWN_CHAINS,
}

/** The network that a person named; the case and dashes do not matter. */
export function findNetwork(name: string): Network {
  const wanted = plainName(name)
  const found = Object.values(NETWORKS).find((network) => plainName(network.name) === wanted)
  if (found === undefined) throw unknownNetwork(name)
  return found
}

function unknownNetwork(name: string): NetworkError {
  const known = Object.keys(NETWORKS)
  return new NetworkError(
    `The network ${JSON.stringify(name)} is unknown. Use one of ${known.join(', ')}.`,
    { code: 'network_unknown', details: { name, known } },
  )
}

export class NetworkError extends BaseError {
  override readonly name = 'NetworkError'
}
