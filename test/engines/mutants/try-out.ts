import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { endOf, failureOfContract, failuresIn, type Failure } from './failures.ts'
import { fileOf, mutated, ROOT, type Mutant } from './mutant.ts'

/** What turned red, such as the title of a test or a seed, with its first words, and how soon. */
export type Kill = { by: string; why: string; seconds: number }

/**
 * A mutant is dead when everything that is to see it did. What was red for another reason than that
 * something is wrong, such as a time limit, has seen nothing: it stands with those that survived.
 */
export type Outcome = { kills: Kill[]; survived: string[] }

/** A copy of the tree, in which one mutant after the other is tried. */
export type Copy = {
  /** What killed it the last time is asked first. */
  tryOut: (mutant: Mutant, last?: Outcome) => Promise<Outcome>
  remove: () => Promise<void>
}

const LEFT_OUT = new Set(['node_modules', '.git', 'artifacts', 'cache', 'coverage', '.mutants'])
const BIN = path.join(ROOT, 'node_modules/.bin')
const REPORTER = path.join(import.meta.dirname, 'reporter.cjs')
const SEEDS = 200
/** Both have to say what is wrong. */
const TESTS_END_MS = 5 * 60_000
/** No test takes a tenth of it where the machine does nothing else. */
const TEST_ENDS_MS = 60_000
const SIM_ENDS_MS = 40 * 60_000
/** Few runs are enough: a slip that only the thousandth run finds is no slip of a person. */
const FEW_RUNS = { FUZZ_RUNS: '24', INVARIANT_RUNS: '4', INVARIANT_DEPTH: '40' }
/** Node compiles the same code again for each mutant, but for the file that changed. */
const COMPILED = { NODE_COMPILE_CACHE: path.join(ROOT, '.mutants/code') }

