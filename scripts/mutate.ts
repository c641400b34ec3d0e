import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/** A slip that a person could make. Each text occurs once in the file, and becomes the other. */
type Mutant = {
  file: string
  what: string
  changes: [find: string, replace: string][]
  /** Why no test can tell it from the contract, where none can. */
  equivalent?: string
}
type Outcome = 'killed' | 'survived' | 'does not compile'

const ROOT = path.resolve(import.meta.dirname, '..')
const COPIED = ['contracts', 'test', 'src', 'hardhat.config.ts', 'package.json', 'tsconfig.json']
const WORKERS = 2
/** Few runs are enough: a slip that only the thousandth run finds is no slip of a person. */
const FEW_RUNS = { FUZZ_RUNS: '24', INVARIANT_RUNS: '4', INVARIANT_DEPTH: '40' }

const chosen = process.argv[2] ?? ''
const list = await readFile(path.join(ROOT, 'test/contracts/mutants.json'), 'utf8')
const queue = (JSON.parse(list) as Mutant[]).filter(({ file, what }) =>
  `${file} ${what}`.includes(chosen),
)
const survivors: Mutant[] = []
let done = 0
await Promise.all(Array.from({ length: WORKERS }, work))
console.log(`\n${done - survivors.length} of ${done} mutants killed`)
for (const { file, what, equivalent } of survivors) {
  console.log(`survived: ${file}: ${what}. ${equivalent ?? 'No test has caught it.'}`)
}
process.exitCode = survivors.every(({ equivalent }) => equivalent !== undefined) ? 0 : 1

async function work(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'quittance-mutants-'))
  try {
    for (const name of COPIED) {
      await cp(path.join(ROOT, name), path.join(folder, name), { recursive: true })
    }
    await tolerateWarnings(path.join(folder, 'hardhat.config.ts'))
    await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
    if (!(await hardhat(folder, ['build']))) throw new Error('the contracts do not compile')
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const outcome = await tryOut(folder, mutant)
      done += 1
      if (outcome !== 'killed') survivors.push(mutant)
      console.log(`${outcome.padEnd(16)} ${path.basename(mutant.file)}: ${mutant.what}`)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A slip may leave a name unused; it is the tests that shall find it, not the compiler. */
async function tolerateWarnings(config: string): Promise<void> {
  const text = await readFile(config, 'utf8')
  await writeFile(config, text.replace('hardhatToolbox, strictCompiler]', 'hardhatToolbox]'))
}

/** Compiles one contract with one slip, and runs the tests of that contract alone. */
async function tryOut(folder: string, mutant: Mutant): Promise<Outcome> {
  const file = path.join(folder, mutant.file)
  const original = await readFile(path.join(ROOT, mutant.file), 'utf8')
  const contract = mutant.file.includes('Dollar') ? 'ReferenceDollar' : 'Settlement'
  await writeFile(file, mutate(original, mutant))
  try {
    if (!(await hardhat(folder, ['build', `contracts/${contract}.sol`]))) return 'does not compile'
    for (const stage of await stagesOf(folder, contract)) {
      if (!(await hardhat(folder, stage))) return 'killed'
    }
    return 'survived'
  } finally {
    await writeFile(file, original)
  }
}

/** The text with the slip in it; throws where the contract has moved on. */
function mutate(text: string, { changes }: Mutant): string {
  return changes.reduce((before, [find, replace]) => {
    const at = before.indexOf(find)
    if (at === -1 || before.includes(find, at + 1)) throw new Error(`must occur once: ${find}`)
    return before.slice(0, at) + replace + before.slice(at + find.length)
  }, text)
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

/** Whether the command went well. */
function hardhat(cwd: string, commandLine: string[]): Promise<boolean> {
  const bin = path.join(ROOT, 'node_modules/.bin')
  const env = { ...process.env, ...FEW_RUNS, PATH: `${bin}:${process.env['PATH']}` }
  return new Promise((resolve) => {
    execFile(path.join(bin, 'hardhat'), commandLine, { cwd, env, maxBuffer: 2 ** 26 }, (error) =>
      resolve(error === null),
    )
  })
}
