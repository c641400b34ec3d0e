import { randomBytes } from 'node:crypto'

import type { Config } from '../../base/config.ts'
import { birthOf } from '../../base/process.ts'
import type { ReadyFacts } from '../../base/ready.ts'
import { checksummed } from '../../chain/hex.ts'
import { ensureDemoAccounts } from '../../store/access/demo-accounts.ts'
import type { Db } from '../../store/database/database.ts'
import type { RunningChain } from '../chain-parts.ts'
import type { OpenChain } from '../ground.ts'
import type { Paying } from '../sender.ts'

type Started = { config: Config; role: 'up' | 'serve' | 'work' }

/** The facts about the app that other programs read. */
export async function factsOf(
  started: Started,
  { db }: { db: Db },
  usual: RunningChain,
): Promise<ReadyFacts> {
  const { paying, contracts } = usual
  return {
    url: undefined,
    statusUrl: undefined,
    console: undefined,
    environment: started.config.environment,
    ...placeOf(usual),
    token: contracts.token,
    signers: paying.signers.own.map((one) => ({ ...one, address: checksummed(one.address) })),
    ...(await startDemo(started, db, paying)),
    pid: process.pid,
    birth: birthOf(process.pid),
  }
}

/** Where a chain is, and what is on it. */
export function placeOf({ chain, contracts }: Pick<OpenChain, 'chain' | 'contracts'>) {
  const { settlement, stablecoin } = contracts
  return { chainId: chain.chainId, rpcUrl: chain.url, settlement, stablecoin }
}

/**
 * The sandbox's own accounts. An operator who starts the parts one by one makes accounts with
 * `users` and `keys`.
 */
async function startDemo(
  { config, role }: Started,
  db: Db,
  { payments }: Paying,
): Promise<Partial<ReadyFacts>> {
  const { dataFolder, environment } = config
  if (role !== 'up' || environment !== 'sandbox') return {}
  const { groupB, ...others } = await ensureDemoAccounts({
    db,
    dataFolder,
    environment,
    randomBytes,
  })
  const address = checksummed(await payments.addressOf(groupB.userId))
  return { ...others, groupB: { ...groupB, address } }
}
