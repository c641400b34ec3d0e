import { Command, InvalidArgumentError } from 'commander'

/** What a script takes: `--help` tells it, and what it does not take ends it with one line. */
export function scriptCommand(name: string, description: string): Command {
  return new Command(`npm run ${name} --`)
    .description(description)
    .showHelpAfterError('--help tells what there is.')
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
}

export function wholeNumber(text: string): number {
  const number = /^\d+$/.test(text) ? Number(text) : undefined
  if (number !== undefined && Number.isSafeInteger(number)) return number
  throw new InvalidArgumentError('It must be a whole number.')
}

export function positive(text: string): number {
  const number = wholeNumber(text)
  if (number > 0) return number
  throw new InvalidArgumentError('It must be 1 at least.')
}
