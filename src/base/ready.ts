import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

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
  /** The sandbox's own accounts, for a first request. */
  groupA?: { apiKey: string; nestedApiKey: string }
  groupB?: { apiKey: string; username: string; password: string; userId: number; address: string }
  admin?: { apiKey: string; username: string; password: string }
  /** Where the outside parties are that the sandbox simulates. */
  simulators?: Readonly<Record<string, string>> | undefined
  pid: number
}

/** Writes ready.json whole, or not at all; the function that it returns removes it again. */
export function announceReady(dataFolder: string, facts: ReadyFacts): () => void {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  const file = fileIn(dataFolder)
  // It carries keys, so nobody else may read it.
  writeFileSync(`${file}.new`, `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.new`, file)
  return () => {
    if (readReady(dataFolder)?.pid === facts.pid) rmSync(file, { force: true })
  }
}

/** Undefined where nothing has announced itself, or has left half a file. */
export function readReady(dataFolder: string): ReadyFacts | undefined {
  try {
    return JSON.parse(readFileSync(fileIn(dataFolder), 'utf8')) as ReadyFacts
  } catch {
    return undefined
  }
}

function fileIn(dataFolder: string): string {
  return join(dataFolder, 'ready.json')
}
