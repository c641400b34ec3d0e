import { expect } from 'chai'
import { sql } from 'kysely'

import { PATIENCE, type Patience } from '../../../src/store/database/connections.ts'
import { openDatabase, type Database } from '../../../src/store/database/database.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { findPostgres, startCluster, type Cluster } from '../../fixtures/store/cluster.ts'

const binaries = findPostgres()
// The servers are there wherever the suite runs on PostgreSQL, and nowhere else for certain.
if (process.env['DATABASE_URL'] !== undefined && binaries !== undefined) {
  describe('a database that fails over', () => {
    let cluster: Cluster
    let database: Database | undefined

    before(async () => {
      cluster = await startCluster({ binaries, synchronous: true })
      database = await openDatabase({ url: cluster.url })
      await sql`create table paid (id int primary key)`.execute(database.db)
    })
    afterEach(async () => {
      await cluster.resumeStandby()
      await database?.close()
      database = undefined
    })
    after(() => cluster.stop())

    const open = async (patience: Patience = PATIENCE): Promise<Database> => {
      database = await openDatabase({ url: cluster.url, patience })
      return database
    }
    const pay = ({ db }: Database, id: number): Promise<unknown> =>
      db.transaction().execute((open) => sql`insert into paid values (${id})`.execute(open))
    const paid = async ({ db }: Database): Promise<number[]> => {
      const { rows } = await sql<{ id: number }>`select id from paid order by id`.execute(db)
      return rows.map(({ id }) => id)
    }

    it('acknowledges no commit that its standby lacks', async () => {
      const impatient = await open({ ...PATIENCE, statementMs: 500, answerMs: 2500 })
      await pay(impatient, 1)
      await cluster.pauseStandby()
      const error = await failureOf(() => pay(impatient, 2))
      expect(error.code).to.equal('database_unavailable')
      expect(await paid(await open())).to.deep.equal([1])
    })

    it('is followed to the promoted standby, which a start waits for', async () => {
      const following = await open()
      await pay(following, 3)
      await cluster.killPrimary()
      const { opening, isWaiting } = openWhileStarting(cluster.url)
      expect(await Promise.race([isWaiting, opening])).to.equal(true)
      await cluster.promote()
      const started = await opening
      expect(await paid(started)).to.include.members([1, 3])
      await started.close()
      const seen = await paid(following).catch(() => paid(following))
      expect(seen).to.include.members([1, 3])
      await pay(following, 4)
    })
  })
}

function openWhileStarting(url: string) {
  const { promise: isWaiting, resolve } = Promise.withResolvers<boolean>()
  return { opening: openDatabase({ url, onStarting: () => resolve(true) }), isWaiting }
}
