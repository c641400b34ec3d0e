import { randomBytes } from 'node:crypto'
import { join } from 'node:path'

import { expect } from 'chai'
import { sql } from 'kysely'

import { systemClock } from '../../src/base/clock.ts'
import { requestRun } from '../../src/reconciler/runs.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { CHAIN_ID } from '../fixtures/books/verify.ts'
import { recordSettlements } from '../fixtures/chain/recorded-settlements.ts'
import {
  confirm,
  fillSettlements,
  startSettledChain,
  type SettledChain,
} from '../fixtures/chain/settled-chain.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { runFile, type Program } from '../fixtures/program.ts'
import { emptyDatabaseUrl } from '../fixtures/store/database.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

const COUNT = 10
const CHUNK = 3

describe('a run over our own records in a process that is killed', () => {
  let world: SettledChain
  let url: string | undefined
  const folder = temporaryFolder()

  before(async () => {
    const empty = await startSettledChain()
    world = await fillSettlements(empty, { count: COUNT, perBlock: 4, onFilled: () => undefined })
    await confirm(world, 3)
    fillDataFolder(folder.path)
    url = await emptyDatabaseUrl()
    // An embedded database belongs to one process at a time.
    const embedded = { folder: join(folder.path, 'database') }
    const { db, close } = await openDatabase(url === undefined ? embedded : { url })
    await migrate(db)
    await recordSettlements(db, world)
    // Each is a break by its fee, so that each is looked at by itself.
    await sql`update attempts set gas_used = gas_used + 1`.execute(db)
    const asking = { db, clock: systemClock, randomBytes }
    await requestRun(asking, { chainId: CHAIN_ID, requestedBy: 'test' })
    await close()
  })
  after(async () => {
    await world.chain.stop()
    folder.remove()
  })

  const start = (more: Record<string, string> = {}): Program =>
    runFile('test/engines/bench/run-process.ts', [], {
      DATABASE_URL: url,
      RUN_DATA: join(folder.path, 'database'),
      RUN_NODE: world.chain.url,
      RUN_SETTLEMENT: world.settlement,
      RUN_CHUNK: String(CHUNK),
      ...more,
    })
  const toldBy = (program: Program): Told[] =>
    program
      .output()
      .stdout.split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Told)
  const examinedBy = (program: Program) => toldBy(program).flatMap(({ examined }) => examined ?? [])
  const runFoundBy = (program: Program) => toldBy(program).find(({ found }) => found)?.found

  it('goes on in another one, repeats at most one chunk, and finds each break once', async () => {
    const killed = start({ RUN_STOP_AT: '3' })
    await until(async () => examinedBy(killed).length === 3 * CHUNK)
    killed.kill('SIGKILL')
    expect(await killed.ended).to.equal('SIGKILL')
    const second = start()
    expect(await second.ended, second.output().stderr).to.equal(0)
    const whole = 2 * CHUNK
    expect(runFoundBy(second)).to.include({ state: 'running', phase: 'records' })
    expect(runFoundBy(second)?.totals).to.include({ records: whole })
    const [before, after] = [examinedBy(killed), examinedBy(second)]
    expect(after.slice(0, CHUNK)).to.deep.equal(before.slice(whole))
    const all = [...before.slice(0, whole), ...after]
    expect(new Set(all)).to.have.property('size', COUNT)
    expect(all).to.have.length(COUNT)
    const end = toldBy(second).at(-1)
    expect(end).to.include({ state: 'completed' })
    expect(end?.totals).to.include({ records: COUNT, matched: 0, breaks: COUNT })
    expect(end?.open).to.have.members(all.map((id) => `${id} fee_mismatch`))
  })
}).timeout(60_000)

type Told = Partial<{
  examined: string[]
  found: { totals: object }
  totals: object
  open: string[]
}>
