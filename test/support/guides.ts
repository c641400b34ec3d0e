import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

import { isRunning } from '../../src/base/process.ts'
import { readReady, type ReadyFacts } from '../../src/base/ready.ts'
import { preparedCode } from './prepared-data.ts'
import { until } from './until.ts'

/** What a reader types at one place of a guide, and the word beside its language. */
export type Block = { kind: string; text: string }

export type Reader = {
  folder: string
  /** Types every block of the guide. `before` is done before blocks of another kind than plain. */
  follow: (guide: string, before?: Readonly<Record<string, () => Promise<void>>>) => Promise<void>
  json: (file: string) => Record<string, unknown>
  ready: (data?: string) => ReadyFacts
  /** Ends what was started in other terminals. */
  stop: () => Promise<void>
}

/**
 * A person with a shell in an empty folder. What one block sets, the next one has. A block of the
 * kind `background` runs in a terminal of its own, until the end.
 */
export function createReader(folder: string, env: Readonly<Record<string, string>>): Reader {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(
    join(bin, 'quittance'),
    `#!/bin/sh\nexec '${process.execPath}' '${resolve('src/cli/main.ts')}' "$@"\n`,
  )
  chmodSync(join(bin, 'quittance'), 0o755)
  const { PATH, HOME } = process.env
  const shared = { HOME, PORT: '0', NODE_COMPILE_CACHE: preparedCode(), ...env }
  const shell = { cwd: folder, env: { ...shared, PATH: `${bin}:${PATH}` } }
  const terminals: ChildProcess[] = []

  const type = async (text: string): Promise<void> => {
    const script = `set -ea\n${CONTINUE}\n${text}\nexport -p > .shell`
    // Without an end of its own, a wait for what never comes would outlive the test.
    await promisify(execFile)('sh', ['-c', script], { ...shell, timeout: 50_000 }).catch(
      (error: { message: string; stdout?: string }) => {
        throw new Error(`${error.message}${error.stdout}`)
      },
    )
  }
  const start = async (text: string): Promise<void> => {
    const [, data = '.quittance'] = /QUITTANCE_DATA=(\S+)/.exec(text) ?? []
    // A group of its own, as a terminal has, so that all of it is ended together.
    const script = `set -a\n${CONTINUE}\n${text}`
    const child = spawn('sh', ['-c', script], { ...shell, detached: true, stdio: 'pipe' })
    terminals.push(child)
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`ended before it was ready: ${said}`)
      const facts = readReady(join(folder, data))
      return facts !== undefined && isRunning(facts.pid)
    })
  }
  return {
    folder,
    async follow(guide, before = {}) {
      for (const { kind, text } of blocksOf(readFileSync(guide, 'utf8'))) {
        await before[kind]?.()
        await (kind === 'background' ? start(text) : type(text))
      }
    },
    json: (file) => JSON.parse(readFileSync(join(folder, file), 'utf8')),
    ready(data = '.quittance') {
      const facts = readReady(join(folder, data))
      if (facts === undefined) throw new Error(`Nothing runs on ${data}.`)
      return facts
    },
    async stop() {
      await Promise.all(terminals.splice(0).map(end))
    },
  }
}

/** Takes over what the block before has set. */
const CONTINUE = '[ ! -f .shell ] || . ./.shell'

/** Every block of shell, in its order. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```sh ?(\w*)\n([\s\S]*?)^```$/gm)].map(
    ([, kind = '', text = '']) => ({ kind, text }),
  )
}

async function end(child: ChildProcess): Promise<void> {
  // Its pipes close when the last of its processes has ended.
  const closed = new Promise<void>((done) => child.once('close', () => done()))
  if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
  await closed
}
