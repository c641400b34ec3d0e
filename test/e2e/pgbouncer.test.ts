import { join } from 'node:path'

import { expect } from 'chai'
import { sql } from 'kysely'

import { startAnvil, type EmbeddedChain } from '../../src/chain/embedded/anvil.ts'
import { limits } from '../../src/base/limits.ts'
import { openDatabase, type Database } from '../../src/store/database/database.ts'
import { makeKey, makeUser } from '../fixtures/api/access.ts'
import { DOLLAR, makeWallets } from '../fixtures/books/money.ts'
import { failureOf } from '../fixtures/errors.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { runProgram, runToEnd, type Program } from '../fixtures/program.ts'
import { emptyDatabaseUrl } from '../fixtures/store/database.ts'
import { findPgBouncer, startPgBouncer, type PgBouncer } from '../fixtures/store/pgbouncer.ts'
import { until } from '../fixtures/until.ts'

const PAYEE = '0x00000000000000000000000000000000000000aa'
const binary = findPgBouncer()
const server = process.env['DATABASE_URL']

// It stands before a server, where it is installed; CI says that it is.
if (server !== undefined && process.env['QUITTANCE_TESTS_NEED_PGBOUNCER'] !== undefined) {
  it('PgBouncer is installed', () => expect(binary).to.be.a('string'))
}
if (server !== undefined && binary !== undefined) {
  describe('serve and work behind PgBouncer in transaction mode', () => {
    let folder: ReturnType<typeof temporaryFolder>
    let chain: EmbeddedChain
    let direct: Database
    let pooler: PgBouncer
    let env: Record<string, string>
    const programs: Program[] = []

    before(async () => {
      folder = temporaryFolder()
      chain = await startAnvil({
        folder: join(folder.path, 'chain'),
        blockMs: 100,
        mnemonic: 'test test test test test test test test test test test junk',
      })
      const url = (await emptyDatabaseUrl()) ?? ''
      direct = await openDatabase({ url })
      pooler = await startPgBouncer({ binary, database: url })
      env = {
        DATABASE_URL: pooler.url,
        ETH_RPC_URL: chain.url,
        PORT: '0',
        QUITTANCE_CONFIRMATIONS: '1',
        QUITTANCE_DATA: join(folder.path, 'none'),
      }
    })

    after(async () => {
      for (const program of programs) program.kill('SIGTERM')
      await Promise.all(programs.map(({ ended }) => ended))
      await direct.close()
      await pooler.stop()
      await chain.stop()
      folder.remove()
    })

    it('say what to do where the pooler is not named, and where nothing has a limit', async () => {
      const unnamed = { url: pooler.url.replace('?pgbouncer=true', '') }
      const refused = await failureOf(() => openDatabase(unnamed))
      expect(refused.message).to.include('add pgbouncer=true to DATABASE_URL')
      const other = new URL(pooler.url)
      other.pathname = new URL((await emptyDatabaseUrl()) ?? '').pathname
      const endless = await failureOf(() => openDatabase({ url: other.href }))
      expect(endless.code).to.equal('pooler_without_limits')
      expect(endless.details).to.deep.equal({
        missing: ['idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout'],
      })
    })

    it('migrate, pay, move money, tell of it at once, and keep to the rate limit', async () => {
      await setLimits(direct)
      expect(await runToEnd(['migrate'], env)).to.include({ code: 0 })
      const user = await makeUser(direct.db)
      const { text } = await makeKey(direct.db, { user })
      const { main, second } = await makeWallets(direct.db, user.id, 100n * DOLLAR)
      const headers = { 'x-api-key': text, 'content-type': 'application/json' }
      for (const role of ['serve', 'work']) {
        programs.push(runProgram([role], { ...env, QUITTANCE_DATA: join(folder.path, role) }))
      }
      const [{ url }] = (await Promise.all(programs.map((one) => one.untilReady()))) as [
        { url: string },
        unknown,
      ]
      const post = async (path: string, body: object) => {
        const init = { method: 'POST', headers, body: JSON.stringify(body) }
        const answer = await fetchInTurn(`${url}${path}`, init)
        expect(answer.status).to.equal(201)
        return (await answer.json()) as Record<string, unknown>
      }
      const over = new AbortController()
      const stream = await fetchInTurn(`${url}/api/stream`, { headers, signal: over.signal })
      const payment = { to_address: PAYEE, amount: 0.25, description: 'through a pooler' }
      const { transaction_id: id } = await post('/api/blockchain/transactions', payment)
      await post('/v1/transfers', {
        source: { type: 'wallet', id: String(main) },
        destination: { type: 'wallet', id: String(second) },
        amount: '40.00',
      })
      const read = async (path: string) => (await fetchInTurn(`${url}${path}`, { headers })).json()
      await until(async () => {
        const { status } = (await read(`/api/transactions/${String(id)}`)) as { status: string }
        return status === 'completed'
      })
      const { data } = (await read(`/v1/wallets/${second}`)) as { data: { balance: string } }
      expect(Number(data.balance)).to.equal(40)
      await untilRead(stream, `"transaction_id":"${String(id)}"`)
      over.abort()
      const statuses: number[] = []
      while (statuses.length < 1_100) {
        const asked = Array.from({ length: 10 }, async () => {
          const answer = await fetchInTurn(`${url}/v1/wallets`, { headers })
          await answer.text()
          return answer.status
        })
        statuses.push(...(await Promise.all(asked)))
      }
      expect(new Set(statuses)).to.deep.equal(new Set([200, 429]))
      expect(statuses.filter((status) => status === 200)).to.have.length.below(1_000)
    })
  })
}

/** On the database of this test alone, as the guide has it. */
async function setLimits({ db }: Database): Promise<void> {
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db)
  for (const [setting, ms] of [
    ['statement_timeout', limits.databaseStatementTimeoutMs],
    ['lock_timeout', limits.databaseLockTimeoutMs],
    ['idle_in_transaction_session_timeout', limits.databaseIdleTransactionMs],
  ] as const) {
    const name = sql.table(rows[0]!.name)
    const set = sql`set ${sql.raw(setting)} = ${sql.lit(ms)}`
    await sql`alter database ${name} ${set}`.execute(db)
  }
}

async function untilRead(answer: Response, words: string): Promise<void> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const part of answer.body!) {
    text += decoder.decode(part as Uint8Array, { stream: true })
    if (text.includes(words)) return
  }
  throw new Error(`the stream ended without ${words}`)
}
