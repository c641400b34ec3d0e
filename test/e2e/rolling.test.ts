import { join } from 'node:path'

import { expect } from 'chai'

import { startAnvil, type EmbeddedChain } from '../../src/chain/embedded/anvil.ts'
import { openDatabase, type Database } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { startBalancer } from '../engines/chaos/balancer.ts'
import { startFleet } from '../engines/chaos/fleet.ts'
import { send } from '../engines/chaos/payer.ts'
import { makeKey, makeUser } from '../fixtures/api/access.ts'
import { DOLLAR, makeWallets } from '../fixtures/books/money.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { emptyDatabaseUrl } from '../fixtures/store/database.ts'

// Processes can only share a server.
if (process.env['DATABASE_URL'] !== undefined) {
  describe('a rolling restart under load', () => {
    let folder: ReturnType<typeof temporaryFolder>
    let chain: EmbeddedChain
    let database: Database

    before(async () => {
      folder = temporaryFolder()
      chain = await startAnvil({
        folder: join(folder.path, 'chain'),
        blockMs: 200,
        mnemonic: 'test test test test test test test test test test test junk',
      })
    })
    after(async () => {
      await database.close()
      await chain.stop()
      folder.remove()
    })

    it('fails no request, and loses no transfer', async () => {
      const url = (await emptyDatabaseUrl()) ?? ''
      database = await openDatabase({ url })
      const { db } = database
      await migrate(db)
      const user = await makeUser(db)
      const { text: apiKey } = await makeKey(db, { user })
      const { main, second } = await makeWallets(db, user.id, 1_000_000n * DOLLAR)
      const env = {
        DATABASE_URL: url,
        ETH_RPC_URL: chain.url,
        QUITTANCE_DRAIN_SECONDS: '1',
        QUITTANCE_LOG_LEVEL: 'fatal',
      }
      const ended: string[] = []
      const roles = ['serve', 'serve', 'work'] as const
      const onEnd = (sentence: string): void => void ended.push(sentence)
      const fleet = await startFleet({ roles, folder: folder.path, env, onEnd })
      const balancer = startBalancer(fleet.urls)
      const body = JSON.stringify({
        source: { type: 'wallet', id: String(main) },
        destination: { type: 'wallet', id: String(second) },
        amount: '1.00',
      })
      const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
      const statuses: Array<number | undefined> = []
      let isOver = false
      const client = async (): Promise<void> => {
        while (!isOver) {
          const init = { method: 'POST', headers, body }
          const answer = await send(`${balancer.next()}/v1/transfers`, init)
          statuses.push(answer?.status)
          await new Promise((later) => setTimeout(later, 200))
        }
      }
      const clients = Promise.all(Array.from({ length: 2 }, client))
      await fleet.roll(balancer.untilReady)
      isOver = true
      await clients
      const read = await send(`${balancer.next()}/v1/wallets/${second}`, { headers })
      await balancer.stop()
      await fleet.stop()
      expect(new Set(statuses)).to.deep.equal(new Set([201]))
      expect(read?.body).to.have.nested.property('data.balance', `${statuses.length}.00`)
      expect(ended).to.deep.equal([])
    })
  })
}
