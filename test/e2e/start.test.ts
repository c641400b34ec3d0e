import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { isRunning } from '../../src/base/process.ts'
import { readReady, type ReadyFacts } from '../../src/base/ready.ts'
import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { openDatabase } from '../../src/store/database/database.ts'
import { cpuTimeOfNode } from '../engines/bench/cpu.ts'
import { makeBreak } from '../fixtures/books/runs.ts'
import { runHere } from '../fixtures/commands.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { fetchInTurn } from '../fixtures/in-turn.ts'
import { runProgram, runScript, runToEnd, type Program } from '../fixtures/program.ts'
import { until } from '../fixtures/until.ts'

describe('up', () => {
  let folder: ReturnType<typeof temporaryFolder>
  let env: Record<string, string>
  const programs: Program[] = []

  // One data folder serves all cases: each has to cope with what the one before it left.
  before(() => {
    folder = temporaryFolder()
    env = { QUITTANCE_DATA: join(folder.path, 'data'), PORT: '0', QUITTANCE_BLOCK_MS: '100' }
  })

  afterEach(async () => {
    for (const program of programs.splice(0)) {
      program.kill('SIGTERM')
      await program.ended
    }
  })

  after(() => folder.remove())

  const up = (more: Record<string, string> = {}, args: string[] = []): Program => {
    const program = runProgram(['up', ...args], { ...env, ...more })
    programs.push(program)
    return program
  }

  const chainPid = (): number =>
    Number(readFileSync(join(env['QUITTANCE_DATA'] ?? '', 'chain/anvil.pid'), 'utf8'))

  it('serves everything, prints a first command that works, and stops on SIGTERM', async () => {
    const program = up()
    const facts = await program.untilReady()
    const anvil = chainPid()
    expect(await (await fetchInTurn(`${facts.url}/healthz`)).json()).to.deep.equal({ status: 'ok' })
    const ready = await fetchInTurn(`${facts.url}/readyz`)
    expect(ready.status).to.equal(200)
    expect(await ready.json()).to.have.property('status', 'ready')
    expect(await (await fetchInTurn(`${facts.url}/metrics`)).text()).to.include(
      'quittance_http_request',
    )
    expect(program.output().stdout).to.include(`curl ${facts.url}`)

    const stoppedAt = performance.now()
    program.kill('SIGTERM')
    expect(await program.ended).to.equal(0)
    expect(performance.now() - stoppedAt).to.be.below(2000)
    expect(isRunning(anvil)).to.equal(false)
    expect(readReady(env['QUITTANCE_DATA'] ?? '')).to.equal(undefined)
  })

  it('starts warm on 4 seconds of the processor, and ends with its terminal', async () => {
    const program = up()
    const { url } = await program.untilReady()
    // Other tests run beside it, so its own time of the processor counts; `npm run bench:start`
    // tells the time by the clock. Node itself takes 22 ms to start on an idle machine: where it
    // takes more than 40, the machine is slow, and has more time in proportion.
    const bare = Math.min(...Array.from({ length: 5 }, () => cpuTimeOfNode('--eval', '0')))
    const slowness = Math.max(1, bare / 40)
    const metrics = await (await fetchInTurn(`${url}/metrics`)).text()
    const [, seconds = 'none'] = /^quittance_process_cpu_seconds_total (.+)$/m.exec(metrics) ?? []
    expect(Number(seconds)).to.be.within(0.1, 4 * slowness)
    const anvil = chainPid()
    program.leave()
    program.kill('SIGHUP')
    expect(await program.ended).to.equal(0)
    expect(isRunning(anvil)).to.equal(false)
  })

  it('starts again without an error, though the chain has no old states', async () => {
    for (const blocks of [30n, 10n]) {
      const program = up()
      const { rpcUrl: url } = await program.untilReady()
      const height = async () => BigInt(String(await callRpc({ url, method: 'eth_blockNumber' })))
      const target = (await height()) + blocks
      await until(async () => (await height()) >= target)
      program.kill('SIGTERM')
      await program.ended
      expect(program.output().stderr).to.equal('')
    }
  })

  it('leaves no process when npm start is told to stop', async () => {
    const program = runScript('start', env)
    programs.push(program)
    const facts = await program.untilReady()
    const anvil = chainPid()
    program.kill('SIGTERM')
    await program.ended
    expect([isRunning(facts.pid), isRunning(anvil)]).to.deep.equal([false, false])
  })

  it('goes on after kill -9 at rest, and stops cleanly when npm doubles the Ctrl-C', async () => {
    const first = up()
    const before = await first.untilReady()
    const orphan = chainPid()
    const height = await heightOf(before.rpcUrl)
    first.kill('SIGKILL')
    await first.ended
    expect(isRunning(orphan)).to.equal(true)

    const second = up()
    const after = await second.untilReady()
    expect(isRunning(orphan)).to.equal(false)
    expect(await heightOf(after.rpcUrl)).to.be.at.least(height)

    const anvil = chainPid()
    second.kill('SIGINT')
    await new Promise((later) => setTimeout(later, 5))
    second.kill('SIGINT')
    expect(await second.ended).to.equal(0)
    expect(isRunning(anvil)).to.equal(false)
  })

  describe('while one runs', () => {
    let program: Program
    let facts: ReadyFacts
    let broken: string

    before(async () => {
      const { db, close } = await openDatabase({ folder: join(env['QUITTANCE_DATA']!, 'database') })
      broken = await makeBreak(db)
      await close()
      program = runProgram(['up', '--json'], env)
      facts = await program.untilReady()
    })

    // The last case has ended it, unless one failed.
    after(async () => {
      program.kill('SIGTERM')
      await program.ended
    })

    it('refuses the same data folder to another', async () => {
      const other = up()
      expect(await other.ended).to.equal(2)
      expect(other.output().stderr).to.include(`process ${program.pid}`)
    })

    it('answers status and its --json', async () => {
      const status = await runHere(['status', '--json'], env)
      const answer = JSON.parse(status.stdout) as { attention: string[] }
      expect(answer).to.include({ status: 'ready', pid: facts.pid })
      // By now the record that is broken may have been found.
      expect(status.code).to.equal(answer.attention.length === 0 ? 0 : 1)
    })

    it('reconciles its own records on request', async () => {
      const out = join(folder.path, 'report')
      const answer = await runToEnd(['reconcile', '--json', '--out', out], env)
      expect(answer.code, answer.stderr).to.equal(1)
      const { summary, breaks, unreadable } = JSON.parse(answer.stdout)
      const { chainId } = facts
      expect(summary).to.include({ chain_id: chainId, source: 'store', breaks: 1, unreadable: 0 })
      expect(summary.by_kind).to.deep.equal({ missing: 1 })
      expect(unreadable).to.deep.equal([])
      expect(breaks).to.have.length(1)
      const fields = ['id', 'kind', 'transaction_id', 'eth_transaction_hash', 'recorded']
      expect(breaks[0]).to.have.all.keys(...fields, 'on_chain', 'evidence')
      expect(breaks[0]).to.include({ id: broken, kind: 'missing' })
      expect(readFileSync(join(out, 'breaks.csv'), 'utf8')).to.include(broken)

      // It was made long after that day, but an open break is told until somebody closes it.
      const early = await runHere(['reconcile', '--until', '2020-01-01'], env)
      expect(early, early.stderr).to.include({ code: 1 })
      expect(early.stdout).to.match(/records +0\n/)
      const wrong = ['--since', '2020-01-02', '--until', '2020-01-01']
      expect(await runHere(['reconcile', ...wrong], env)).to.include({ code: 2 })
      expect(await runHere(['reconcile', '--grace', '5'], env)).to.include({ code: 2 })
    })

    it('ends with exit code 2 when the chain dies under it', async () => {
      process.kill(chainPid(), 'SIGKILL')
      expect(await program.ended).to.equal(2)
    })

    it('has printed ready.json with --json', () => {
      expect(JSON.parse(program.output().stdout)).to.deep.equal(facts)
    })

    it('says so in status and reconcile when nothing runs any more', async () => {
      expect(await runHere(['status'], env)).to.include({ code: 2 })
      const stopped = await runHere(['reconcile', '--json'], env)
      expect(stopped.code).to.equal(2)
      expect(JSON.parse(stopped.stdout).error.code).to.equal('records_missing')
    })
  })
})

async function heightOf(url: string): Promise<number> {
  return Number(await callRpc({ url, method: 'eth_blockNumber' }))
}
