import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import type { Hex } from 'viem'

import { reconcile } from '../../../src/app/reconcile.ts'
import { breakLines } from '../../../src/cli/breaks.ts'
import { faults, startBarePlatform } from '../../fixtures/api/bare-platform.ts'
import { csvFile, removeFiles, textFile } from '../../fixtures/books/reconcile.ts'
import { startPaidChain, type PaidChain } from '../../fixtures/books/verify.ts'
import { startFaultyProxy } from '../../fixtures/chain/faulty-proxy.ts'
import { runHere } from '../../fixtures/commands.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { runProgram, runToEnd, type Program } from '../../fixtures/program.ts'
import { until } from '../../fixtures/until.ts'

const GHOST = `0x${'ee'.repeat(32)}`
const STUCK = `0x${'dd'.repeat(32)}`

describe('reconcile on the command line', () => {
  let world: PaidChain
  let hash: Hex
  let env: Record<string, string>
  const folder = temporaryFolder()

  before(async () => {
    world = await startPaidChain()
    const QUITTANCE_DATA = join(folder.path, 'none')
    env = { ETH_RPC_URL: world.chain.url, QUITTANCE_CONFIRMATIONS: '1', QUITTANCE_DATA }
    hash = await world.send({ to: world.payee, value: 10n ** 18n })
  })
  after(async () => {
    await world.chain.stop()
    folder.remove()
    removeFiles()
  })

  const good = () => ({ transaction_id: 'TX1', eth_transaction_hash: hash, amount: '1' })
  const bad = { transaction_id: '=cmd()', eth_transaction_hash: GHOST, amount: '1' }

  it('ends with 0 where all holds, without a database', async () => {
    const answer = await runToEnd(['reconcile', '--source', csvFile([good()])], env)
    expect(answer).to.include({ code: 0 })
    expect(answer.stdout).to.match(/matched +1\n/)
  })

  it('ends with 1 and tells each break as the contract of the file says', async () => {
    const file = csvFile([good(), bad])
    const { code, stdout, stderr } = await runToEnd(['reconcile', '--source', file, '--json'], env)
    expect(code, stderr).to.equal(1)
    const report = JSON.parse(stdout)
    expect(report.summary).to.include({ records: 2, matched: 1, pending: 0, breaks: 1 })
    const [found] = report.breaks
    const fields = ['id', 'kind', 'transaction_id', 'eth_transaction_hash', 'recorded', 'on_chain']
    expect(found).to.have.all.keys(...fields, 'evidence')
    expect(found).to.include({ kind: 'missing', transaction_id: '=cmd()' })
    expect(found.eth_transaction_hash).to.equal(GHOST)
  })

  it('shows what the record and the chain say of a break, and where the rest is', async () => {
    const row = `TX1,${hash},2,${world.payee}\nTX2,${hash},1,${world.payer}\nTX3,nonsense,1,`
    const head = 'transaction_id,eth_transaction_hash,amount,to_address'
    const args = ['reconcile', '--source', textFile(`${head}\n${row}\n`)]
    const { code, stdout, stderr } = await runHere(args, env)
    expect(code, stderr).to.equal(1)
    expect(stdout).to.match(/wrong_amount .*\n    recorded: 2 ETH\n    on chain: 1 ETH\n/)
    const [recorded, onChain] = [world.payer, world.payee].map((one) => one.toLowerCase())
    expect(stdout.toLowerCase()).to.include(
      `\n    recorded: ${recorded}\n    on chain: ${onChain}\n\n  line 4 cannot be read`,
    )
    expect(stdout).to.match(/\n\n--out FOLDER or --json shows each break in full\.\n$/)
  })

  it('shortens a hash in the middle in a terminal alone', () => {
    const found = { id: '', kind: 'wrong_reference', evidence: {} } as const
    const sides = { recorded: { reference: GHOST }, on_chain: { reference: STUCK } }
    const one = { ...found, ...sides, transaction_id: 'a\u001Bb', eth_transaction_hash: GHOST }
    const [, row = '', ...below] = breakLines([one], { chainId: 1, isTerminal: true })
    expect(row).to.equal('  wrong_reference  a?b          0xeeeeeeee…eeeeeeee')
    expect(below[1]).to.equal('    on chain: 0xdddddddd…dddddddd')
    const whole = breakLines([one], { chainId: 1, isTerminal: false })
    expect(whole[1]).to.include(GHOST)
  })

  it('ends with 1 on a row that cannot be read, and names its line', async () => {
    const file = textFile(`transaction_id,eth_transaction_hash\nTX1,${hash}\nTX2,nonsense\n`)
    const { code, stdout } = await runHere(['reconcile', '--source', file, '--json'], env)
    expect(code).to.equal(1)
    const { summary, unreadable } = JSON.parse(stdout)
    expect(summary).to.include({ records: 1, matched: 1, breaks: 0, unreadable: 1 })
    expect(unreadable[0].line).to.equal(3)
  })

  it('ends with 2 where it could not run', async () => {
    const file = csvFile([good()])
    const nobody = { ...env, ETH_RPC_URL: 'http://127.0.0.1:9' }
    const unwritable = join(folder.path, 'unwritable')
    mkdirSync(join(unwritable, 'breaks.csv'), { recursive: true })
    for (const [args, where] of [
      [['--source', join(folder.path, 'absent.csv')], env],
      [['--source', textFile('a,b\n1,2\n')], env],
      [['--source', file, '--since', 'yesterday'], env],
      [['--source', file, '--resume'], env],
      [['--source', file, '--out', unwritable], env],
      [['--source', file], nobody],
      [['--source', file], { QUITTANCE_DATA: env['QUITTANCE_DATA'] }],
    ] as const) {
      const { code } = await runHere(['reconcile', ...args], where)
      expect(code, args.join(' ')).to.equal(2)
    }
  })

  it('tells of a file that is not there before it looks for a node', async () => {
    const args = ['reconcile', '--source', join(folder.path, 'absent.csv')]
    const { stderr } = await runHere(args, { QUITTANCE_DATA: env['QUITTANCE_DATA'] })
    expect(stderr).to.include('absent.csv')
  })

  it('says what a source can be where it is empty or an address without http://', async () => {
    const empty = await runHere(['reconcile', '--source', ''], env)
    expect(empty.code).to.equal(2)
    expect(empty.stderr).to.match(/^--source is empty\. /)
    const bare = await runHere(['reconcile', '--source', '127.0.0.1:8080'], env)
    expect(bare.code).to.equal(2)
    expect(bare.stderr).to.include('127.0.0.1:8080 cannot be read (ENOENT)').and.include('http://')
  })

  it('says which variable has the key that a server refuses', async () => {
    const bare = await startBarePlatform()
    const message = 'The API key is not valid. Use another one.'
    const refusal = { success: false, error: message, code: 'unauthorized' }
    bare.faults.push(faults.status(401, JSON.stringify(refusal)))
    const keyed = { ...env, QUITTANCE_SOURCE_KEY: 'sk_sandbox_1' }
    const { code, stderr } = await runHere(['reconcile', '--source', bare.url], keyed)
    await bare.stop()
    expect(code).to.equal(2)
    expect(stderr).to.equal(`${message} It is the key in QUITTANCE_SOURCE_KEY.\n`)
  })

  it('writes files that no spreadsheet runs', async () => {
    const out = join(folder.path, 'out')
    const args = ['reconcile', '--source', csvFile([bad]), '--out', out]
    expect((await runHere(args, env)).code).to.equal(1)
    const [header, row] = readFileSync(join(out, 'breaks.csv'), 'utf8').split('\r\n')
    expect(header).to.match(/^id,kind,transaction_id,eth_transaction_hash,/)
    expect(row).to.include(`,missing,'=cmd(),${GHOST},`)
    const report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))
    expect(report.summary.breaks).to.equal(1)
  })

  it('goes on after kill -9, with --resume, to what an unbroken run ends with', async () => {
    const lines = Array.from({ length: 10_100 }, (_, at) => `TXf${at},${GHOST},failed`)
    lines[1] = `TXa,${hash},completed`
    lines[2] = 'TXb,nonsense,completed'
    lines[10_050] = `TXc,${hash},completed`
    lines[10_051] = `TXd,${STUCK},completed`
    const file = textFile(['transaction_id,eth_transaction_hash,status', ...lines].join('\n'))
    const out = join(folder.path, 'killed')
    const args = ['reconcile', '--source', file, '--out', out]
    // The node falls silent where the last of three chunks is read.
    const plan = { swallow: { chance: 0.5, methods: ['eth_getTransactionReceipt'] } }
    const random = (key: string) => (key.includes(STUCK) ? 0 : 1)
    const proxy = await startFaultyProxy({ target: world.chain.url, random, plan })
    const killed = runProgram(args, { ...env, ETH_RPC_URL: proxy.url })
    await until(async () => proxy.count('swallow') > 0)
    killed.kill('SIGKILL')
    expect(await killed.ended).to.equal('SIGKILL')
    proxy.setPlan({})
    const before = proxy.calls.length
    const resumed = await runHere([...args, '--resume'], { ...env, ETH_RPC_URL: proxy.url })
    expect(resumed.code, resumed.stderr).to.equal(1)
    const asked = proxy.calls
      .slice(before)
      .filter(({ method }) => method === 'eth_getTransactionReceipt')
    const unbroken = await reconcile({ source: file, rpcUrls: [proxy.url], confirmations: 1 })
    await proxy.stop()
    const { summary, ...rest } = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8'))
    expect({ ...summary, elapsed_ms: 0 }).to.deep.equal({ ...unbroken.summary, elapsed_ms: 0 })
    const { breaks, unreadable } = unbroken
    expect(rest).to.deep.equal({ breaks, unreadable, not_compared: [] })
    expect(unbroken.breaks.map(({ kind, transaction_id: id }) => `${id} ${kind}`)).to.have.members([
      'TXc duplicate_payment',
      'TXd missing',
    ])
    // Of the third chunk alone: three hashes, and the missing ones twice.
    expect(asked).to.have.length.below(8)
    expect(readdirSync(out).toSorted()).to.deep.equal(['breaks.csv', 'report.html', 'report.json'])
  })

  it('says how to go on where Ctrl-C stops it, and shows no stack', async () => {
    const plan = { swallow: { chance: 1, methods: ['eth_getTransactionReceipt'] } }
    for (const [out, hint] of [
      [[], '--out'],
      [['--out', join(folder.path, 'stopped')], '--resume'],
    ] as const) {
      const proxy = await startFaultyProxy({ target: world.chain.url, random: () => 0, plan })
      const args = ['reconcile', '--source', csvFile([good()]), '--json', ...out]
      const program = runProgram(args, { ...env, ETH_RPC_URL: proxy.url })
      await until(async () => proxy.count('swallow') > 0)
      await expectStopped(program, hint)
      await proxy.stop()
    }
    expect(readdirSync(join(folder.path, 'stopped'))).not.to.include('lock.json')
  })

  it('says that a run over our own records goes on where Ctrl-C stops it', async () => {
    const data = join(folder.path, 'data')
    mkdirSync(data)
    const bare = await startBarePlatform()
    const facts = { url: bare.url, chainId: 1, admin: { apiKey: 'k' }, pid: process.pid }
    writeFileSync(join(data, 'ready.json'), JSON.stringify(facts))
    bare.faults.push(faults.status(201, '{"run": {"run_id": "RUN1", "ended_at": null}}'))
    bare.faults.push(faults.silence())
    const program = runProgram(['reconcile', '--json'], { QUITTANCE_DATA: data })
    await until(async () => bare.requests.length === 2)
    await expectStopped(program, 'continues')
    await bare.stop()
  })
}).timeout(60_000)

async function expectStopped(program: Program, hint: string): Promise<void> {
  program.kill('SIGINT')
  expect(await program.ended).to.equal(2)
  const { stdout, stderr } = program.output()
  const { error } = JSON.parse(stdout)
  expect(error.code).to.equal('stopped')
  expect(error.message).to.include(hint)
  expect(stderr)
    .to.include(error.message)
    .and.not.match(/^ +at /m)
}
