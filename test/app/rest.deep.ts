import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { expect } from 'chai'

import { callRpc } from '../../src/chain/rpc/rpc.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { runProgram, type Program } from '../fixtures/program.ts'
import { fillDataFolder } from '../fixtures/store/prepared-data.ts'
import { until } from '../fixtures/until.ts'

/** What the sandbox counts of itself, from its first line on. */
type Counts = { modules: number; database: number; calls: number; peakMb: number; wakes: number }

const COUNT = `
  import { subscribe } from 'node:diagnostics_channel'
  import { readFileSync } from 'node:fs'
  import { registerHooks } from 'node:module'
  const counts = { modules: 0, database: 0, calls: 0 }
  registerHooks({
    load(url, context, next) {
      counts.modules += 1
      return next(url, context)
    },
  })
  const { PGlite } = await import(${JSON.stringify(import.meta.resolve('@electric-sql/pglite'))})
  const { execProtocolRawSync } = PGlite.prototype
  PGlite.prototype.execProtocolRawSync = function (...message) {
    counts.database += 1
    return execProtocolRawSync.apply(this, message)
  }
  // By \`node:http\`, and by \`fetch\`.
  for (const channel of ['http.client.request.created', 'undici:request:create']) {
    subscribe(channel, () => {
      counts.calls += 1
    })
  }
  process.on('SIGUSR2', () => {
    // Linux lets a process inherit the peak of the one that started it, except here.
    const status = readFileSync('/proc/self/status', 'utf8')
    const own = (name) => Number(new RegExp('^' + name + ':\\\\s*(\\\\d+)', 'm').exec(status)[1])
    const [peakMb, wakes] = [own('VmHWM') / 1024, own('voluntary_ctxt_switches')]
    console.error('counts ' + JSON.stringify({ ...counts, peakMb, wakes }))
  })
`

/** A loop where nothing happens looks for itself once in so many. */
const BLOCKS = 30n

/** `up` in a data folder, counted. */
class Sandbox {
  readonly #folder = temporaryFolder()
  readonly #program: Program

  constructor(fill: (data: string) => void) {
    const { path } = this.#folder
    fill(path)
    const hooks = join(path, 'count.mjs')
    writeFileSync(hooks, COUNT)
    const NODE_OPTIONS = `--import ${hooks}`
    this.#program = runProgram(['up'], { QUITTANCE_DATA: path, PORT: '0', NODE_OPTIONS })
  }

  untilReady(): ReturnType<Program['untilReady']> {
    return this.#program.untilReady()
  }

  async count(): Promise<Counts> {
    const seen = this.#program.output().stderr.length
    this.#program.kill('SIGUSR2')
    const line = (): string | undefined =>
      /^counts (.*)$/m.exec(this.#program.output().stderr.slice(seen))?.[1]
    await until(async () => line() !== undefined)
    return JSON.parse(line() ?? '') as Counts
  }

  async stop(): Promise<void> {
    this.#program.kill('SIGTERM')
    await this.#program.ended
    this.#folder.remove()
  }
}

// Each bound is a fifth above what was measured when it was set.
describe('a first start', () => {
  it('holds little memory while it makes its database', async () => {
    const sandbox = new Sandbox(() => undefined)
    try {
      await sandbox.untilReady()
      const { peakMb } = await sandbox.count()
      expect(peakMb).to.be.within(100, 525)
    } finally {
      await sandbox.stop()
    }
  })
})

describe('the sandbox at rest', () => {
  let sandbox: Sandbox
  let rpcUrl: string

  before(async () => {
    sandbox = new Sandbox(fillDataFolder)
    rpcUrl = (await sandbox.untilReady()).rpcUrl
  })

  after(() => sandbox.stop())

  const height = async (): Promise<bigint> =>
    BigInt(String(await callRpc({ url: rpcUrl, method: 'eth_blockNumber' })))

  it('has loaded few modules, and holds little memory', async () => {
    const { modules, peakMb } = await sandbox.count()
    expect(modules).to.be.within(50, 221)
    expect(peakMb).to.be.within(100, 348)
  })

  it('wakes, and asks the database and the chain, little for each block', async () => {
    // What a start leaves to be done is done by then.
    await sleep(10_000)
    const [from, before] = [await height(), await sandbox.count()]
    await until(async () => (await height()) >= from + BLOCKS)
    const after = await sandbox.count()
    const blocks = Number((await height()) - from)
    expect((after.database - before.database) / blocks, 'messages').to.be.within(0.5, 2.2)
    expect((after.wakes - before.wakes) / blocks, 'wakes').to.be.within(5, 23)
    expect((after.calls - before.calls) / blocks, 'calls').to.be.within(1, 3.9)
  })
})
