import { join } from 'node:path'

import { expect } from 'chai'

import { startAnvil, type EmbeddedChain } from '../../src/chain/embedded/anvil.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { makeKey, makeUser } from '../fixtures/api/access.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { runProgram, type Program } from '../fixtures/program.ts'
import { emptyDatabaseUrl } from '../fixtures/store/database.ts'
import { startFreezingProxy, type FreezingProxy } from '../fixtures/store/freezing-proxy.ts'
import { until } from '../fixtures/until.ts'

const PAYEE = '0x00000000000000000000000000000000000000aa'
const FINNEY = 10n ** 15n
/** A silence of 25 s, and what a busy machine needs beside it. */
const BOUND_MS = 90_000

// Only a server has connections that can freeze.
if (process.env['DATABASE_URL'] !== undefined) {
  describe('programs whose connections to the database freeze', () => {
    let folder: ReturnType<typeof temporaryFolder>
    let chain: EmbeddedChain
    let proxies: [FreezingProxy, FreezingProxy]
    let headers: Record<string, string>
    const programs: Program[] = []

    before(async () => {
      folder = temporaryFolder()
      chain = await startAnvil({
        folder: join(folder.path, 'chain'),
        blockMs: 200,
        mnemonic: 'test test test test test test test test test test test junk',
      })
      const url = (await emptyDatabaseUrl()) ?? ''
      const { db, close } = await openDatabase({ url })
      await migrate(db)
      // The chain gives money to the first accounts of its phrase, and a user has that of its id.
      const { text } = await makeKey(db, { user: await makeUser(db) })
      await close()
      headers = { 'x-api-key': text, 'content-type': 'application/json' }
      proxies = [await startFreezingProxy(url), await startFreezingProxy(url)]
    })

    after(async () => {
      for (const program of programs) {
        program.kill('SIGTERM')
        await program.ended
      }
      await Promise.all(proxies.map((proxy) => proxy.stop()))
      await chain.stop()
      folder.remove()
    })

    const start = async (role: string, proxy: FreezingProxy) => {
      const program = runProgram([role], {
        DATABASE_URL: proxy.url,
        ETH_RPC_URL: chain.url,
        PORT: '0',
        QUITTANCE_STATUS_PORT: '0',
        QUITTANCE_CONFIRMATIONS: '2',
        QUITTANCE_DATA: join(folder.path, role),
      })
      programs.push(program)
      return program.untilReady()
    }
    const paid = async (): Promise<bigint> => {
      const body = { jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: [PAYEE, 'latest'] }
      const content = { method: 'POST', body: JSON.stringify(body) }
      const answer = await fetch(chain.url, {
        ...content,
        headers: { 'content-type': 'application/json' },
      })
      return BigInt(((await answer.json()) as { result: string }).result)
    }

    it('pay what was accepted once, free its key, and are ready again by themselves', async () => {
      const [serving, working] = proxies
      const [served, worked] = [await start('serve', serving), await start('work', working)]
      const pay = (name: string) =>
        fetchInTurn(`${served.url}/api/blockchain/transactions`, {
          method: 'POST',
          headers: { ...headers, 'idempotency-key': name },
          body: JSON.stringify({ to_address: PAYEE, amount: '0.001', description: name }),
        })
      const readiness = async (): Promise<number[]> => {
        const urls = [served.statusUrl, worked.statusUrl]
        const answers = await Promise.all(urls.map((url) => fetchInTurn(`${url}/readyz`)))
        return answers.map(({ status }) => status)
      }
      expect((await pay('before')).status).to.equal(201)
      await until(async () => (await paid()) === FINNEY)
      expect(await readiness()).to.deep.equal([200, 200])

      working.freeze()
      expect((await pay('meanwhile')).status).to.equal(201)
      serving.freeze()
      const frozenAt = performance.now()
      const during = pay('during')
      // Neither can use its database, and says so while nobody has told them of it.
      expect(await readiness()).to.deep.equal([503, 503])
      expect(await paid()).to.equal(FINNEY)

      const seen = [(await during).status]
      await until(async () => {
        seen.push((await pay('during')).status)
        return seen.at(-1) === 201
      })
      expect([201, 409, 503]).to.include.members(seen)
      await until(async () => (await paid()) === 3n * FINNEY)
      await until(async () => (await readiness()).every((status) => status === 200))
      expect(performance.now() - frozenAt).to.be.lessThan(BOUND_MS)

      const again = await Promise.all(['before', 'meanwhile', 'during'].map(pay))
      expect(again.map(({ status }) => status)).to.deep.equal([201, 201, 201])
      const one = await pay('after')
      expect(one.status).to.equal(201)
      await until(async () => (await paid()) > 3n * FINNEY)
      expect(await paid()).to.equal(4n * FINNEY)
    })
  })
}
