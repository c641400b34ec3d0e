import { dropOwnDatabases } from './database.ts'

export const mochaHooks = {
  async afterAll(): Promise<void> {
    await dropOwnDatabases()
  },
}
