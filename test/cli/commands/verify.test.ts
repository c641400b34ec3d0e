import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import type { Hex } from 'viem'

import { temporaryFolder } from '../../support/folder.ts'
import { runToEnd } from '../../support/program.ts'
import { calls, reference, startPaidChain, type PaidChain } from '../../support/verify.ts'

describe('verify, prove and check on the command line', () => {
  let world: PaidChain
  let hash: Hex
  let mint: Hex
  let env: Record<string, string>
  const folder = temporaryFolder()
  const file = join(folder.path, 'quittance.json')

  before(async () => {
    world = await startPaidChain()
    env = { ETH_RPC_URL: world.chain.url, QUITTANCE_CONFIRMATIONS: '1' }
    const data = calls.settle(reference(1), world.payee)
    hash = await world.send({ to: world.settlement, data, value: 100n })
    const args = { to: world.payee, amount: 7n, memo: reference(2) }
    mint = await world.send({ to: world.dollar, data: calls.dollar('mintWithMemo', args) })
  })
  after(async () => {
    await world.chain.stop()
    folder.remove()
  })

  const settled = (amount: string) => {
    const claim = `--settlement --payee ${world.payee} --reference ${reference(1)}`
    return `verify tx ${hash} ${claim} --amount ${amount}`.split(' ')
  }

  it('ends with 0 where it holds, 1 where it does not, 2 where it could not run', async () => {
    const holds = await runToEnd(settled('100'), env)
    expect(holds).to.include({ code: 0, stderr: '' })
    expect(holds.stdout).to.include('It holds.')
    const differs = await runToEnd([...settled('101'), '--json'], env)
    expect(differs.code).to.equal(1)
    const verdict = JSON.parse(differs.stdout)
    expect(verdict.disagreements[0]).to.include({ kind: 'wrong_amount', expected: '101' })
    const nobody = { ...env, ETH_RPC_URL: 'http://127.0.0.1:9' }
    expect(await runToEnd([...settled('100'), '--chain-id', '31337'], nobody)).to.include({
      code: 2,
    })
  })

  it('refuses half a range of blocks, where it dropped it', async () => {
    const claim = `--token ${world.dollar} --profile usdc --amount 7 --payee ${world.payee}`
    for (const option of ['--from-block', '--to-block']) {
      const args = ['verify', 'mint', ...claim.split(' '), option, '1', '--json']
      const { code, stdout, stderr } = await runToEnd(args, env)
      expect(code).to.equal(2)
      expect(JSON.parse(stdout)).to.have.nested.property('error.code', 'option_missing')
      expect(stderr).to.include('--to-block').and.not.include('    at ')
    }
  })

  it('tells what is misspelt before it looks for a node', async () => {
    const right = `0x${'12'.repeat(32)}`
    for (const [option, args] of [
      ["'hash'", ['verify', 'tx', '0x12']],
      ["'--payee <address>'", ['verify', 'tx', right, '--payee', '0x12']],
      ["'--trusted-block-hash <hash>'", ['check', file, '--trusted-block-hash', '0x12']],
    ] as const) {
      const { code, stderr } = await runToEnd(args, {})
      expect(code).to.equal(2)
      expect(stderr).to.include(option).and.to.include('It must be')
    }
  })

  it('ends with 1 while it is pending', async () => {
    const pending = await runToEnd([...settled('100'), '--confirmations', '900'], env)
    expect(pending.code).to.equal(1)
    expect(pending.stdout).to.include('It is pending')
  })

  it('verifies a mint, and misses a redeem', async () => {
    const supply = ['--token', world.dollar, '--profile', 'memo', '--amount', '7', '--json']
    const made = ['verify', 'mint', ...supply, '--payee', world.payee, '--hash', mint]
    expect(await runToEnd(made, env)).to.include({ code: 0 })
    const given = ['verify', 'redeem', ...supply, '--payer', world.payee, '--hash', mint]
    const answer = await runToEnd(given, env)
    expect(answer.code).to.equal(1)
    expect(JSON.parse(answer.stdout).disagreements[0].kind).to.equal('no_payment')
  })

  it('writes a quittance and checks it, with a node and without one', async () => {
    const made = await runToEnd(['prove', hash, '--out', file, '--fact', 'id=TX1'], env)
    expect(made.code).to.equal(0)
    expect(await runToEnd(['check', file], env)).to.include({ code: 0 })
    const { block } = JSON.parse(readFileSync(file, 'utf8'))
    const trusted = ['check', file, '--trusted-block-hash', block.hash]
    expect(await runToEnd(trusted, {})).to.include({ code: 0 })
    expect(await runToEnd(['check', file, '--offline'], {})).to.include({ code: 1 })
    writeFileSync(file, readFileSync(file, 'utf8').replace('TX1', 'TX2'))
    const changed = await runToEnd([...trusted, '--json'], {})
    expect(changed.code).to.equal(1)
    expect(JSON.parse(changed.stdout).disagreements[0].kind).to.equal('malformed')
    expect(await runToEnd(['check', join(folder.path, 'none')], {})).to.include({ code: 2 })
  })
}).timeout(60_000)
