import { Command } from 'commander'

import { parseConfig } from '../../base/config.ts'
import { messageOf } from '../../base/errors.ts'
import { findRunning, type ReadyFacts } from '../../base/ready.ts'
import { createOutput, EXIT, formatPairs } from '../output.ts'

export function statusCommand(): Command {
  return new Command('status')
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', '\nExit code: 0 all well, 1 a part is not, 2 nothing runs here.')
    .action(async (options: { json?: boolean }) => {
      process.exitCode = await run(options)
    })
}

type Status = {
  status: string
  parts: Record<string, { status: string; elapsedMs?: number; message?: string }>
  warnings?: string[]
}

async function run(options: { json?: boolean }): Promise<number> {
  const output = createOutput(options)
  const { dataFolder } = parseConfig(process.env)
  const facts = findRunning(dataFolder)
  if (!facts) {
    output.result({ status: 'stopped' })
    output.line(`Nothing runs on ${dataFolder}. Start it: npm start`)
    return EXIT.cannotRun
  }
  const status = await askReadiness(facts)
  output.result({ ...status, url: facts.url, pid: facts.pid })
  output.line(`${status.status}: process ${facts.pid}${facts.url ? ` at ${facts.url}` : ''}`)
  output.line(
    formatPairs(
      Object.entries(status.parts).map(([name, part]) => [
        name,
        part.message ?? `${part.status}, ${part.elapsedMs} ms`,
      ]),
    ),
  )
  for (const warning of status.warnings ?? []) output.line(warning)
  return WELL.has(status.status) ? EXIT.holds : EXIT.disagrees
}

/** What runs without a status port cannot be asked how its parts are. */
const WELL: ReadonlySet<string> = new Set(['ready', 'running'])

async function askReadiness(facts: ReadyFacts): Promise<Status> {
  if (facts.statusUrl === undefined) return { status: 'running', parts: {} }
  try {
    const response = await fetch(`${facts.statusUrl}/readyz`, { signal: AbortSignal.timeout(5000) })
    return (await response.json()) as Status
  } catch (error) {
    return { status: 'not_ready', parts: { http: { status: 'failed', message: messageOf(error) } } }
  }
}
