import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { extname } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

import { BaseError } from '../../base/errors.ts'

export type SimulatorProcess = {
  /** Where each party is. */
  urls: Readonly<Record<string, string>>
  pid: number
  tell: (news: Readonly<Record<string, { webhookUrl: string }>>) => void
  stop: () => Promise<void>
}

/** Starts simulated parties as one child. It ends with us, even when we are killed. */
export async function startSimulators(
  settings: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
): Promise<SimulatorProcess> {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] })
  const { stdin, stdout, pid } = child
  if (pid === undefined) throw new SimulatorError('the program could not be started')
  // The pipe to an ended child breaks. The child's exit event reports that it ended.
  stdin.on('error', () => undefined)
  const tell = (news: object): void => void stdin.write(`${JSON.stringify(news)}\n`)
  const stop = async (): Promise<void> => {
    stdin.end()
    await ended(child)
  }
  tell(settings)
  try {
    const lines = createInterface({ input: stdout })
    const line = await Promise.race([
      once(lines, 'line', { signal: AbortSignal.timeout(START_LIMIT_MS) }),
      once(child, 'exit').then(() => {
        throw new SimulatorError('the program ended by itself')
      }),
    ])
    const urls = JSON.parse(String(line[0])) as Record<string, string>
    return { urls, pid, tell, stop }
  } catch (error) {
    child.kill('SIGKILL')
    throw error instanceof SimulatorError ? error : new SimulatorError('it took too long')
  }
}

const START_LIMIT_MS = 30_000
const STOP_LIMIT_MS = 2000

/** Of the same form as this module: as it is written, built, or in a bundle. */
const PROGRAM = fileURLToPath(new URL(`program${extname(import.meta.url)}`, import.meta.url))

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
  await exit
  clearTimeout(timer)
}

class SimulatorError extends BaseError {
  constructor(reason: string) {
    super(`The simulated parties did not come up: ${reason}. Start again.`, {
      code: 'simulator_failed',
    })
  }
}
