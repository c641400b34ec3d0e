import { createInterface } from 'node:readline/promises'

import { codeOf } from '../base/errors.ts'

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
    return false
  } finally {
    readline.close()
  }
}
