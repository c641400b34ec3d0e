import { join } from 'node:path'

import { expect } from 'chai'

import { startAnvil, type EmbeddedChain } from '../../src/chain/embedded/anvil.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { runProgram } from '../fixtures/program.ts'
import { startCuttingProxy } from '../fixtures/store/cutting-proxy.ts'
import { emptyDatabaseUrl } from '../fixtures/store/database.ts'

// Only a server has connections that can be cut.
if (process.env['DATABASE_URL'] !== undefined) {
  describe('a start whose database goes between two queries ends in a sentence', () => {
    let folder: ReturnType<typeof temporaryFolder>
    let chain: EmbeddedChain
    let migrated: string
    let empty: string

    before(async () => {
      folder = temporaryFolder()
      chain = await startAnvil({
        folder: join(folder.path, 'chain'),
        blockMs: 100,
        mnemonic: 'test test test test test test test test test test test junk',
      })
      empty = (await emptyDatabaseUrl()) ?? ''
      migrated = (await emptyDatabaseUrl()) ?? ''
      const { db, close } = await openDatabase({ url: migrated })
      await migrate(db)
      await close()
    })

    after(async () => {
      await chain.stop()
      folder.remove()
    })

    const endsWell = async (command: string, queries: number): Promise<void> => {
      const target = command === 'migrate' || command === 'up' ? empty : migrated
      const proxy = await startCuttingProxy({ target, queries })
      const program = runProgram([command], {
        DATABASE_URL: proxy.url,
        ETH_RPC_URL: chain.url,
        PORT: '0',
        QUITTANCE_DATA: join(folder.path, `${command}-${queries}`),
        QUITTANCE_LOG_LEVEL: 'silent',
      })
      // One that is ready has been asked for too many queries, and would stay.
      const ready = program.untilReady().then(
        () => 'ready' as const,
        () => program.ended,
      )
      const code = await Promise.race([program.ended, ready])
      program.kill('SIGKILL')
      await program.ended
      const { stdout, stderr } = program.output()
      const isCut = proxy.isCut()
      await proxy.stop()
      const what = `${command} after ${queries} queries: ${stdout}${stderr}`
      expect(isCut, what).to.equal(true)
      expect(code, what).to.equal(2)
      expect(stderr, what).to.match(/database|PostgreSQL/)
      expect(stderr, what).not.to.match(/^ {4}at /m)
      expect(stderr.trim().split('\n'), what).to.have.length(1)
    }

    for (const [command, places] of Object.entries({
      up: [1, 12],
      serve: [0, 2, 5],
      work: [1, 4],
      migrate: [0, 4, 9],
      reconcile: [1, 5],
    })) {
      it(command, async () => {
        await Promise.all(places.map((queries) => endsWell(command, queries)))
      })
    }
  })
}
