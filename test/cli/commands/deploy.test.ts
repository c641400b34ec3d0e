import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { PassThrough } from 'node:stream'

import { expect } from 'chai'
import { toHex } from 'viem'
import {
  english,
  generateMnemonic,
  generatePrivateKey,
  mnemonicToAccount,
  privateKeyToAccount,
} from 'viem/accounts'

import { codeOf } from '../../../src/base/errors.ts'
import { settlementAddress } from '../../../src/bindings/addresses.ts'
import {
  deployCommand,
  runDeploy,
  type DeployFlags,
  type DeployTerminal,
} from '../../../src/cli/commands/deploy.ts'
import { confirm } from '../../../src/cli/confirm.ts'
import type { Output } from '../../../src/cli/output.ts'
import { findHardhat, type RunHardhat } from '../../../src/cli/verify-sources.ts'
import { startChain, type TestChain } from '../../fixtures/chain/anvil.ts'
import { account, recordsFolder } from '../../fixtures/chain/deployment.ts'
import { expectFailure } from '../../fixtures/errors.ts'
import { freePort } from '../../fixtures/free-port.ts'

/** Of nobody's seed: a key that everybody knows is refused. */
const KEY = generatePrivateKey().slice(2)
const OWN = privateKeyToAccount(`0x${KEY}`).address
const SEPOLIA = '11155111'

