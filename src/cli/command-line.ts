import { Command, CommanderError } from 'commander'

import { commandsFor } from './commands.ts'
import { EXIT, reportError, version } from './output.ts'

const HELP_AFTER = `
First steps:
  $ quittance up                 everything on this machine, nothing to set up
  $ quittance status             check that all is well

Exit codes: 0 everything holds, 1 a disagreement was found, 2 could not run.
Every command takes --json and --help. Settings come from the environment.
docs/configuration.md lists them.`

/** Runs one command to its end. What it has to say of it is in `process.exitCode`. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  const program = new Command('quittance')
    .description('Settles payments on a chain once, and checks every hash against its receipt.')
    .version(version)
    .addHelpText('after', HELP_AFTER)
    .showSuggestionAfterError()
    .showHelpAfterError('Add --help to see its options.')
    .exitOverride()
  for (const command of await commandsFor(args)) program.addCommand(command)
  inheritSettings(program)
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    process.exitCode = exitCodeOf(error, args)
  }
}

function inheritSettings(parent: Command): void {
  for (const command of parent.commands) {
    command.exitOverride().copyInheritedSettings(parent)
    inheritSettings(command)
  }
}

function exitCodeOf(error: unknown, args: readonly string[]): number {
  // Commander has told its own errors already; help and version are errors of exit code 0 to it.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.holds : EXIT.cannotRun
  reportError(error, { json: args.includes('--json') })
  return EXIT.cannotRun
}
