import {
  createClient,
  fallback,
  http,
  type Account,
  type Address,
  type Client,
  type Transport,
} from 'viem'
import { privateKeyToAccount, toAccount } from 'viem/accounts'
import { getAddresses } from 'viem/actions'

import { checksummed, parseAddress } from '../chain/hex.ts'
import { wellKnownOwner } from '../chain/signers/well-known-signers.ts'
import { createDeployer, type Deployer, type DeployerOptions } from './deploy.ts'
import { parseOnly } from './deployables.ts'
import { ask, DeployError } from './errors.ts'
import { MAX_ALLOWANCE } from './minter.ts'
import { findMissing, type Missing } from './missing.ts'
import type { Network } from './networks.ts'

/** A deployment as somebody asks for it: in texts, which are checked here. */
export type DeployRequest = {
  network: Network
  /** Several are asked in turn when one fails. */
  rpcUrls: readonly string[]
  /** 32 bytes in hexadecimal. Absent: the first account of a local node, which signs by itself. */
  key?: string | undefined
  /** Then the admin will do for an account, since nothing is signed. */
  planOnly?: boolean
  admin?: string | undefined
  /** The one contract to deploy, settlement or stablecoin; absent for both. */
  only?: string | undefined
  minter?: { address: string; allowance: bigint } | undefined
}

export type ConnectedDeployer = Deployer & {
  account: Address
  /** What the platform that signs with the address still lacks, by what is there now. */
  missing: (of: { platform: Address | undefined; token: Address | undefined }) => Promise<Missing[]>
}

type Rest = Pick<DeployerOptions, 'records' | 'onProgress' | 'waiting'>

export async function connectDeployer(
  request: DeployRequest,
  rest: Rest,
): Promise<ConnectedDeployer> {
  const { network } = request
  const admin = request.admin === undefined ? undefined : addressOf('admin', request.admin)
  const only = request.only === undefined ? undefined : parseOnly(request.only)
  const minter = parseMinter(request.minter)
  if (request.rpcUrls.length === 0) throw noRpcUrl(network)
  const client = createClient({ transport: transportOf(request.rpcUrls) })
  const account = await accountOf(client, request)
  const deployer = createDeployer({ client, account, network, admin, only, minter, ...rest })
  return {
    ...deployer,
    account: account.address,
    missing: (of) => findMissing(client, { ...of, admin: admin ?? account.address }),
  }
}

/** One address is asked again when it fails; of several, the next one is asked instead. */
function transportOf(rpcUrls: readonly string[]): Transport {
  const timeout = 10_000
  const [only, another] = rpcUrls
  if (only !== undefined && another === undefined) return http(only, { timeout, retryCount: 2 })
  return fallback(rpcUrls.map((url) => http(url, { timeout, retryCount: 0 })))
}

async function accountOf(client: Client, request: DeployRequest): Promise<Account> {
  const { key, network, planOnly = false, admin } = request
  if (key !== undefined) return requireOwn(parseKey(key), network)
  if (planOnly && admin !== undefined) return toAccount(addressOf('admin', admin))
  if (network.chainId !== undefined) throw noKey(network)
  const [own] = await ask('which accounts it signs for', () => getAddresses(client))
  if (own === undefined) throw noKey(network)
  return toAccount(own)
}

function parseKey(key: string): Account {
  const digits = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(key.trim())?.[1]
  if (digits === undefined) throw badKey()
  try {
    return privateKeyToAccount(`0x${digits}`)
  } catch {
    // The cause may quote the key, so it is left out.
    throw badKey()
  }
}

/** What a public chain pays to such an account, or lets it govern, anybody can take. */
function requireOwn(account: Account, { chainId, title }: Network): Account {
  const owner = wellKnownOwner(account.address)
  if (chainId === undefined || owner === undefined) return account
  throw new DeployError(
    `QUITTANCE_DEPLOYER_KEY is the key of ${account.address}, which is ${owner}: everyone can ` +
      `sign with it on ${title}. Use your own key.`,
    { code: 'deploy_key_known', details: { address: account.address } },
  )
}

function parseMinter(minter: DeployRequest['minter']): DeployerOptions['minter'] {
  if (minter === undefined) return undefined
  const address = addressOf('minter', minter.address)
  if (minter.allowance > 0n && minter.allowance <= MAX_ALLOWANCE) {
    return { address, allowance: minter.allowance }
  }
  throw new DeployError(
    `A minter can mint from 1 to ${MAX_ALLOWANCE} of the token's smallest units, not ${minter.allowance}. Choose another allowance.`,
    { code: 'deploy_allowance_invalid', details: { allowance: minter.allowance.toString() } },
  )
}

function addressOf(role: string, text: string): Address {
  const address = parseAddress(text)
  if (address !== undefined) return checksummed(address)
  throw new DeployError(
    `The ${role} ${JSON.stringify(text)} is not an address, or its checksum is wrong. Copy it again.`,
    { code: 'deploy_address_invalid', details: { role, text } },
  )
}

function badKey(): DeployError {
  return new DeployError(
    'The deployer key is not a private key. Set QUITTANCE_DEPLOYER_KEY to 64 hexadecimal digits.',
    { code: 'deploy_key_invalid' },
  )
}

function noKey({ name, title }: Network): DeployError {
  return new DeployError(
    `There is no key to deploy to ${title} with. Set QUITTANCE_DEPLOYER_KEY, or keep it with "npx hardhat keystore set QUITTANCE_DEPLOYER_KEY" and run "npx hardhat run scripts/deploy.ts --network ${name}".`,
    { code: 'deploy_key_missing', details: { network: name } },
  )
}

function noRpcUrl({ name, rpcVariable }: Network): DeployError {
  return new DeployError(
    `There is no RPC address for ${name}. Pass --rpc-url or set ${rpcVariable}.`,
    { code: 'deploy_rpc_missing', details: { network: name } },
  )
}
