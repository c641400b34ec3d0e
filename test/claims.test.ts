import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import type { Command } from 'commander'

import { checkCommand, proveCommand } from '../src/cli/commands/proof.ts'
import { reconcileCommand } from '../src/cli/commands/reconcile.ts'
import { verifyCommand } from '../src/cli/commands/verify.ts'
import { formatAmount } from '../src/domain/money.ts'
import type { ReportJson } from '../src/reconciler/reports/json.ts'
import { verifyMint, verifyRedeem, verifyTransaction, type Verdict } from '../src/verify/index.ts'
import { csvFile, removeFiles } from './fixtures/books/reconcile.ts'
import { CHAIN_ID, type PaidChain } from './fixtures/books/verify.ts'
import { startClaimsChain, type Scene, type SceneName } from './fixtures/chain/claims-chain.ts'
import { claimsOver, WAYS, type Claim, type Told, type Way } from './fixtures/chain/claims.ts'
import { runHere } from './fixtures/commands.ts'
import { temporaryFolder } from './fixtures/folder.ts'

describe('claims of what was paid, asked in every way', () => {
  let world: PaidChain
  let scenes: Record<SceneName, Scene>
  let claims: Claim[]
  const folder = temporaryFolder()
  const environment = process.env
  let env: Record<string, string>

  before(async () => {
    const started = await startClaimsChain()
    world = started.world
    scenes = started.scenes
    claims = claimsOver(scenes)
    env = {
      ETH_RPC_URL: world.chain.url,
      QUITTANCE_CONFIRMATIONS: '2',
      QUITTANCE_DATA: join(folder.path, 'none'),
    }
    const { PATH = '', HOME = '' } = process.env
    process.env = { PATH, HOME, ...env }
  })
  after(async () => {
    process.env = environment
    await world.chain.stop()
    folder.remove()
    removeFiles()
  })

  const differing = async (way: Way, ask: (claim: Claim) => Promise<Told>): Promise<string[]> => {
    const wrong: string[] = []
    for (const claim of claims.filter(({ not }) => not?.[way] === undefined)) {
      const told = await ask(claim)
      if (told !== claim.is) wrong.push(`${claim.name}: ${told} and not ${claim.is}`)
    }
    return wrong
  }
  const hashOf = ({ of }: Claim) => scenes[of].hash

  it('are at least sixty, true and false, and each way hears nearly all of them', () => {
    expect(claims.length).to.be.at.least(60)
    expect(new Set(claims.map(({ name }) => name)).size).to.equal(claims.length)
    const counts = WAYS.map((way) => [way, claims.filter(({ not }) => !not?.[way]).length])
    expect(Object.fromEntries(counts)).to.deep.equal(COUNTS)
  })

  it('come to the same through the library', async () => {
    expect(await differing('library', async (claim) => told(await byLibrary(claim)))).to.deep.equal(
      [],
    )
  })

  it('come to the same through verify on the command line', async () => {
    expect(await differing('command', byCommand)).to.deep.equal([])
  })

  it('come to the same through prove and check on the command line', async () => {
    expect(await differing('proof', byProof)).to.deep.equal([])
  })

  it('come to the same through reconcile on the command line', async () => {
    expect(await differing('reconcile', byReconcile)).to.deep.equal([])
  })

  it('end a process of their own with the same code, as a sample shows', async () => {
    const names = ['settleToken: as it was paid', 'fake transfer, as dollars']
    for (const claim of claims.filter(({ name }) => names.includes(name))) {
      const code = claim.is === 'true' ? 0 : 1
      const verified = await runHere(['verify', ...verifyArgs(claim)], env)
      expect(verified.code, `${claim.name}: ${verified.stderr}`).to.equal(code)
      const args = ['reconcile', '--source', csvFile([rowOf(claim)])]
      expect((await runHere(args, env)).code, claim.name).to.equal(code)
    }
  })

  const byLibrary = (claim: Claim): Promise<Verdict> => {
    const { payee = '', payer = '', token = '', amount = 0n, reference } = claim
    const options = { providers: [world.node('a')], confirmations: 2 }
    const supply = { profile: 'memo', token, amount, reference, hash: hashOf(claim) } as const
    const asked = { chainId: CHAIN_ID, ...supply }
    if (claim.supply === 'mint') return verifyMint({ ...asked, payee }, options)
    if (claim.supply === 'redeem') return verifyRedeem({ ...asked, payer }, options)
    const given = { payee: claim.payee, payer: claim.payer, amount: claim.amount, log: claim.log }
    const facts = { hash: hashOf(claim), token: claim.token, reference, ...given }
    return verifyTransaction({ chainId: CHAIN_ID, ...facts }, options)
  }

  const verifyArgs = (claim: Claim): string[] => {
    const { payee, payer, amount, token, reference, log, supply } = claim
    const given = flagsOf({ payee, payer, token, reference, log, 'amount-units': amount })
    if (supply === undefined) return ['tx', hashOf(claim), ...given]
    return [supply, '--hash', hashOf(claim), '--profile', 'memo', ...given]
  }

  const byCommand = async (claim: Claim): Promise<Told> => {
    const { stdout, code } = await inProcess(verifyCommand(), [...verifyArgs(claim), '--json'])
    const answer = told(JSON.parse(stdout) as Verdict)
    expect(code, claim.name).to.equal(answer === 'true' || answer === 'caution' ? 0 : 1)
    return answer
  }

  const byProof = async (claim: Claim): Promise<Told> => {
    const { payee, payer, amount, token, reference, log } = claim
    const out = join(folder.path, 'quittance.json')
    rmSync(out, { force: true })
    const given = flagsOf({ payee, payer, token, reference, 'amount-units': amount })
    const named = flagsOf({ reference, log })
    const args = [hashOf(claim), '--out', out, ...named]
    const made = await inProcess(proveCommand(), args)
    if (made.code !== 0) return 'false'
    expect(JSON.parse(readFileSync(out, 'utf8')).transaction.hash).to.equal(hashOf(claim))
    const { code, stdout } = await inProcess(checkCommand(), [out, ...given, '--json'])
    return code === 0 ? told(JSON.parse(stdout) as Verdict) : 'false'
  }

  const rowOf = (claim: Claim) => {
    const { payee, amount, token, reference, currency } = claim
    const decimals = token === undefined && currency === undefined ? 18 : 6
    return {
      transaction_id: 'TX1',
      eth_transaction_hash: hashOf(claim),
      to_address: payee,
      amount: amount === undefined ? undefined : formatAmount({ amount, decimals }),
      token,
      reference,
      currency,
    }
  }

  const byReconcile = async (claim: Claim): Promise<Told> => {
    const args = ['--source', csvFile([rowOf(claim)]), ...flagsOf({ token: claim.named }), '--json']
    const { stdout, code } = await inProcess(reconcileCommand(), args)
    const { summary, not_compared: uncompared } = JSON.parse(stdout) as ReportJson
    expect(summary, claim.name).to.include({ records: 1, unreadable: 0 })
    expect(code, claim.name).to.equal(summary.matched + summary.pending === 1 ? 0 : 1)
    if (summary.pending === 1) return 'pending'
    if (uncompared.some(({ reason }) => reason === 'sent_back')) return 'caution'
    return summary.matched === 1 ? 'true' : 'false'
  }
}).timeout(120_000)

const COUNTS: Record<Way, number> = { library: 115, command: 115, proof: 108, reconcile: 110 }

function flagsOf(flags: Readonly<Record<string, string | number | bigint | undefined>>): string[] {
  return Object.entries(flags).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, String(value)],
  )
}

const TOLD = { holds: 'true', disagrees: 'false', pending: 'pending' } as const

function told({ status, caveats }: Verdict): Told {
  const isBack = caveats.some((caveat) => caveat.includes('back to the payer'))
  return status === 'holds' && isBack ? 'caution' : TOLD[status]
}

/** The compiler believes it is what it was set to before the command ran. */
function codeNow(): number {
  return Number(process.exitCode ?? 0)
}

/** Runs a command in this process, for what it prints and the code that it would end with. */
async function inProcess(
  command: Command,
  args: readonly string[],
): Promise<{ stdout: string; code: number }> {
  const write = process.stdout.write.bind(process.stdout)
  let stdout = ''
  process.exitCode = undefined
  process.stdout.write = (text) => {
    stdout += String(text)
    return true
  }
  try {
    await command.exitOverride().parseAsync(args, { from: 'user' })
    return { stdout, code: codeNow() }
  } finally {
    process.stdout.write = write
    process.exitCode = undefined
  }
}
