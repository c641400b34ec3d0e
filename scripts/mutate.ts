/**
 * Applies each mutant of `test/mutants.json` to a copy of the tree, and says what killed it. What
 * was found stays in `.mutants/`, and stands until the mutant, its code or its tests change.
 */
import { createHash } from 'node:crypto'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { setPriority } from 'node:os'
import path from 'node:path'

import { messageOf } from '../src/base/errors.ts'
import {
  fileOf,
  mutated,
  nameOf,
  readMutants,
  ROOT,
  type Mutant,
} from '../test/engines/mutants/mutant.ts'
import { runIn, renderList } from '../test/engines/mutants/listing.ts'
import { copyTree, type Outcome } from '../test/engines/mutants/try-out.ts'
import { positive, scriptCommand } from '../test/fixtures/script.ts'
import { prepareData, removePrepared } from '../test/fixtures/store/prepared-data.ts'

type Result = Outcome & { file: string; what: string; print: string }

const RESULTS = path.join(ROOT, '.mutants/results.jsonl')
const LIST = path.join(ROOT, 'docs/mutants.md')

const command = scriptCommand('mutate', 'Removes one guard at a time, and runs what must see it.')
  .argument('[words...]', 'only mutants whose file and description have one of these')
  .option('--sim', 'only those that the simulation is to see')
  .option('--no-sim', 'only the others')
  .option('--unlisted', 'only those that docs/mutants.md knows no end of')
  .option('--again', 'also those whose result stands')
  .option('--workers <count>', 'how many copies of the tree', positive, 1)
  .option('--json', 'print the results as JSON')
  .option('--list', 'write what is known into docs/mutants.md, and run nothing')
  .parse()
type Options = {
  sim?: boolean
  unlisted?: boolean
  again?: boolean
  workers: number
  json?: boolean
  list?: boolean
}
const options = command.opts<Options>()

// It takes long, and nobody waits for it.
setPriority(19)
const words = command.args
const listed = options.unlisted ? runIn(await readList()) : undefined
const chosen = (await readMutants()).filter((mutant) => {
  if (listed?.has(nameOf(mutant))) return false
  if (options.sim !== undefined && options.sim !== (mutant.sim !== undefined)) return false
  return words.length === 0 || words.some((word) => nameOf(mutant).includes(word))
})
const results = new Map((await readResults()).map((result) => [nameOf(result), result]))
if (options.list) await writeList()
const standing = new Set<Mutant>()
for (const mutant of chosen) {
  const isSame = results.get(nameOf(mutant))?.print === (await printOf(mutant))
  if (isSame && !options.again) standing.add(mutant)
}
const failures: string[] = []
const queue = chosen.filter((mutant) => {
  if (options.list || standing.has(mutant)) return false
  const isThere = !mutant.server || process.env['DATABASE_URL'] !== undefined
  if (!isThere) failures.push(`${nameOf(mutant)}: needs a server in DATABASE_URL.`)
  return isThere
})
const startedAt = performance.now()
if (queue.length > 0) await prepareData()
await Promise.all(Array.from({ length: Math.min(options.workers, queue.length) }, work))
removePrepared()
report()

async function work(): Promise<void> {
  const copy = await copyTree()
  try {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      await tryOne(copy, mutant)
    }
  } finally {
    await copy.remove()
  }
}

async function tryOne(copy: Awaited<ReturnType<typeof copyTree>>, mutant: Mutant): Promise<void> {
  const { file, what } = mutant
  try {
    const print = await printOf(mutant)
    const result = {
      file,
      what,
      print,
      ...(await copy.tryOut(mutant, results.get(nameOf(mutant)))),
    }
    results.set(nameOf(mutant), result)
    await mkdir(path.dirname(RESULTS), { recursive: true })
    await appendFile(RESULTS, `${JSON.stringify(result)}\n`)
    if (!options.json) tell(mutant, result)
  } catch (error) {
    failures.push(`${nameOf(mutant)}: ${messageOf(error)}`)
  }
}

function tell(mutant: Mutant, { kills, survived }: Outcome): void {
  console.log(`${survived.length === 0 ? 'killed  ' : 'SURVIVED'} ${nameOf(mutant)}`)
  for (const { by, why, seconds } of kills) console.log(`         ${seconds} s: ${by}: ${why}`)
  for (const wanted of survived) console.log(`         unseen by ${wanted}`)
}

function report(): void {
  const told = chosen.flatMap((mutant) => results.get(nameOf(mutant)) ?? [])
  const alive = chosen.filter((mutant) => (results.get(nameOf(mutant))?.survived.length ?? 0) > 0)
  const wrong = alive.filter(({ equivalent }) => equivalent === undefined)
  if (options.json) {
    const shown = told.map(({ file, what, kills, survived }) => ({ file, what, kills, survived }))
    console.log(JSON.stringify(shown))
  } else {
    const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
    console.log(`\n${told.length - alive.length} of ${chosen.length} killed, in ${minutes} min`)
    for (const failure of failures) console.log(`not run: ${failure}`)
    for (const mutant of alive) {
      console.log(`alive: ${nameOf(mutant)}. ${mutant.equivalent ?? 'Nothing has caught it.'}`)
    }
  }
  const isDone = told.length === chosen.length && failures.length === 0
  process.exitCode = wrong.length === 0 && isDone ? 0 : 1
}

async function writeList(): Promise<void> {
  const before = await readList()
  await writeFile(LIST, renderList(await readMutants(), { results, before }))
}

function readList(): Promise<string> {
  return readFile(LIST, 'utf8').catch(() => '')
}

async function readResults(): Promise<Result[]> {
  const text = await readFile(RESULTS, 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Result)
}

/** Of everything that the result follows from, as far as it is known. */
async function printOf(mutant: Mutant): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(mutant))
  for (const text of (await mutated(mutant)).values()) hash.update(text)
  for (const test of mutant.tests ?? []) {
    hash.update(await readFile(path.join(ROOT, fileOf(test))))
  }
  return hash.digest('hex')
}
