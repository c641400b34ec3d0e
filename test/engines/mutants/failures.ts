import path from 'node:path'

/** A test that turned red, and its first words. */
export type Failure = {
  by: string
  why: string
  /** Something is wrong, rather than late or broken. */
  isSure: boolean
}

/** As `reporter.cjs` writes it. */
type Report = {
  passed: number
  failures: Array<{ title: string; file: string; message: string; stack: string; code: string }>
}

/** Undefined where nothing was run, as by a title that nothing bears any more. */
export function failuresIn(report: string, folder: string): Failure[] | undefined {
  const { passed, failures } = JSON.parse(report) as Report
  if (passed + failures.length === 0) return undefined
  return failures.map(({ title, file, message, ...error }) => ({
    by: `${path.relative(folder, file)}: ${title}`,
    why: firstWords(message),
    isSure: !isBroken(error),
  }))
}

/** A time limit, or a mistake that the language reports: neither says what is wrong. */
function isBroken({ code, stack }: { code: string; stack: string }): boolean {
  return (
    code.startsWith('ERR_MOCHA') ||
    /^(?:Uncaught )?(?:Type|Reference|Syntax|Range)Error\b/.test(stack)
  )
}

/**
 * What hardhat prints of the first test that failed: its number and its title in the list of all
 * tests, and once more behind the list, with the reason.
 */
export function failureOfContract(output: string): [title: string, why: string] {
  const found = [...plain(output).matchAll(/^\s*1\) (.+)\n\s*(.*)/gm)].at(-1)
  if (found === undefined) throw new Error(`red without a failure:\n${endOf(output)}`)
  const [, title = '', why = ''] = found
  return [title, firstWords(why)]
}

/** The last words of a program, which say why it ended. */
export function endOf(output: string): string {
  return output.slice(-4_000)
}

function plain(text: string): string {
  return text.replaceAll(COLOURS, '')
}

// eslint-disable-next-line no-control-regex
const COLOURS = /\u001b\[\d*m/g

function firstWords(text: string): string {
  const words = text.replaceAll(/\s+/g, ' ').trim()
  return words.length > MAX_WORDS ? `${words.slice(0, MAX_WORDS)} …` : words
}

const MAX_WORDS = 120
