import { join } from 'node:path'

import type { ReadyFacts } from '../../src/base/ready.ts'
import { temporaryFolder } from './folder.ts'
import { fillDataFolder } from './prepared-data.ts'
import { runProgram } from './program.ts'

export type RunningApp = {
  url: string
  facts: ReadyFacts
  groupB: NonNullable<ReadyFacts['groupB']>
  groupA: NonNullable<ReadyFacts['groupA']>
  stop: () => Promise<void>
}

/** The whole product as a process of its own: a chain of quick blocks, and demo accounts. */
export async function startRunningApp(): Promise<RunningApp> {
  const folder = temporaryFolder()
  const data = join(folder.path, 'data')
  fillDataFolder(data)
  const program = runProgram(['up'], {
    QUITTANCE_DATA: data,
    QUITTANCE_BLOCK_MS: '100',
    PORT: '0',
  })
  const stop = async (): Promise<void> => {
    program.kill('SIGTERM')
    await program.ended
    folder.remove()
  }
  const facts = await program.untilReady()
  const { url, groupA, groupB } = facts
  if (!url || !groupA || !groupB) {
    await stop()
    throw new Error('The sandbox told neither its address nor its accounts.')
  }
  return { url, facts, groupA, groupB, stop }
}
