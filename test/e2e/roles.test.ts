import { join } from 'node:path'

import { expect } from 'chai'
import { sql } from 'kysely'
import { Client } from 'pg'

import { startAnvil, type EmbeddedChain } from '../../src/chain/embedded/anvil.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { makeKey, makeUser } from '../fixtures/api/access.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { runProgram, runToEnd, type Program } from '../fixtures/program.ts'
import { emptyDatabaseUrl } from '../fixtures/store/database.ts'
import { until } from '../fixtures/until.ts'

// Processes can only share a server, so these cases exist in the run on PostgreSQL alone.
if (process.env['DATABASE_URL'] !== undefined) {
  describe('serve and work on one PostgreSQL', () => {
    let folder: ReturnType<typeof temporaryFolder>
    let chain: EmbeddedChain
    let shared: Record<string, string>
    const programs: Program[] = []

    before(async () => {
      folder = temporaryFolder()
      chain = await startAnvil({
        folder: join(folder.path, 'chain'),
        blockMs: 100,
        mnemonic: 'test test test test test test test test test test test junk',
      })
      const url = await emptyDatabaseUrl()
      const QUITTANCE_DATA = join(folder.path, 'none')
      shared = { DATABASE_URL: url ?? '', ETH_RPC_URL: chain.url, PORT: '0', QUITTANCE_DATA }
    })

    after(async () => {
      await chain.stop()
      folder.remove()
    })

    afterEach(async () => {
      for (const program of programs.splice(0)) {
        program.kill('SIGTERM')
        await program.ended
      }
    })

    const start = (role: string, name: string): Program => {
      const own = { QUITTANCE_DATA: join(folder.path, name), QUITTANCE_STATUS_PORT: '0' }
      const program = runProgram([role], { ...shared, ...own })
      programs.push(program)
      return program
    }

    it('wait for no one to migrate: they say what is missing', async () => {
      const answer = await runToEnd(['serve'], shared)
      expect(answer.code).to.equal(2)
      expect(answer.stderr).to.include('quittance migrate')
    })

    it('run side by side after migrate, and each stops by itself', async () => {
      expect(await runToEnd(['migrate'], shared)).to.include({ code: 0 })
      const started = [start('serve', 'a'), start('serve', 'b'), start('work', 'c')]
      const facts = await Promise.all(started.map((program) => program.untilReady()))
      for (const { statusUrl } of facts) {
        const answer = await (await fetchInTurn(`${statusUrl}/readyz`)).json()
        expect(answer).to.have.property('status', 'ready')
      }
      const [, , worker] = facts
      expect(worker?.url).to.equal(undefined)
      const metrics = await (await fetchInTurn(`${worker?.statusUrl}/metrics`)).text()
      expect(metrics).to.match(/^quittance_final_transactions_total\{chain="local"\} 0$/m)
      expect(await fetchInTurn(`${worker?.statusUrl}/api/transactions`)).to.have.property(
        'status',
        404,
      )
      for (const program of started) {
        program.kill('SIGTERM')
        expect(await program.ended).to.equal(0)
      }
    })

    it('leave their records to a reconcile that runs beside them, or alone', async () => {
      const alone = await runToEnd(['reconcile', '--json'], shared)
      expect(alone.code, alone.stderr).to.equal(0)
      const { summary } = JSON.parse(alone.stdout)
      expect(summary).to.include({ source: 'store', chain_id: 31_337, records: 0, breaks: 0 })
      start('work', 'd')
      expect(await runToEnd(['reconcile'], shared)).to.include({ code: 0 })
      const noNode = { ...shared, ETH_RPC_URL: undefined }
      expect(await runToEnd(['reconcile'], noNode)).to.include({ code: 2 })
    })

    it('wake each other: serve rings for a payment, and work listens', async () => {
      const { url } = await start('serve', 'e').untilReady()
      await start('work', 'f').untilReady()
      const database = await openDatabase({ url: shared['DATABASE_URL'] })
      const line = new Client({ connectionString: shared['DATABASE_URL'] })
      await line.connect()
      const rung: string[] = []
      line.on('notification', ({ payload = '' }) => rung.push(payload.replace(/^\S+ /, '')))
      await line.query('listen quittance')
      const { db } = database
      await until(async () => {
        const { rows } = await sql`select 1 from pg_stat_activity where
          datname = current_database() and query = 'listen quittance'`.execute(db)
        return rows.length === 3
      })
      const { text } = await makeKey(db, { user: await makeUser(db) })
      const headers = { 'x-api-key': text, 'content-type': 'application/json' }
      const purse = await fetchInTurn(`${url}/api/blockchain/balance`, { headers })
      const { address } = (await purse.json()) as { address: string }
      const params = [address, '0xde0b6b3a7640000']
      await callRpc({ url: chain.url, method: 'anvil_setBalance', params })
      const to_address = `0x${'0'.repeat(38)}aa`
      const payment = { to_address, amount: '0.1', description: 'to be woken for' }
      const init = { method: 'POST', headers, body: JSON.stringify(payment) }
      const paid = await fetchInTurn(`${url}/api/blockchain/transactions`, init)
      expect(paid.status).to.equal(201)
      await until(async () => rung.includes('sender of 31337'))
      await line.end()
      await database.close()
    })

    it('refuse a provider of another chain than the database belongs to', async () => {
      const other = await startAnvil({
        folder: join(folder.path, 'other'),
        blockMs: 100,
        mnemonic: 'test test test test test test test test test test test junk',
        chainId: 31_338,
      })
      const answer = await runToEnd(['serve'], { ...shared, ETH_RPC_URL: other.url })
      await other.stop()
      expect(answer.code).to.equal(2)
      expect(answer.stderr).to.include('31337')
    })

    it('refuse a user without the right to create tables', async () => {
      const url = new URL((await emptyDatabaseUrl()) ?? '')
      const owner = await openDatabase({ url: url.href })
      const role = `quittance_weak_${process.pid}`
      await sql.raw(`create role ${role} login`).execute(owner.db)
      await sql`revoke create on schema public from public`.execute(owner.db)
      url.username = role
      const answer = await runToEnd(['migrate'], { ...shared, DATABASE_URL: url.href })
      await sql.raw(`drop role ${role}`).execute(owner.db)
      await owner.close()
      expect(answer.code).to.equal(2)
      expect(answer.stderr).to.include('Grant this user the right')
    })
  })
}
