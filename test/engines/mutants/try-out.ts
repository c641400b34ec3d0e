import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { fileOf, mutated, ROOT, type Mutant } from './mutant.ts'

/** What turned red, such as the title of a test or a seed, and after how long. */
export type Kill = { by: string; seconds: number }

/** A mutant is dead when everything that is to see it did. */
export type Outcome = { kills: Kill[]; survived: string[] }

/** A copy of the tree, in which one mutant after the other is tried. */
export type Copy = {
  tryOut: (mutant: Mutant) => Promise<Outcome>
  remove: () => Promise<void>
}

const LEFT_OUT = new Set(['node_modules', '.git', 'artifacts', 'cache', 'coverage', '.mutants'])
const BIN = path.join(ROOT, 'node_modules/.bin')
const SEEDS = 200
/** A mutant that keeps tests from their end is dead; the simulation has to say what is wrong. */
const TESTS_END_MS = 5 * 60_000
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
    tryOut: (mutant) => tryOut(bench, mutant),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

type Bench = { folder: string; green: Map<string, boolean>; isBuilt: boolean }

async function tryOut(bench: Bench, mutant: Mutant): Promise<Outcome> {
  const { folder } = bench
  const texts = await mutated(mutant)
  const isContract = mutant.file.endsWith('.sol')
  if (isContract && !bench.isBuilt) await buildContracts(bench)
  for (const [file, text] of texts) await writeFile(path.join(folder, file), text)
  const outcome: Outcome = { kills: [], survived: [] }
  const note = (wanted: string, kill: Kill | undefined): void => {
    if (kill === undefined) outcome.survived.push(wanted)
    else outcome.kills.push(kill)
  }
  try {
    if (isContract) note('the tests of the contract', await killOfContract(folder, mutant))
    if (mutant.tests) note(mutant.tests.join(', '), await killByTests(folder, mutant.tests))
    if (mutant.sim) note(`the simulation of ${mutant.sim}`, await killBySeeds(folder, mutant.sim))
  } finally {
    for (const file of texts.keys()) await cp(path.join(ROOT, file), path.join(folder, file))
  }
  // What is red without the mutant as well has killed nothing.
  const tests = outcome.kills.flatMap(({ by }) => /^test\/\S+\.test\.ts: .+/.exec(by) ?? [])
  for (const test of tests) {
    const green = bench.green.get(test) ?? (await killByTest(folder, test)) === undefined
    bench.green.set(test, green)
    if (!green) throw new Error(`on the original as well, this is red: ${test}`)
  }
  return outcome
}

async function killByTests(folder: string, tests: readonly string[]): Promise<Kill | undefined> {
  for (const test of tests) {
    const kill = await killByTest(folder, test)
    if (kill !== undefined) return kill
  }
  return undefined
}

type MochaReport = { failures: { fullTitle: string; file: string }[] }

/** By a whole file, or by those tests in it that are named behind a colon. */
async function killByTest(folder: string, test: string): Promise<Kill | undefined> {
  const file = fileOf(test)
  const title = test.slice(file.length + 2)
  const report = path.join(folder, 'mocha.json')
  await rm(report, { force: true })
  const reporting = ['--reporter', 'json', '--reporter-option', `output=${report}`]
  const args = ['--bail', '--no-parallel', '--timeout', '100000', '--exit', ...reporting, file]
  if (title !== '') args.push('--fgrep', title)
  const ran = await run('mocha', args, { cwd: folder, ms: TESTS_END_MS })
  if (ran.isGreen) return undefined
  const { seconds } = ran
  if (ran.isLate) return { by: `${test}, without end`, seconds }
  const text = await readFile(report, 'utf8').catch(() => undefined)
  if (text === undefined) throw new Error(`the tests do not run:\n${ran.output}`)
  const [failure] = (JSON.parse(text) as MochaReport).failures
  if (failure === undefined) throw new Error(`red without a failure:\n${ran.output}`)
  return { by: `${path.relative(folder, failure.file)}: ${failure.fullTitle}`, seconds }
}

async function killBySeeds(folder: string, kind: 'ether' | 'money'): Promise<Kill | undefined> {
  const args = ['scripts/sim.ts', '--bail', '--no-shrink', '--runs', String(SEEDS)]
  if (kind === 'money') args.push('--money')
  const ran = await run('node', args, { cwd: folder, ms: SIM_ENDS_MS })
  if (ran.isGreen) return undefined
  const red = /seed \d+:\n.*/.exec(ran.output)?.[0].replace(/\s+/g, ' ')
  if (red === undefined) throw new Error(`the simulation does not run:\n${ran.output}`)
  return { by: red, seconds: ran.seconds }
}

async function buildContracts(bench: Bench): Promise<void> {
  const config = path.join(bench.folder, 'hardhat.config.ts')
  const text = await readFile(config, 'utf8')
  // A slip may leave a name unused; it is the tests that shall find it, not the compiler.
  await writeFile(config, text.replace('hardhatToolbox, strictCompiler]', 'hardhatToolbox]'))
  const built = await run('hardhat', ['build'], { cwd: bench.folder })
  if (!built.isGreen) throw new Error(`the contracts do not compile:\n${built.output}`)
  bench.isBuilt = true
}

/** Compiles one contract, and runs the tests of that contract alone. */
async function killOfContract(cwd: string, { file }: Mutant): Promise<Kill | undefined> {
  const contract = file.includes('Dollar') ? 'ReferenceDollar' : 'Settlement'
  const built = await run('hardhat', ['build', `contracts/${contract}.sol`], { cwd })
  if (!built.isGreen) throw new Error(`the mutant does not compile:\n${built.output}`)
  for (const stage of await stagesOf(cwd, contract)) {
    const { isGreen, seconds } = await run('hardhat', stage, { cwd })
    if (!isGreen) return { by: stage.slice(3).join(' '), seconds }
  }
  return undefined
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
  const env = { ...process.env, ...FEW_RUNS, ...COMPILED, PATH: `${BIN}:${process.env['PATH']}` }
  const options = { cwd, env, maxBuffer: 2 ** 26, timeout: ms, killSignal: 'SIGKILL' } as const
  const startedAt = performance.now()
  return new Promise((resolve) => {
    execFile(path.join(BIN, name), args, options, (error, stdout, stderr) => {
      const seconds = Math.round((performance.now() - startedAt) / 100) / 10
      const output = `${stdout}\n${stderr}`.slice(-4_000)
      resolve({ isGreen: error === null, isLate: error?.killed === true, seconds, output })
    })
  })
}
