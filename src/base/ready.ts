import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { BaseError } from './errors.ts'
import { makeFolder } from './lock.ts'
import { isAlive } from './process.ts'

/** What `ready.json` tells other programs once this one serves. */
export type ReadyFacts = {
  url: string | undefined
  /** Where /healthz, /readyz and /metrics are. */
  statusUrl: string | undefined
  /** The page for an operator. */
  console: string | undefined
  environment: string
  chainId: number
  rpcUrl: string
  settlement: string | undefined
  stablecoin: string | undefined
  /** What the stablecoin says of itself, and whether its mints and burns can name an order. */
  token?: { symbol: string | null; decimals: number; profile: string } | undefined
  /** The platform's own addresses, and what each signs. */
  signers?: ReadonlyArray<{ address: string; purposes: readonly string[] }> | undefined
  /** Every chain that is served, the default one first. */
  chains?: ReadonlyArray<{
    name: string
    chainId: number
    rpcUrl: string
    settlement: string | undefined
    stablecoin: string | undefined
  }>
  /** The sandbox's own accounts, for a first request. */
  groupA?: { apiKey: string; nestedApiKey: string }
  groupB?: { apiKey: string; username: string; password: string; userId: number; address: string }
  admin?: { apiKey: string; username: string; password: string }
  /** Where the outside parties are that the sandbox simulates. */
  simulators?: Readonly<Record<string, string>> | undefined
  pid: number
  /** Distinguishes the process from a later one with the same id. */
  birth?: string
}

/** Writes ready.json whole, or not at all; the function that it returns removes it again. */
export function announceReady(dataFolder: string, facts: ReadyFacts): () => void {
  requireUnannounced(dataFolder)
  makeFolder(dataFolder, 0o700)
  const file = fileIn(dataFolder)
  // It carries keys, so nobody else may read it.
  writeFileSync(`${file}.new`, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
  return () => {
    if (readReady(dataFolder)?.pid === facts.pid) rmSync(file, { force: true })
  }
}

/**
 * One folder announces one program. A second one, such as a `work` next to a `serve`, would be
 * mistaken for the first, and would leave the first unannounced when it ends.
 */
export function requireUnannounced(dataFolder: string): void {
  const other = findRunning(dataFolder)
  if (other !== undefined && other.pid !== process.pid) throw new AnnouncedError(dataFolder, other)
}

/** The facts of the program that runs on the folder; undefined where none runs any more. */
export function findRunning(dataFolder: string): ReadyFacts | undefined {
  const facts = readReady(dataFolder)
  return facts && isAlive({ birth: '', ...facts }) ? facts : undefined
}

/** Undefined where nothing has announced itself, or has left half a file. */
export function readReady(dataFolder: string): ReadyFacts | undefined {
  try {
    return JSON.parse(readFileSync(fileIn(dataFolder), 'utf8')) as ReadyFacts
  } catch {
    return undefined
  }
}

class AnnouncedError extends BaseError {
  constructor(folder: string, { pid }: ReadyFacts) {
    super(
      `Process ${pid} runs on the data folder ${folder}. ` +
        'Give each process a folder of its own: set QUITTANCE_DATA to another one.',
      { code: 'folder_in_use', details: { folder, pid } },
    )
  }
}

function fileIn(dataFolder: string): string {
  return join(dataFolder, 'ready.json')
}
