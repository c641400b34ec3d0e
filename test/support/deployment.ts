import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { createClient, custom, http, type Client } from 'viem'
import { mnemonicToAccount, type HDAccount } from 'viem/accounts'

import { createDeployer, type Deployer, type DeployerOptions } from '../../src/chain/deploy.ts'
import {
  createDeploymentRecords,
  type DeploymentRecords,
} from '../../src/chain/deployment-records.ts'
import { NETWORKS } from '../../src/chain/networks.ts'
import type { TestChain } from './anvil.ts'

export type RpcCall = { method: string; params: readonly unknown[] }
export type Forward = () => Promise<unknown>
/** Stands between a program and its chain, and may answer in its place. */
export type Interceptor = (call: RpcCall, forward: Forward) => Promise<unknown>

/** The accounts that every test chain gives money to. */
export function account(index: number): HDAccount {
  return mnemonicToAccount('test test test test test test test test test test test junk', {
    addressIndex: index,
  })
}

/** A deployer that does not wait long; pass what the test is about. */
export function deployerOn(
  chain: TestChain,
  options: Partial<DeployerOptions> & Pick<DeployerOptions, 'records'>,
): Deployer {
  return createDeployer({
    client: chain.client,
    account: account(0),
    network: NETWORKS.localhost,
    ...options,
    waiting: { pollIntervalMs: 5, timeoutMs: 2_000, ...options.waiting },
  })
}

export function clientThrough(chain: TestChain, intercept: Interceptor): Client {
  const line = http(chain.url)({ retryCount: 0 })
  const request = (call: { method: string; params?: readonly unknown[] }) =>
    intercept({ params: [], ...call }, () => line.request(call))
  return createClient({ transport: custom({ request }, { retryCount: 0 }), cacheTime: 0 })
}

export async function recordsFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'quittance-deployments-'))
  return {
    folder,
    records: createDeploymentRecords(folder),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** For a deployment whose traces a test does not look at. */
export const forgetfulRecords: DeploymentRecords = {
  read: (chainId) => Promise.resolve({ version: 1, chainId, entries: [] }),
  append: () => Promise.resolve(),
}
