import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

import { codeOf } from './errors.ts'

/**
 * Whether a process of that id runs, ours or another user's; one that ended and awaits its parent
 * does not.
 */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (codeOf(error) !== 'EPERM') return false
  }
  return !isZombie(pid)
}

/** The command line of a process, empty when it does not run or may not be read. */
export function commandLineOf(pid: number): string {
  try {
    if (process.platform === 'linux') {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()
    }
    return ask(['-o', 'args=', '-p', String(pid)])
  } catch {
    return ''
  }
}

/** Identifies one life of a process id, because the system reuses ids. Empty where unknown. */
export function birthOf(pid: number): string {
  try {
    if (process.platform === 'linux') {
      const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
      return `${boot}/${statFields(pid)[19]}`
    }
    return ask(['-o', 'lstart=', '-p', String(pid)])
  } catch {
    return ''
  }
}

/** Whether that very process runs, and not another one that was given its id since. */
export function isAlive({ pid, birth }: { pid: number; birth: string }): boolean {
  return isRunning(pid) && (birth === '' || birth === birthOf(pid))
}

/** Asks a process to end, waits, then ends it. The caller has made sure whose it is. */
export async function endProcess(pid: number, patienceMs: number): Promise<void> {
  const deadline = Date.now() + patienceMs
  kill(pid, 'SIGTERM')
  while (isRunning(pid) && Date.now() < deadline) await sleep(10)
  kill(pid, 'SIGKILL')
  while (isRunning(pid) && Date.now() < deadline + patienceMs) await sleep(10)
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false
  try {
    return statFields(pid)[0] === 'Z'
  } catch {
    return true
  }
}

/** The fields of /proc/PID/stat after the name, which may itself hold spaces and brackets. */
function statFields(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function ask(args: string[]): string {
  return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
