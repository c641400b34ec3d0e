import { join } from 'node:path'

import { network as hardhatNetwork } from 'hardhat'
import { createClient, custom } from 'viem'
import { toAccount } from 'viem/accounts'
import { getAddresses } from 'viem/actions'

import { parseConfig } from '../src/base/config.ts'
import { createDeployer } from '../src/deploy/deploy.ts'
import { parseOnly } from '../src/deploy/deployables.ts'
import { findNetwork } from '../src/deploy/networks.ts'
import { createDeploymentRecords } from '../src/deploy/records.ts'
import { eventLine, planLines } from '../src/deploy/report.ts'

// Does what `quittance deploy` does, with the key that Hardhat's keystore keeps:
// npx hardhat run scripts/deploy.ts --network sepolia
// Hardhat passes no flags on, so ONLY=settlement in the environment stands for --only settlement.
const connection = await hardhatNetwork.create()
const network = findNetwork(connection.networkName)
const client = createClient({ transport: custom(connection.provider) })
const [account] = await getAddresses(client)
if (account === undefined) throw new Error(`Hardhat has no account for ${network.title}.`)

const only = process.env['ONLY']

const deployer = createDeployer({
  client,
  account: toAccount(account),
  network,
  only: only === undefined ? undefined : parseOnly(only),
  records: createDeploymentRecords(join(parseConfig(process.env).dataFolder, 'deployments')),
  onProgress: (event) => console.log(eventLine(event)),
})
for (const line of planLines(await deployer.plan(), network)) console.log(line)
const { done } = await deployer.execute()
if (done.length === 0) console.log('Everything is deployed already. Nothing was changed.')
await connection.close()
