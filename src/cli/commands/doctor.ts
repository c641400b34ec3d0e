import { Command } from 'commander'

import type { DoctorFinding } from '../../app/doctor/finding.ts'
import { createOutput, EXIT } from '../output.ts'

export function doctorCommand(): Command {
  return new Command('doctor')
    .option('--webhook <url>', 'also connect to this receiver of webhooks')
    .option('--json', 'print the answer as JSON')
    .addHelpText('after', HELP_AFTER)
    .action(async (flags: { webhook?: string; json?: boolean }) => {
      process.exitCode = await run(flags)
    })
}

const HELP_AFTER = `
Examples:
  $ quittance doctor
  $ quittance doctor --webhook https://shop.example/hook

It checks the configuration, the database, each provider, the contracts and tokens, the signers,
the clock, and the way out for webhooks. Of several chains it checks each. It changes nothing.
Signer 0 signs once, a text that no contract accepts.
Exit code: 0 no problem, 1 at least one problem, 2 could not run.`

const LIMIT_MS = 60_000

async function run(flags: { webhook?: string; json?: boolean }): Promise<number> {
  const output = createOutput(flags)
  const { examine } = await import('../../app/doctor/doctor.ts')
  const findings = await examine({
    env: process.env,
    webhookUrl: flags.webhook,
    signal: AbortSignal.timeout(LIMIT_MS),
  })
  const problems = findings.filter(({ status }) => status === 'problem').length
  output.result({ status: problems === 0 ? 'ok' : 'problem', problems, findings })
  for (const finding of findings) output.line(lineOf(finding))
  output.line()
  output.line(problems === 0 ? 'There is no problem.' : `Problems to correct: ${problems}.`)
  return problems === 0 ? EXIT.holds : EXIT.disagrees
}

function lineOf({ part, chain, status, message, remedy }: DoctorFinding): string {
  const [first = '', ...rest] = chain === undefined ? message : `${chain}: ${message}`
  const begin = chain === undefined ? first.toUpperCase() : first
  const sentence = `${begin}${rest.join('')}`.replace(/[^.]$/, '$&.')
  const line = `  ${status.padEnd(8)} ${part.padEnd(14)} ${sentence}`
  return remedy === undefined ? line : `${line}\n  ${' '.repeat(24)}${remedy}`
}
