import { createInterface } from 'node:readline/promises'

import { BaseError, codeOf } from '../base/errors.ts'

export type Confirm = (question: string) => Promise<boolean>

/** Undefined where nobody can answer. */
export function confirmOnTerminal(): Confirm | undefined {
  const { stdin: input, stderr: output } = process
  return input.isTTY ? (question) => confirm(question, { input, output }) : undefined
}

/** Throws unless a person says yes. */
export async function requireYes(
  question: string,
  options: {
    confirm: Confirm | undefined
    code: string
    /** What a person reads who says no, and where nobody can be asked. */
    declined: string
    unasked: string
  },
): Promise<void> {
  const { confirm: ask, code, declined, unasked } = options
  if (ask === undefined) throw new BaseError(unasked, { code })
  if (!(await ask(question))) throw new BaseError(declined, { code })
}

/** Ctrl-C is a no. */
export async function confirm(
  question: string,
  { input, output }: { input: NodeJS.ReadableStream; output: NodeJS.WritableStream },
): Promise<boolean> {
  const readline = createInterface({ input, output })
  try {
    return /^y(es)?$/i.test((await readline.question(question)).trim())
  } catch (error) {
    if (codeOf(error) !== 'ABORT_ERR') throw error
    // Ctrl-C leaves the cursor behind the question.
    output.write('\n')
    return false
  } finally {
    readline.close()
  }
}
