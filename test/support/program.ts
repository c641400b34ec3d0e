import { spawn } from 'node:child_process'
import { resolve } from 'node:path'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { readReady } from '../../src/base/ready.ts'
import { isRunning } from '../../src/base/process.ts'
import { preparedCode } from './prepared-data.ts'

export type Program = {
  pid: number
  output: () => { stdout: string; stderr: string }
  /** The exit code, or the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>
  kill: (signal: NodeJS.Signals) => void
  /** As when the terminal is closed: nobody reads what it says from now on. */
  leave: () => void
  untilReady: () => Promise<ReadyFacts>
}

/** Runs the command line program as a process of its own. */
export function runProgram(
  args: readonly string[],
  env: Record<string, string | undefined>,
): Program {
  return follow([process.execPath, resolve('src/cli/main.ts'), ...args], env)
}

/** Runs one of package.json's scripts, as a person does. */
export function runScript(name: string, env: Record<string, string | undefined>): Program {
  return follow(['npm', 'run', '--silent', name], env)
}

/** Runs a program of an installed package with the Node that runs the tests. */
export function runFile(
  file: string,
  args: readonly string[],
  env: Record<string, string | undefined>,
): Program {
  return follow([process.execPath, file, ...args], env)
}

function follow(command: readonly string[], env: Record<string, string | undefined>): Program {
  const [file = '', ...args] = command
  const { PATH, HOME } = process.env
  const child = spawn(file, args, {
    env: { PATH, HOME, NODE_COMPILE_CACHE: preparedCode(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = new Promise<number | NodeJS.Signals>((done) => {
    child.once('close', (code, signal) => done(code ?? signal ?? 2))
  })
  const pid = child.pid ?? 0
  return {
    pid,
    ended,
    output: () => ({ stdout, stderr }),
    kill: (signal) => void child.kill(signal),
    leave() {
      child.stdout.destroy()
      child.stderr.destroy()
    },
    async untilReady() {
      const folder = env['QUITTANCE_DATA'] ?? ''
      for (;;) {
        const facts = readReady(folder)
        // Below npm the program is a process of its own.
        if (facts && isRunning(facts.pid)) return facts
        if (!isRunning(pid)) throw new Error(`ended before it was ready: ${stdout}${stderr}`)
        await new Promise((later) => setTimeout(later, 10))
      }
    },
  }
}

/**
 * Runs a command to its end. It ends before V8's better code for the embedded database, which takes
 * half of its time to make, has paid.
 */
export async function runToEnd(
  args: readonly string[],
  env: Record<string, string | undefined>,
): Promise<{ code: number | NodeJS.Signals; stdout: string; stderr: string }> {
  const file = resolve('src/cli/main.ts')
  const flags = ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']
  const program = follow([process.execPath, ...flags, file, ...args], env)
  const code = await program.ended
  return { code, ...program.output() }
}