describe('the command deploy', () => {
  let chain: TestChain
  let kept: Awaited<ReturnType<typeof recordsFolder>>

  beforeEach(async () => {
    chain = await startChain('--chain-id', SEPOLIA)
    await chain.client.setBalance({ address: OWN, value: 10n ** 18n })
    kept = await recordsFolder()
  })
  afterEach(async () => {
    await chain.stop()
    await kept.remove()
  })

  /** Runs the command as a person would, with a key and a node in the environment. */
  const run = async (flags: Partial<DeployFlags>, terminal: Partial<DeployTerminal> = {}) => {
    const lines: string[] = []
    const results: unknown[] = []
    const reported: unknown[] = []
    const output: Output = {
      isJson: flags.json === true,
      line: (text = '') => void lines.push(text),
      result: (value) => void results.push(structuredClone(value)),
    }
    const env = {
      QUITTANCE_DATA: kept.folder,
      QUITTANCE_DEPLOYER_KEY: KEY,
      ETH_RPC_URL: chain.url,
      ...terminal.env,
    }
    const report = (error: unknown) => void reported.push(codeOf(error))
    const code = await runDeploy(
      { network: 'sepolia', ...flags },
      { output, report, findHardhat, ...terminal, env },
    )
    return { code, lines, reported, result: results[0] }
  }
  const nonce = () => chain.client.getTransactionCount({ address: OWN })

  it('shows the plan and does nothing in a dry run', async () => {
    const { code, result } = await run({ dryRun: true })
    expect(code).to.equal(0)
    expect(result).to.deep.include({ network: 'sepolia', dryRun: true })
    expect(result).to.have.nested.property('addresses.Settlement', settlementAddress)
    expect(result).to.have.nested.property('plan.steps[1].state', 'absent')
    expect(result)
      .to.have.nested.property('plan.cost')
      .that.matches(/^[1-9]\d+$/)
    expect(await nonce()).to.equal(0)
  })

  it('names the coin, and rounds a cost up and a balance down to six decimals', async () => {
    await chain.client.setBalance({ address: OWN, value: 39_362_638_204_435_011n })
    const { lines, result } = await run({ dryRun: true })
    const { cost, maxCost } = (result as { plan: { cost: string; maxCost: string } }).plan
    const [about, most] = [cost, maxCost].map((wei) => Math.ceil(Number(wei) / 1e12) / 1e6)
    expect(lines).to.include(`From ${OWN}, which has 0.039362 ETH`)
    expect(lines).to.include(`It costs about ${about} ETH and at most ${most} ETH.`)
    expect(lines.at(-1)).to.match(/^That is [1-9],\d{3},\d{3} gas, at [0-9.]{1,5} gwei now\.$/)
    expect(lines).to.satisfy(fitsATerminal)
  })

  it('says before it asks, and in a dry run, how much the account lacks', async () => {
    await chain.client.setBalance({ address: OWN, value: 1n })
    const { code, lines, result } = await run({ dryRun: true })
    expect(code).to.equal(0)
    expect(result).to.have.nested.property('problem.code', 'deploy_no_funds')
    expect(lines).to.satisfy(fitsATerminal)
    const asked = { confirm: () => Promise.reject(new Error('asked in vain')) }
    const { message } = await expectFailure(() => run({}, asked), 'deploy_no_funds')
    expect(message).to.match(/ has 0 ETH and can need (0\.\d{1,6} ETH)\. Send \1 to it and run /)
    expect(lines.join(' ')).to.contain(message)
  })

  it('needs no key for a dry run when the admin is named', async () => {
    const terminal = { env: { QUITTANCE_DEPLOYER_KEY: undefined } }
    const flags = { dryRun: true, admin: account(3).address }
    const { code, result } = await run(flags, terminal)
    expect(code).to.equal(0)
    expect(result).to.have.nested.property('plan.account', account(3).address)
  })

  it('deploys, records it, and changes nothing when it is run again', async () => {
    const first = await run({ yes: true })
    expect(first.code).to.equal(0)
    expect(first.result).to.have.property('done').with.length(2)
    const file = path.join(kept.folder, 'deployments', `${SEPOLIA}.json`)
    const record = await readFile(file, 'utf8')

    const again = await run({ yes: true })
    expect(again.code).to.equal(0)
    expect(again.result).to.have.property('done').with.length(0)
    expect(await readFile(file, 'utf8')).to.equal(record)
    expect(await nonce()).to.equal(2)
  })

  it('makes the platform a minter, and says what is missing to pay, mint and redeem', async () => {
    const bare = await run({ yes: true, only: 'settlement' })
    expect(bare.lines.slice(bare.lines.indexOf('What is missing:') + 1)).to.deep.equal([
      '  To pay:     the signer: set QUITTANCE_SIGNER and run this again',
      '  To mint:    a dollar token: deploy ours with --only stablecoin, or set',
      '              STABLECOIN_ADDRESS',
      '              the signer: set QUITTANCE_SIGNER and run this again',
      '  To redeem:  a dollar token: deploy ours with --only stablecoin, or set',
      '              STABLECOIN_ADDRESS',
    ])
    expect(bare.lines).to.include('Done in 1 step.')
    const seed = generateMnemonic(english)
    const platform = mnemonicToAccount(seed).address
    const terminal = { env: { QUITTANCE_SIGNER: `seed:${seed}` } }
    const without = await run({ yes: true }, terminal)
    const missing = JSON.stringify((without.result as { missing: unknown }).missing)
    expect(without.lines).to.include('Done in 1 step.').and.include('  To pay:     nothing')
    expect(missing).to.include(`gas at ${platform}`).and.include(`${platform} is not a minter`)
    await chain.client.setBalance({ address: platform, value: 10n ** 18n })
    const grant = { yes: true, minter: 'platform', allowance: 1_000_000n }
    const { result, lines } = await run(grant, terminal)
    expect(result).to.have.property('missing').that.deep.equals([])
    expect(lines.at(-1)).to.equal('Nothing is missing to pay, to mint and to redeem.')
    expect(lines.concat(bare.lines, without.lines)).to.satisfy(fitsATerminal)
    await expectFailure(() => run({ ...grant, dryRun: true }), 'deploy_platform_unknown')
  })

  it('deploys the settlement contract alone, and keeps its record afterwards', async () => {
    const planned = await run({ only: 'settlement', dryRun: true })
    expect(planned.result)
      .to.have.property('addresses')
      .that.deep.equals({ Settlement: settlementAddress })
    expect(planned.result).to.have.nested.property('plan.steps').with.length(2)
    expect(planned.lines.join('\n')).to.not.include('ReferenceDollar')

    const alone = await run({ only: 'settlement', yes: true })
    expect(alone.result).to.have.property('done').with.length(1)
    expect(alone.result).to.have.nested.property('done[0].name', 'Settlement')
    expect(alone.lines.join('\n')).to.not.include('ReferenceDollar')

    const then = await run({ only: 'stablecoin', yes: true })
    expect(then.result).to.have.property('addresses').that.has.all.keys('ReferenceDollar')
    expect(then.result).to.have.property('done').with.length(1)
    expect((await run({ yes: true })).result)
      .to.have.property('done')
      .with.length(0)
    const file = path.join(kept.folder, 'deployments', `${SEPOLIA}.json`)
    const { entries } = JSON.parse(await readFile(file, 'utf8')) as { entries: { name: string }[] }
    expect(entries.map(({ name }) => name)).to.deep.equal(['Settlement', 'ReferenceDollar'])
    expect(await nonce()).to.equal(2)
  })

  it('names a minter when it is told how much it may mint', async () => {
    const { code, result } = await run({
      yes: true,
      minter: account(1).address,
      allowance: 7n,
    })
    expect(code).to.equal(0)
    expect(result).to.have.nested.property('done[2].allowance', '7')
  })

  it('asks before it spends, and takes only yes for yes', async () => {
    const questions: string[] = []
    const answer = (yes: boolean) => ({
      confirm: (question: string) => {
        questions.push(question)
        return Promise.resolve(yes)
      },
    })
    const declined = await expectFailure(() => run({}, answer(false)), 'deploy_not_confirmed')
    expect(declined.message).to.equal('Nothing was deployed.')
    const unasked = await expectFailure(() => run({}), 'deploy_not_confirmed')
    expect(unasked.message).to.contain('no terminal').and.contain('--yes')
    expect(await nonce()).to.equal(0)
    expect((await run({}, answer(true))).code).to.equal(0)
    expect(await nonce()).to.equal(2)
    // Nothing is missing now, so there is nothing to agree to.
    expect((await run({}, answer(false))).code).to.equal(0)
    expect(questions).to.have.length(2)
  })

  it('takes Ctrl-C for no, and yes or y for yes', async () => {
    for (const [typed, agreed] of [
      ['\u0003', false],
      ['maybe\r', false],
      ['YES\r', true],
      ['y\r', true],
    ] as const) {
      const [input, output] = [new PassThrough(), new PassThrough()]
      const answer = confirm('Deploy?', { input, output: Object.assign(output, { isTTY: true }) })
      input.write(typed)
      expect(await answer, typed).to.equal(agreed)
    }
  })

  it('signs with the node’s own account on a local chain', async () => {
    const terminal = { env: { QUITTANCE_DEPLOYER_KEY: undefined } }
    const { code, result } = await run({ network: 'localhost', yes: true }, terminal)
    expect(code).to.equal(0)
    expect(result).to.have.nested.property('done[0].account', account(0).address)
  })

  it('goes on with the second node when the first one is dead', async () => {
    const rpcUrl = `http://127.0.0.1:1, ${chain.url}`
    expect((await run({ rpcUrl, dryRun: true })).code).to.equal(0)
  })

  it('takes the address on the command line before those in the environment', async () => {
    const env = { ETH_RPC_URL: 'http://127.0.0.1:1', SEPOLIA_RPC_URL: 'http://127.0.0.1:2' }
    expect((await run({ rpcUrl: chain.url, dryRun: true }, { env })).code).to.equal(0)
    const named = { ...env, SEPOLIA_RPC_URL: chain.url }
    expect((await run({ dryRun: true }, { env: named })).code).to.equal(0)
  })

  it('ends with 1 when something else is at the address, in a dry run and without', async () => {
    await chain.client.setCode({ address: settlementAddress, bytecode: '0x6001' })
    expect((await run({ dryRun: true })).code).to.equal(1)
    const { code, reported } = await run({ yes: true })
    expect(code).to.equal(1)
    expect(reported).to.deep.equal(['deploy_code_differs'])
    expect(await nonce()).to.equal(0)
  })

  it('names the host that did not answer and why, and nothing else of its address', async () => {
    const port = await freePort()
    const flags = { rpcUrl: `http://me:secret@127.0.0.1:${port}/secret?key=secret` }
    const { message } = await expectFailure(() => run(flags), 'deploy_rpc_failed')
    expect(message).to.equal(
      `The node 127.0.0.1:${port} did not say which chain it is on: ECONNREFUSED. ` +
        'Check the RPC address, and run the same command again.',
    )
  })

  describe('cannot run, and sends nothing,', () => {
    const cases: Record<string, [string, Partial<DeployFlags>, DeployTerminal['env']?]> = {
      'when nobody agrees to it': ['deploy_not_confirmed', {}],
      'for an unknown network': ['network_unknown', { network: 'mainnet' }],
      'on the wrong chain': ['deploy_wrong_chain', { network: 'hoodi' }],
      'without a key': ['deploy_key_missing', {}, { QUITTANCE_DEPLOYER_KEY: undefined }],
      'with half a key': ['deploy_key_invalid', {}, { QUITTANCE_DEPLOYER_KEY: KEY.slice(2) }],
      'with a key of zero': ['deploy_key_invalid', {}, { QUITTANCE_DEPLOYER_KEY: '0'.repeat(64) }],
      'with a key that everybody knows': [
        'deploy_key_known',
        {},
        {
          QUITTANCE_DEPLOYER_KEY: toHex(account(0).getHdKey().privateKey ?? new Uint8Array()).slice(
            2,
          ),
        },
      ],
      'with a minter and no allowance': ['deploy_grant_incomplete', { minter: settlementAddress }],
      'with an allowance and no minter': ['deploy_grant_incomplete', { allowance: 1n }],
      'with an allowance of nothing': [
        'deploy_allowance_invalid',
        { minter: settlementAddress, allowance: 0n },
      ],
      'for an unknown contract': ['deploy_only_unknown', { only: 'constructor' }],
      'with a minter of a stablecoin that is left out': [
        'deploy_minter_without_token',
        { only: 'settlement', minter: account(1).address, allowance: 7n },
      ],
      'with an admin whose checksum is wrong': [
        'deploy_address_invalid',
        { admin: account(0).address.replace('Fd6e', 'fd6e') },
      ],
      'when the source is to be published of a local chain': [
        'verify_local',
        { network: 'localhost', yes: true, verify: true },
      ],
      'with a variable that nobody knows': ['bad_configuration', {}, { QUITTANCE_DEPLOYR_KEY: '' }],
      'when no node answers': ['deploy_rpc_failed', { rpcUrl: 'http://127.0.0.1:1' }],
    }
    for (const [when, [code, flags, env = {}]] of Object.entries(cases)) {
      it(when, async () => {
        const error = await expectFailure(() => run(flags, { env }), code)
        expect(JSON.stringify([error.message, error.details])).to.not.contain(KEY.slice(2))
        expect(await nonce()).to.equal(0)
      })
    }
  })

  it('publishes the source of both contracts at every service', async () => {
    const hardhat = hardhatThat((args) => (args.includes('sourcify') ? 0 : 1))
    const flags = { yes: true, verify: true }
    const { code, result } = await run(flags, { findHardhat: hardhat.find })
    expect(code).to.equal(0)
    expect(result).to.have.property('verification').with.length(6)
    expect(hardhat.calls).to.have.length(6)
    expect(hardhat.calls[0]?.args.join(' ')).to.equal(
      '--network sepolia --build-profile default verify sourcify ' +
        `--contract contracts/Settlement.sol:Settlement ${settlementAddress}`,
    )
    expect(hardhat.calls[3]?.args.at(-1)).to.equal(OWN)
    expect(hardhat.calls[0]?.env).to.deep.equal({ SEPOLIA_RPC_URL: chain.url })
  })

  it('publishes the source of the one contract that it deploys', async () => {
    const hardhat = hardhatThat(() => 0)
    const flags = { only: 'stablecoin', yes: true, verify: true }
    const { code } = await run(flags, { findHardhat: hardhat.find })
    expect(code).to.equal(0)
    expect(hardhat.calls).to.have.length(3)
    expect(hardhat.calls[0]?.args).to.include('contracts/ReferenceDollar.sol:ReferenceDollar')
  })

  it('ends with 2 when no service took the source', async () => {
    const flags = { yes: true, verify: true }
    const { code, lines } = await run(flags, { findHardhat: hardhatThat(() => 1).find })
    expect(code).to.equal(2)
    expect(lines.filter((line) => line.includes('not accepted'))).to.have.length(6)
  })

  it('reads its flags', async () => {
    const command = deployCommand()
      .exitOverride()
      .configureOutput({ writeErr: () => undefined })
    const seen: unknown[] = []
    command.action((flags: unknown) => {
      seen.push(flags)
    })
    const line = '--network hoodi --only settlement --dry-run --allowance 12'
    await command.parseAsync(line.split(' '), { from: 'user' })
    expect(seen).to.deep.equal([
      { network: 'hoodi', only: 'settlement', dryRun: true, allowance: 12n },
    ])
    const wrong = command.parseAsync(['--network', 'hoodi', '--allowance', '1.5'], { from: 'user' })
    expect(await wrong.catch((error: { code: string }) => error.code)).to.equal(
      'commander.invalidArgument',
    )
  })
})

function fitsATerminal(lines: readonly string[]): boolean {
  return lines.flatMap((line) => line.split('\n')).every(({ length }) => length <= 80)
}

function hardhatThat(answer: (args: string[]) => number) {
  const calls: { args: string[]; env: Record<string, string> }[] = []
  const run: RunHardhat = (args, env) => {
    calls.push({ args, env })
    return Promise.resolve(answer(args))
  }
  return { calls, find: () => run }
}
