import { spawn } from 'node:child_process'
import { chmodSync, closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { BaseError } from '../../base/errors.ts'
import { makeFolder } from '../../base/lock.ts'
import { commandLineOf, endProcess, isRunning } from '../../base/process.ts'
import { callRpc } from '../rpc/rpc.ts'
import { keepState, restoreState, saveState } from './anvil-state.ts'

export type EmbeddedChain = {
  url: string
  chainId: number
  pid: number
  /** Calls back when the process has ended, for any reason. */
  onEnd: (listener: () => void) => void
  /** Saves the chain and ends the process. */
  stop: () => Promise<void>
}

export type AnvilOptions = {
  /** Keeps the chain's state, its process id and its log. */
  folder: string
  blockMs: number
  mnemonic: string
  /** Taken when free; without it or when it is taken, any free one. */
  preferredPort?: number
  chainId?: number
}

/**
 * Starts the embedded chain where it left off, after it has ended one that a killed program left
 * behind.
 */
export async function startAnvil(options: AnvilOptions): Promise<EmbeddedChain> {
  const files = anvilFiles(options.folder)
  makeFolder(options.folder)
  await endOrphan(files)
  const restored = restoreState(options.folder)
  const chainId = options.chainId ?? 31_337
  const port = await freePort(options.preferredPort)
  const url = `http://127.0.0.1:${port}`
  const anvil = launch(files, [
    `--host=127.0.0.1`,
    `--port=${port}`,
    `--chain-id=${chainId}`,
    `--block-time=${options.blockMs / 1000}`,
    `--mnemonic=${options.mnemonic}`,
    // A state of a chain that has run for hours takes 5 MB. Without this, old ones go to a cache in
    // the home folder, without end.
    '--prune-history=32',
    `--config-out=${files.config}`,
    '--quiet',
    ...(restored ? [`--load-state=${restored}`] : []),
  ])
  try {
    await untilReady({ url, files, isRunning: anvil.isRunning })
    // It has the states of blocks from here on, so what reads the one below the newest finds it.
    if (restored) await callRpc({ url, method: 'anvil_mine', params: ['0x1'] })
  } catch (error) {
    await endProcess(anvil.pid, 1000)
    throw error
  } finally {
    if (restored) rmSync(restored, { force: true })
  }
  const keeper = keepState({ folder: options.folder, url })
  // An ended process has no state to save, and the wait for the next save would never end.
  anvil.onEnd(() => void keeper.stop())
  return {
    url,
    chainId,
    pid: anvil.pid,
    onEnd: anvil.onEnd,
    async stop() {
      try {
        await keeper.stop()
        const save = () => saveState({ folder: options.folder, url })
        // A connection that was kept for the next call may have been closed in that moment.
        if (anvil.isRunning()) await save().catch(save)
      } finally {
        // Where nothing can be saved, since the folder is gone or full, it still ends with us.
        await endProcess(anvil.pid, 1000)
        rmSync(files.pid, { force: true })
      }
    },
  }
}

type AnvilFiles = { pid: string; config: string; log: string }

function anvilFiles(folder: string): AnvilFiles {
  return {
    pid: join(folder, 'anvil.pid'),
    config: join(folder, 'anvil.json'),
    log: join(folder, 'anvil.log'),
  }
}

/**
 * A process id is ours only while its command line names this folder: ids are given again. The
 * orphan is asked for its blocks before it ends, so that a killed program loses none of them.
 */
async function endOrphan(files: AnvilFiles): Promise<void> {
  const pid = existsSync(files.pid) ? Number(readFileSync(files.pid, 'utf8')) : 0
  if (!Number.isSafeInteger(pid) || pid <= 1 || !isRunning(pid)) return
  const command = commandLineOf(pid)
  if (!command.includes(files.config)) return
  const port = /--port=(\d+)/.exec(command)?.[1]
  if (port) {
    const url = `http://127.0.0.1:${port}`
    await saveState({ folder: dirname(files.pid), url }).catch(() => undefined)
  }
  await endProcess(pid, 1000)
}

/**
 * The shell writes its own process id and then becomes anvil, so there is no moment in which anvil
 * runs unrecorded. It leads a process group of its own: Ctrl-C reaches us alone, and we save the
 * chain before it ends.
 */
function launch(files: AnvilFiles, args: string[]) {
  rmSync(files.log, { force: true })
  const log = openSync(files.log, 'a')
  const child = spawn(
    '/bin/sh',
    ['-c', 'echo $$ > "$0" && exec "$@"', files.pid, anvilBinary(), ...args],
    { stdio: ['ignore', log, log], detached: true },
  )
  closeSync(log)
  // A shell that cannot be started has no process id. The check below reports that.
  child.once('error', () => undefined)
  const { pid } = child
  if (pid === undefined) throw new AnvilFailedError('the shell could not be started')
  return {
    pid,
    onEnd: (listener: () => void) => void child.once('exit', listener),
    // The operating system removes an ended process before it notifies the parent.
    isRunning: () => child.exitCode === null && child.signalCode === null && isRunning(pid),
  }
}

function anvilBinary(): string {
  const system = process.platform
  const cpu = process.arch === 'x64' ? 'amd64' : process.arch
  try {
    const wrapper = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
    const binary = createRequire(wrapper).resolve(`@foundry-rs/anvil-${system}-${cpu}/bin/anvil`)
    chmodSync(binary, 0o755)
    return binary
  } catch (error) {
    throw new AnvilMissingError(`${system}-${cpu}`, error)
  }
}

async function untilReady(options: {
  url: string
  files: AnvilFiles
  isRunning: () => boolean
}): Promise<void> {
  const deadline = Date.now() + START_LIMIT_MS
  while (options.isRunning()) {
    const ready = await callRpc({ url: options.url, method: 'eth_chainId', timeoutMs: 1000 }).then(
      () => true,
      () => false,
    )
    if (ready && options.isRunning()) return
    if (Date.now() > deadline) throw new AnvilFailedError(`not ready after ${START_LIMIT_MS} ms`)
    await sleep(15)
  }
  const log = readFileSync(options.files.log, 'utf8').trim().split('\n').at(-1)
  throw new AnvilFailedError(log || 'it ended without a word')
}

const START_LIMIT_MS = 30_000

async function freePort(preferred: number | undefined): Promise<number> {
  if (preferred !== undefined && preferred !== 0) {
    const port = await tryPort(preferred)
    if (port !== undefined) return port
  }
  const port = await tryPort(0)
  if (port === undefined) throw new AnvilFailedError('no port is free')
  return port
}

function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address()
      const taken = typeof address === 'object' ? address?.port : undefined
      server.close(() => resolve(taken))
    })
  })
}

class AnvilFailedError extends BaseError {
  constructor(reason: string) {
    super(
      `The embedded chain did not start: ${reason}. Start again, or set ETH_RPC_URL to a node.`,
      {
        code: 'chain_start_failed',
      },
    )
  }
}

class AnvilMissingError extends BaseError {
  constructor(system: string, cause: unknown) {
    super(
      `There is no embedded chain for ${system}, or it was not installed. ` +
        'Run npm ci, or set ETH_RPC_URL to a node.',
      { code: 'chain_missing', cause },
    )
  }
}
