import { join } from 'node:path'

import { freePort } from '../../fixtures/free-port.ts'
import { runProgram, type Program } from '../../fixtures/program.ts'

/** Processes of the product that are killed and started again, each on the same port and folder. */
export type Fleet = {
  /** Where HTTP is served, whether or not it is up at the moment. */
  urls: string[]
  /** kill -9 of one of them; resolves when another has taken its place. */
  killOne: (pick: (count: number) => number) => Promise<string>
  /**
   * Ends one after the other as an operator does, each with SIGTERM, and starts it again; rejects
   * where one does not end well. `untilBack` waits for the world to know of it again.
   */
  roll: (untilBack: (url: string) => Promise<void>) => Promise<void>
  stop: () => Promise<void>
}

export type Role = 'up' | 'serve' | 'work'

export async function startFleet(options: {
  roles: readonly Role[]
  folder: string
  env: Readonly<Record<string, string>>
  /** Of one that ends by itself, which everybody then waits for. */
  onEnd: (sentence: string) => void
}): Promise<Fleet> {
  const members = await Promise.all(
    options.roles.map(async (role, index) => {
      const port = await freePort()
      const name = `${role}-${index}`
      const env = { ...options.env, PORT: String(port), QUITTANCE_DATA: join(options.folder, name) }
      return { role, name, port, env, program: runProgram([role], env) }
    }),
  )
  await Promise.all(members.map(({ program }) => program.untilReady()))
  return {
    urls: members.filter(({ role }) => role !== 'work').map(({ port }) => urlOf(port)),
    async killOne(pick) {
      const member = members[pick(members.length)]
      if (member === undefined) throw new TypeError('there is nobody to kill')
      member.program.kill('SIGKILL')
      await member.program.ended
      member.program = runProgram([member.role], member.env)
      void endOfItself(member).then((sentence) => sentence && options.onEnd(sentence))
      return member.name
    },
    async roll(untilBack) {
      for (const member of members) {
        member.program.kill('SIGTERM')
        const code = await member.program.ended
        if (code !== 0) throw new Error(`${member.name} ended with ${code}`)
        member.program = runProgram([member.role], member.env)
        await member.program.untilReady()
        if (member.role !== 'work') await untilBack(urlOf(member.port))
      }
    },
    async stop() {
      for (const { program } of members) program.kill('SIGTERM')
      await Promise.all(members.map(({ program }) => endOf(program)))
    },
  }
}

async function endOfItself(member: { name: string; program: Program }) {
  const { name, program } = member
  const code = await program.ended
  if (typeof code !== 'number' || code === 0) return undefined
  const { stdout, stderr } = program.output()
  return `${name} ended with ${code}: ${stdout.trim()} ${stderr.trim()}`
}

/** One that was started a moment ago may not listen to signals yet. */
async function endOf(program: Program): Promise<void> {
  const late = setTimeout(() => program.kill('SIGKILL'), 10_000)
  await program.ended
  clearTimeout(late)
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}`
}
