/**
 * Attacks programs of its own, and prints what was tried, how often, and what came of it: `npm run
 * attack`. They run on DATABASE_URL, or on a PostgreSQL server that is started for them; with
 * `--embedded` on the embedded database. Exit code 1: something gave way; 2: something could not be
 * run.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { messageOf } from '../src/base/errors.ts'
import type { Attack, AttackResult } from '../test/engines/attack/attack.ts'
import { ATTACKS } from '../test/engines/attack/attacks.ts'
import { positive, scriptCommand } from '../test/fixtures/script.ts'
import { dropOwnDatabases } from '../test/fixtures/store/database.ts'

const names = ATTACKS.map(({ name }) => name).join(', ')
const about = [
  'Attacks programs of its own, and prints what was tried, how often, and what came of it.',
  ...ATTACKS.map((attack) => `  ${attack.name}: ${attack.about}`),
].join('\n')
const { only, seconds, embedded } = scriptCommand('attack', about)
  .option('--only <names>', `some of ${names}, with commas between them`, namesIn)
  .option('--seconds <count>', 'how long a load lasts', positive, 60)
  .option('--embedded', 'on the embedded database, without a PostgreSQL server')
  .parse()
  .opts<{ only?: string[]; seconds: number; embedded?: true }>()

type Row = AttackResult & { attack: string; couldNotRun?: true }

const say = (line: string): void => console.log(`  ${line}`)

async function main(): Promise<void> {
  const server = embedded || process.env['DATABASE_URL'] ? undefined : await startPostgres()
  if (server) process.env['DATABASE_URL'] = server.url
  if (embedded) delete process.env['DATABASE_URL']
  const rows: Row[] = []
  try {
    for (const attack of ATTACKS) {
      const { name } = attack
      if (only && !only.includes(name)) continue
      console.log(`${name} …`)
      const results = await begin(attack).catch((error: unknown) => [failed(error)])
      rows.push(...results.map((result) => ({ attack: name, ...result })))
    }
    await dropOwnDatabases()
  } finally {
    await server?.stop()
  }
  print(rows)
  const couldNotRun = rows.length === 0 || rows.some((row) => row.couldNotRun)
  process.exitCode = couldNotRun ? 2 : rows.some(({ wrong }) => wrong.length > 0) ? 1 : 0
}

async function begin({ needsServer, run }: Attack): Promise<AttackResult[]> {
  if (needsServer && embedded) throw new Error('it needs a PostgreSQL server')
  return run({ seconds, say })
}

function namesIn(text: string): string[] {
  const wanted = text.split(',').map((name) => name.trim())
  const unknown = wanted.find((name) => !ATTACKS.some((attack) => attack.name === name))
  if (unknown === undefined) return wanted
  console.error(`There is no attack ${unknown}. There are: ${names}.`)
  return process.exit(2)
}

function failed(error: unknown): AttackResult & { couldNotRun: true } {
  const wrong = [`it could not be run: ${messageOf(error)}`]
  return { tried: '', count: 0, outcome: '', wrong, couldNotRun: true }
}

function print(rows: readonly Row[]): void {
  for (const { attack, tried, count, outcome, wrong } of rows) {
    console.log(`\n${wrong.length === 0 ? 'held' : 'FELL'}  ${attack}: ${tried}`)
    console.log(`      ${count} times: ${outcome}`)
    for (const sentence of wrong) console.log(`      wrong: ${sentence}`)
  }
  const fell = rows.filter(({ wrong }) => wrong.length > 0).length
  console.log(`\n${rows.length} attacks: ${rows.length - fell} held, ${fell} fell`)
}

/** The server of `.ci/postgres`, for as long as its standard input is open. */
async function startPostgres(): Promise<{ url: string; stop: () => Promise<void> }> {
  const script = 'source .ci/postgres; trap stop_postgres EXIT; start_postgres >&2; '
  const shell = spawn('bash', ['--norc', '-ec', `${script} echo "$DATABASE_URL"; cat >/dev/null`], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // A Ctrl-C at the terminal ends this program, which then ends the server.
    detached: true,
  })
  const ended = once(shell, 'exit')
  const url = await Promise.race([
    once(shell.stdout, 'data').then(([text]) => String(text).trim()),
    ended.then(([code]) => Promise.reject(new Error(`PostgreSQL did not start: ${code}`))),
  ])
  return {
    url,
    async stop() {
      shell.stdin.end()
      await ended
    },
  }
}

await main()
