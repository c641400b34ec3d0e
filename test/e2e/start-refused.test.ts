import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { expect } from 'chai'
import { sql } from 'kysely'

import { isRunning } from '../../src/base/process.ts'
import { startAnvil } from '../../src/chain/embedded/anvil.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { runProgram, runToEnd, type Program } from '../fixtures/program.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { startRefusingServer } from '../fixtures/store/refusing-server.ts'
import { until } from '../fixtures/until.ts'

describe('up where it cannot run gives one clear line, exit code 2, and leaves no process', () => {
  const folder = temporaryFolder()
  const data = join(folder.path, 'data')
  const env = { QUITTANCE_DATA: data, PORT: '0', QUITTANCE_BLOCK_MS: '100' }
  const programs: Program[] = []
  let server: Server

  before(async () => {
    server = createServer((_request, response) => response.end('<html>not JSON</html>'))
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  })

  after(() => {
    server.close()
    folder.remove()
  })

  const port = (): number => (server.address() as AddressInfo).port

  const up = (more: Record<string, string> = {}): Program => {
    const program = runProgram(['up'], { ...env, ...more })
    programs.push(program)
    return program
  }

  afterEach(async () => {
    for (const program of programs.splice(0)) {
      program.kill('SIGTERM')
      await program.ended
    }
  })

  const refuses = async (more: Record<string, string>, words: string): Promise<void> => {
    const program = up(more)
    expect(await program.ended).to.equal(2)
    const { stderr } = program.output()
    expect(stderr.trim().split('\n')).to.have.length(1)
    expect(stderr).to.include(words)
    const file = join(more['QUITTANCE_DATA'] ?? data, 'chain/anvil.pid')
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
    expect(pid !== 0 && isRunning(pid)).to.equal(false)
  }

  /** Opening a database takes most of a start: nobody waits for it to be told of a wrong port. */
  const refusesAtOnce = async (more: Record<string, string>, words: string): Promise<void> => {
    const untouched = join(folder.path, 'untouched')
    await refuses({ ...more, QUITTANCE_DATA: untouched }, words)
    const started = ['database', 'chain', 'rails'].filter((part) =>
      existsSync(join(untouched, part)),
    )
    expect(started).to.deep.equal([])
  }

  it('when the port is taken', () => refusesAtOnce({ PORT: String(port()) }, 'PORT'))

  it('when the host is not of this machine', () => refusesAtOnce({ HOST: '192.0.2.1' }, 'HOST'))

  it('when a variable has a bad value', () =>
    refusesAtOnce({ QUITTANCE_BLOCK_MS: 'fast' }, 'BLOCK_MS'))

  it('when the data folder cannot be written', async () => {
    writeFileSync(join(folder.path, 'plain-file'), '')
    await refuses({ QUITTANCE_DATA: join(folder.path, 'plain-file/data') }, 'cannot be written')
  })

  it('when the database server does not answer', () =>
    refuses({ DATABASE_URL: 'postgres://nobody:hunter2@127.0.0.1:1/none' }, '127.0.0.1:1/none'))

  it('when a signal ends the wait for a database server that is starting', async () => {
    const starting = await startRefusingServer(['57P03'])
    const program = up({ DATABASE_URL: starting.url })
    await until(async () => program.output().stderr.includes('the database server is starting'))
    program.kill('SIGTERM')
    const code = await program.ended
    await starting.stop()
    expect(code).to.equal(2)
    expect(program.output().stderr).to.include('Check DATABASE_URL')
  })

  it('when the provider does not answer', () =>
    refusesAtOnce({ ETH_RPC_URL: 'http://127.0.0.1:1' }, '127.0.0.1:1'))

  it('when the provider answers with a web page', () =>
    refusesAtOnce({ ETH_RPC_URL: `http://127.0.0.1:${port()}` }, 'not JSON-RPC'))

  it('when the schema is of another version', async () => {
    const newer = join(folder.path, 'newer')
    fillDataFolder(newer)
    const { db, close } = await openDatabase({ folder: join(newer, 'database') })
    await sql`insert into migrations (name, timestamp) values ('9999_later', '')`.execute(db)
    await close()
    await refuses({ QUITTANCE_DATA: newer }, '9999_later')
  })

  it('when the chain is mainnet and the database does not flush to the disk', async () => {
    const mainnet = await startAnvil({
      folder: join(folder.path, 'mainnet'),
      blockMs: 100,
      mnemonic: 'test test test test test test test test test test test junk',
      chainId: 1,
    })
    await refusesAtOnce({ ETH_RPC_URL: mainnet.url }, 'QUITTANCE_EMBEDDED_MAINNET')
    await mainnet.stop()
  })

  it('when the saved chain is damaged', async () => {
    const damaged = join(folder.path, 'damaged')
    fillDataFolder(damaged)
    mkdirSync(join(damaged, 'chain'))
    writeFileSync(join(damaged, 'chain/state.json.gz'), 'half a ch')
    await refuses({ QUITTANCE_DATA: damaged }, 'saved embedded chain')
  })
})

describe('a command on a database server that is starting', () => {
  it('says what it waits for', async () => {
    const starting = await startRefusingServer(['57P03', '3D000'])
    const { code, stderr } = await runToEnd(['migrate'], { DATABASE_URL: starting.url })
    await starting.stop()
    expect(stderr).to.include('the database server is starting').and.include('Check DATABASE_URL')
    expect([code, starting.tries()]).to.deep.equal([2, 2])
  })
})
