import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/**
 * Processor time of this process, all its threads, in milliseconds: other programs do not count.
 */
export async function cpuTimeOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** What a program that runs has used so far, in milliseconds; Linux counts it in hundredths. */
export function cpuTimeOfProcess(pid: number): number {
  const [, , ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/\) | /)
  const [user = 0, system = 0] = fields.slice(11, 13).map(Number)
  return (user + system) * 10
}

/** The same of a program of its own, from its start to its end; the shell keeps its time. */
export function cpuTimeOfNode(...command: string[]): number {
  const script = '"$0" "$@" > /dev/null; times'
  // Started by no shell, bash would read the settings of its user first.
  const output = execFileSync('bash', ['--norc', '-c', script, process.execPath, ...command])
  const [, children = ''] = output.toString().split('\n')
  const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(
    ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
  )
  return seconds.reduce((sum, one) => sum + one, 0) * 1000
}
