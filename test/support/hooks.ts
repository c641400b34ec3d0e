import { takeWaitsInTransactions } from './transaction-guard.ts'
import { closeShared, dropOwnDatabases } from './database.ts'
import { prepareData, removePrepared } from './prepared-data.ts'

const servers = process.env['DATABASE_URL']?.split(' ') ?? []
const worker = process.env['MOCHA_WORKER_ID']
// Each process that runs tests has a server by itself, where there are several.
if (worker !== undefined && servers.length > 1) {
  process.env['DATABASE_URL'] = servers[Number(worker) % servers.length]
}

export const mochaHooks = {
  afterEach(): void {
    const waits = takeWaitsInTransactions()
    if (waits.length > 0) throw new Error(waits.join('\n'))
  },
}

export const mochaGlobalSetup = prepareData

export async function mochaGlobalTeardown(): Promise<void> {
  removePrepared()
  await closeShared()
  for (const server of servers) await dropOwnDatabases(server)
}
