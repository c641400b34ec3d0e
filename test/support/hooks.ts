import { dropOwnDatabases } from './database.ts'
import { prepareData, removePrepared } from './prepared-data.ts'

export const mochaGlobalSetup = prepareData

export async function mochaGlobalTeardown(): Promise<void> {
  removePrepared()
  await dropOwnDatabases()
}