export async function copyTree(): Promise<Copy> {
  const folder = await mkdtemp(path.join(tmpdir(), 'quittance-mutants-'))
  for (const name of await readdir(ROOT)) {
    if (LEFT_OUT.has(name)) continue
    await cp(path.join(ROOT, name), path.join(folder, name), { recursive: true })
  }
  await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
  const bench = { folder, green: new Map<string, boolean>(), isBuilt: false }
  return {
    tryOut: (mutant, last) => tryOut(bench, mutant, last),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

type Bench = { folder: string; green: Map<string, boolean>; isBuilt: boolean }

async function tryOut(bench: Bench, mutant: Mutant, last?: Outcome): Promise<Outcome> {
  const { folder } = bench
  const texts = await mutated(mutant)
  const isContract = mutant.file.endsWith('.sol')
  if (isContract && !bench.isBuilt) await buildContracts(bench)
  for (const [file, text] of texts) await writeFile(path.join(folder, file), text)
  const outcome: Outcome = { kills: [], survived: [] }
  const note = (wanted: string, seen: Seen): void => {
    if (seen.kill === undefined) outcome.survived.push([wanted, ...seen.doubts].join('; '))
    else outcome.kills.push(seen.kill)
  }
  try {
    if (isContract) note('the tests of the contract', await seenByContract(folder, mutant))
    const tests = testsFor(mutant, last)
    if (mutant.tests) note(mutant.tests.join(', '), await seenByTests(folder, tests))
    if (mutant.sim) note(`the simulation of ${mutant.sim}`, await seenBySeeds(folder, mutant.sim))
  } finally {
    for (const file of texts.keys()) await cp(path.join(ROOT, file), path.join(folder, file))
  }
  // What is red without the mutant as well has killed nothing.
  for (const { by } of outcome.kills.filter((kill) => TITLED.test(kill.by))) {
    const test = by.replace(OF_HOOK, '')
    const green =
      bench.green.get(test) ?? isUnseen(await seenByTest(folder, { test, isFirstEnough: true }))
    bench.green.set(test, green)
    if (!green) throw new Error(`on the original as well, this is red: ${test}`)
  }
  return outcome
}

/** What a hook is called beside the tests that it belongs to. */
const OF_HOOK = / "(?:before|after) (?:each|all)" hook.*$/
const TITLED = /^test\/\S+\.test\.ts: ./

function testsFor({ tests = [] }: Mutant, last: Outcome | undefined): string[] {
  const before = last?.kills.find(({ by }) => TITLED.test(by))?.by.replace(OF_HOOK, '')
  const isThere = before !== undefined && existsSync(path.join(ROOT, fileOf(before)))
  return isThere ? [before, ...tests] : [...tests]
}

/** What has seen a mutant, and what was red without saying what is wrong. */
type Seen = { kill?: Kill; doubts: readonly string[] }

const UNSEEN: Seen = { doubts: [] }

function isUnseen({ kill, doubts }: Seen): boolean {
  return kill === undefined && doubts.length === 0
}

/** What is red and not sure may be so because of the first red test: then all are run. */
async function seenByTests(folder: string, tests: readonly string[]): Promise<Seen> {
  const unsure: string[] = []
  for (const test of tests) {
    const seen = await seenByTest(folder, { test, isFirstEnough: true })
    if (seen.kill !== undefined) return seen
    if (seen.doubts.length > 0) unsure.push(test)
  }
  const doubts: string[] = []
  for (const test of unsure) {
    const seen = await seenByTest(folder, { test, isFirstEnough: false })
    if (seen.kill !== undefined) return seen
    doubts.push(...seen.doubts)
  }
  return { doubts }
}

/** By a whole file, or by those tests in it that are named behind a colon. */
async function seenByTest(
  folder: string,
  wanted: { test: string; isFirstEnough: boolean },
): Promise<Seen> {
  const { failures, seconds } = await failuresOf(folder, wanted)
  const sure = failures.find(({ isSure }) => isSure)
  if (sure !== undefined) return { kill: { by: sure.by, why: sure.why, seconds }, doubts: [] }
  return { doubts: failures.map(({ by, why }) => `${by}: ${why}`) }
}

type Failures = { failures: readonly Failure[]; seconds: number }

async function failuresOf(
  folder: string,
  { test, isFirstEnough }: { test: string; isFirstEnough: boolean },
): Promise<Failures> {
  const file = fileOf(test)
  const title = test.slice(file.length + 2)
  const report = path.join(folder, 'mocha.json')
  await rm(report, { force: true })
  const reporting = ['--reporter', REPORTER, '--reporter-option', `output=${report}`]
  const args = ['--no-parallel', '--timeout', String(TEST_ENDS_MS), '--exit', ...reporting, file]
  if (isFirstEnough) args.push('--bail')
  if (title !== '') args.push('--fgrep', title)
  const ran = await run('mocha', args, { cwd: folder, ms: TESTS_END_MS })
  const { seconds } = ran
  const doubt = (why: string): Failures => ({
    failures: [{ by: test, why, isSure: false }],
    seconds,
  })
  if (ran.isLate) return doubt('no end')
  const text = await readFile(report, 'utf8').catch(() => undefined)
  if (text === undefined) throw new Error(`the tests do not run:\n${endOf(ran.output)}`)
  const failures = failuresIn(text, folder)
  if (failures === undefined) return doubt('no test was run')
  if (ran.isGreen !== (failures.length === 0))
    throw new Error(`the report is not that of the run:\n${endOf(ran.output)}`)
  return { failures, seconds }
}

async function seenBySeeds(folder: string, kind: 'ether' | 'money'): Promise<Seen> {
  const args = ['scripts/sim.ts', '--bail', '--no-shrink', '--runs', String(SEEDS)]
  if (kind === 'money') args.push('--money')
  const ran = await run('node', args, { cwd: folder, ms: SIM_ENDS_MS })
  const { isGreen, output, seconds } = ran
  if (isGreen) return UNSEEN
  const [, seed, why] = /(seed \d+):\n\s*(.*)/.exec(output) ?? []
  if (seed !== undefined && why !== undefined)
    return { kill: { by: seed, why, seconds }, doubts: [] }
  if (ran.isLate) return { doubts: ['no end'] }
  throw new Error(`the simulation does not run:\n${endOf(output)}`)
}

async function buildContracts(bench: Bench): Promise<void> {
  const config = path.join(bench.folder, 'hardhat.config.ts')
  const text = await readFile(config, 'utf8')
  // A slip may leave a name unused; it is the tests that shall find it, not the compiler.
  await writeFile(config, text.replace('hardhatToolbox, strictCompiler]', 'hardhatToolbox]'))
  const built = await run('hardhat', ['build'], { cwd: bench.folder })
  if (!built.isGreen) throw new Error(`the contracts do not compile:\n${endOf(built.output)}`)
  bench.isBuilt = true
}

/** Compiles one contract, and runs the tests of that contract alone. */
async function seenByContract(cwd: string, { file }: Mutant): Promise<Seen> {
  const contract = file.includes('Dollar') ? 'ReferenceDollar' : 'Settlement'
  const built = await run('hardhat', ['build', `contracts/${contract}.sol`], { cwd })
  if (!built.isGreen) throw new Error(`the mutant does not compile:\n${endOf(built.output)}`)
  for (const stage of await stagesOf(cwd, contract)) {
    const { isGreen, seconds, output } = await run('hardhat', stage, { cwd })
    if (isGreen) continue
    const [title, why] = failureOfContract(output)
    return { kill: { by: title, why, seconds }, doubts: [] }
  }
  return UNSEEN
}

/** The quickest first: examples, then invariants, then whole transactions. */
async function stagesOf(folder: string, contract: string): Promise<string[][]> {
  const names = await readdir(path.join(folder, 'test/contracts'))
  const tests = names
    .filter((name) => name.startsWith(contract) && name.endsWith('.t.sol'))
    .map((name) => `test/contracts/${name}`)
  const solidity = ['test', 'solidity', '--no-compile']
  return [
    [...solidity, ...tests.filter((name) => !name.includes('Invariant'))],
    [...solidity, ...tests.filter((name) => name.includes('Invariant'))],
    ['test', 'mocha', '--no-compile', 'test/contracts/settlement.test.ts'],
  ]
}

type Ran = { isGreen: boolean; isLate: boolean; seconds: number; output: string }

function run(
  name: string,
  args: readonly string[],
  { cwd, ms = 0 }: { cwd: string; ms?: number },
): Promise<Ran> {
  const env = {
    ...process.env,
    ...FEW_RUNS,
    ...COMPILED,
    PATH: `${BIN}:${process.env['PATH']}`,
  }
  const options = { cwd, env, maxBuffer: 2 ** 26, timeout: ms, killSignal: 'SIGKILL' } as const
  const startedAt = performance.now()
  return new Promise((resolve) => {
    execFile(path.join(BIN, name), args, options, (error, stdout, stderr) => {
      const seconds = Math.round((performance.now() - startedAt) / 100) / 10
      const output = `${stdout}\n${stderr}`
      resolve({ isGreen: error === null, isLate: error?.killed === true, seconds, output })
    })
  })
}
