import { randomBytes } from 'node:crypto'

import { BaseError } from '../base/errors.ts'
import { problemOfPassword } from '../domain/passwords.ts'

export type PasswordSource = {
  input: Terminal
  /** Where questions go; answers for programs go elsewhere. */
  ask: (text: string) => void
}

/** Standard input, as far as it is needed here. */
export type Terminal = AsyncIterable<Buffer | string> & {
  isTTY?: boolean
  setRawMode?: (raw: boolean) => unknown
}

export type NewPassword = { password: string; isGenerated: boolean }

/**
 * Never from an argument: other users of the machine see those. Typed twice on a terminal, read
 * from standard input, or made up and shown once.
 */
export async function readNewPassword(
  options: { username: string; fromStdin: boolean; generate: boolean },
  source: PasswordSource,
): Promise<NewPassword> {
  const { username } = options
  if (options.generate) {
    return { password: randomBytes(18).toString('base64url'), isGenerated: true }
  }
  const password = options.fromStdin
    ? await readAll(source.input)
    : await readTwice(username, source)
  const problem = problemOfPassword({ username, password })
  if (problem !== undefined) throw new WeakPasswordError(problem)
  return { password, isGenerated: false }
}

async function readAll(input: Terminal): Promise<string> {
  let text = ''
  for await (const chunk of input) {
    text += chunk.toString()
    if (text.length > MAX_INPUT_LENGTH) throw new WeakPasswordError('is too long')
  }
  return text.replace(/\r?\n$/, '')
}

const MAX_INPUT_LENGTH = 4096

async function readTwice(username: string, source: PasswordSource): Promise<string> {
  const { input, ask } = source
  if (!input.isTTY || !input.setRawMode) throw new NoTerminalError()
  const lines = readHidden(input)
  input.setRawMode(true)
  try {
    ask(`Password for ${username}: `)
    const first = (await lines.next()).value ?? ''
    ask('\nOnce more: ')
    const second = (await lines.next()).value ?? ''
    ask('\n')
    if (first !== second) throw new PasswordMismatchError()
    return first
  } finally {
    input.setRawMode(false)
    await lines.return(undefined)
  }
}

/** The terminal is raw meanwhile, so the keys that it would see to are seen to here. */
async function* readHidden(input: Terminal): AsyncGenerator<string, undefined> {
  let line = ''
  for await (const chunk of input) {
    for (const character of chunk.toString()) {
      if (character === CTRL_C || (character === CTRL_D && line === '')) throw new CancelledError()
      if (character === '\r' || character === '\n') {
        yield line
        line = ''
      } else if (character === BACKSPACE || character === DELETE) {
        line = Array.from(line).slice(0, -1).join('')
      } else {
        line += character
      }
      if (line.length > MAX_INPUT_LENGTH) throw new WeakPasswordError('is too long')
    }
  }
}

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const BACKSPACE = '\b'
const DELETE = '\u007f'

class WeakPasswordError extends BaseError {
  constructor(problem: string) {
    super(`The password ${problem}. Choose another one, or use --generate-password.`, {
      code: 'weak_password',
    })
  }
}

class PasswordMismatchError extends BaseError {
  constructor() {
    super('The two passwords differ. Try again.', { code: 'password_mismatch' })
  }
}

class CancelledError extends BaseError {
  constructor() {
    super('Cancelled. Nothing was changed.', { code: 'cancelled' })
  }
}

class NoTerminalError extends BaseError {
  constructor() {
    super(
      'There is no terminal to ask for a password. Use --password-stdin or --generate-password.',
      { code: 'no_terminal' },
    )
  }
}
