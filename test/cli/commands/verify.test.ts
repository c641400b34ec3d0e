import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import type { Hex } from 'viem'

import {
  calls,
  reference,
  startPaidChain,
  takeNonce,
  type PaidChain,
} from '../../fixtures/books/verify.ts'
import { account } from '../../fixtures/chain/deployment.ts'
import { runHere } from '../../fixtures/commands.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { runToEnd } from '../../fixtures/program.ts'

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
    const claim = `--payee ${world.payee} --reference ${reference(1)}`
    return `verify tx ${hash} ${claim} --amount-units ${amount}`.split(' ')
  }

  it('ends with 0 where it holds, 1 where it does not, 2 where it could not run', async () => {
    const holds = await runToEnd(settled('100'), env)
    expect(holds).to.include({ code: 0, stderr: '' })
    expect(holds.stdout).to.include('It holds.')
    const longest = Math.max(...holds.stdout.split('\n').map(({ length }) => length))
    expect(longest).to.equal('  confirmations  '.length + hash.length)
    const differs = await runHere([...settled('101'), '--json'], env)
    expect(differs.code).to.equal(1)
    const verdict = JSON.parse(differs.stdout)
    expect(verdict.disagreements[0]).to.include({ kind: 'wrong_amount', expected: '101' })
    const nobody = { ...env, ETH_RPC_URL: 'http://127.0.0.1:9' }
    expect(await runHere([...settled('100'), '--chain-id', '31337'], nobody)).to.include({
      code: 2,
    })
  })

  it('refuses half a range of blocks, where it dropped it', async () => {
    const claim = `--token ${world.dollar} --profile usdc --amount-units 7 --payee ${world.payee}`
    for (const option of ['--from-block', '--to-block']) {
      const args = ['verify', 'mint', ...claim.split(' '), option, '1', '--json']
      const { code, stdout, stderr } = await runHere(args, env)
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
      const { code, stderr } = await runHere(args, {})
      expect(code).to.equal(2)
      expect(stderr).to.include(option).and.to.include('It must be')
    }
  })

  it('ends with 1 while it is pending', async () => {
    const pending = await runHere([...settled('100'), '--confirmations', '900'], env)
    expect(pending.code).to.equal(1)
    expect(pending.stdout).to.include('It is pending')
  })

  it('verifies a mint, and misses a redeem', async () => {
    const supply = ['--token', world.dollar, '--profile', 'memo', '--amount', '0.000007', '--json']
    const made = ['verify', 'mint', ...supply, '--payee', world.payee, '--hash', mint]
    expect(await runHere(made, env)).to.include({ code: 0 })
    const given = ['verify', 'redeem', ...supply, '--payer', world.payee, '--hash', mint]
    const answer = await runHere(given, env)
    expect(answer.code).to.equal(1)
    expect(JSON.parse(answer.stdout).disagreements[0].kind).to.equal('no_payment')
  })

  it('reads an amount in the unit of a person, and refuses what is none', async () => {
    const tx = ['verify', 'tx', hash, '--payee', world.payee]
    const holds = await runHere([...tx, '--amount', '0.0000000000000001'], env)
    expect(holds.code).to.equal(0)
    expect(holds.stdout).to.include('0.0000000000000001 ETH')
    // An integer is so many ETH, and never so many wei.
    const integer = await runHere([...tx, '--amount', '100', '--json'], env)
    expect(integer.code).to.equal(1)
    const [difference] = JSON.parse(integer.stdout).disagreements
    expect(difference).to.include({ kind: 'wrong_amount', expected: `100${'0'.repeat(18)}` })
    const token = ['--token', world.dollar]
    for (const [args, code] of [
      [[...tx, '--amount', '1', '--amount-units', '1'], 'option_conflict'],
      [[...tx, '--amount', '0.0000001', ...token], 'amount_too_precise'],
      [[...tx, '--amount', '1', '--token', world.payee], 'decimals_unknown'],
      [[...tx, '--nonce', '1'], 'option_missing'],
    ] as const) {
      const refused = await runHere([...args, '--json'], env)
      expect(refused.code).to.equal(2)
      expect(JSON.parse(refused.stdout)).to.have.nested.property('error.code', code)
    }
  })

  it('tells the minter, the amount in dollars, and what the profile cannot prove', async () => {
    const claim = `--token ${world.dollar} --profile fiat-token --payee ${world.payee}`
    const args = `verify mint ${claim} --amount 0.000007 --hash ${mint}`.split(' ')
    const { code, stdout } = await runHere(args, env)
    expect(code).to.equal(0)
    expect(stdout).to.include('0.000007 RUSD').and.to.include('A mint names no order.')
    expect(stdout).to.match(new RegExp(`minter +${world.payer}`))
  })

  it('names the token that was forgotten', async () => {
    const args = ['verify', 'tx', mint, '--payee', world.payee, '--amount-units', '7', '--json']
    const { code, stdout } = await runHere(args, env)
    expect(code).to.equal(1)
    const [difference] = JSON.parse(stdout).disagreements
    expect(difference.kind).to.equal('wrong_token')
    expect(difference.message).to.include(world.dollar).and.to.include('0.000007 RUSD')
  })

  it('finds what took the nonce of a transaction, by its payer', async () => {
    const { ghost, from } = await takeNonce(world)
    const args = ['verify', 'tx', ghost, '--payer', from, '--nonce', '0', '--json']
    const { code, stdout } = await runHere(args, env)
    expect(code).to.equal(1)
    expect(JSON.parse(stdout).disagreements[0].kind).to.equal('replaced')
  })

  it('checks a quittance against what is owed, and makes none of a false fact', async () => {
    const owed = join(folder.path, 'owed.json')
    const prove = ['prove', hash, '--out', owed, '--fact', `payee=${account(3).address}`]
    const wrong = await runHere([...prove, 'amount=100'], env)
    expect(wrong.code).to.equal(1)
    expect(existsSync(owed)).to.equal(false)
    const made = await runHere([...prove, 'amount=0.0000000000000001'], env)
    expect(made.code).to.equal(0)
    const check = ['check', owed, '--json', '--payee', world.payee, '--payer', world.payer]
    const right = ['--amount', '0.0000000000000001', '--reference', reference(1)]
    expect(await runHere([...check, ...right, '--chain-id', '31337'], env)).to.include({ code: 0 })
    for (const [option, value, kind] of [
      ['--payee', world.payer, 'wrong_recipient'],
      ['--amount', '1', 'wrong_amount'],
      ['--token', world.dollar, 'wrong_token'],
      ['--reference', reference(9), 'wrong_reference'],
      ['--chain-id', '1', 'wrong_chain'],
    ] as const) {
      const { code, stdout } = await runHere([...check, option, value], env)
      expect(code).to.equal(1)
      expect(JSON.parse(stdout).disagreements[0].kind).to.equal(kind)
    }
  })

  it('writes a quittance and checks it, with a node and without one', async () => {
    const made = await runHere(['prove', hash, '--out', file, '--fact', 'id=TX1'], env)
    expect(made.code).to.equal(0)
    const unclaimed = await runHere(['check', file], env)
    expect(unclaimed.code).to.equal(0)
    expect(unclaimed.stdout).to.include('Nothing was claimed').and.include('--payee and --amount')
    const claimed = await runHere(['check', file, '--payee', world.payee], env)
    expect(claimed.stdout).to.include('It holds.').and.not.include('Nothing was claimed')
    const { block } = JSON.parse(readFileSync(file, 'utf8'))
    const trusted = ['check', file, '--trusted-block-hash', block.hash]
    expect(await runHere(trusted, {})).to.include({ code: 0 })
    expect(await runHere(['check', file, '--offline'], {})).to.include({ code: 1 })
    writeFileSync(file, readFileSync(file, 'utf8').replace('TX1', 'TX2'))
    const changed = await runHere([...trusted, '--json'], {})
    expect(changed.code).to.equal(1)
    expect(JSON.parse(changed.stdout).disagreements[0].kind).to.equal('malformed')
    expect(await runHere(['check', join(folder.path, 'none')], {})).to.include({ code: 2 })
  })
}).timeout(180_000)
