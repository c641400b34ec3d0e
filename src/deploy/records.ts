import { readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'

import type { Address, Hash, Hex } from 'viem'

import { BaseError } from '../base/errors.ts'
import { makeFolder } from '../base/lock.ts'

/** One thing that a deployment did on a chain. Big numbers are decimal strings. */
export type DeploymentEntry = {
  action: 'create' | 'grant'
  /** What was created, or the contract that granted. */
  name: string
  address: Address
  /** Who paid for it. */
  account: Address
  /** Absent when somebody else's transaction had the same effect first. */
  transactionHash?: Hash
  blockNumber?: string
  blockHash?: Hash
  gasUsed?: string
  /** In wei. */
  cost?: string
  /** keccak256 of the code that was found there afterwards. */
  codeHash?: Hash
  constructorArguments?: Hex
  minter?: Address
  allowance?: string
  /** ISO 8601, UTC. */
  at: string
}

export type DeploymentRecord = { version: 1; chainId: number; entries: DeploymentEntry[] }

/** What deployments did, a file per chain. The chain shows what is there, the file how it came. */
export type DeploymentRecords = {
  read(chainId: number): Promise<DeploymentRecord>
  append(chainId: number, entry: DeploymentEntry): Promise<void>
}

export function createDeploymentRecords(folder: string): DeploymentRecords {
  const fileOf = (chainId: number) => path.join(folder, `${chainId}.json`)
  const read = async (chainId: number): Promise<DeploymentRecord> => {
    const text = await readIfThere(fileOf(chainId))
    if (text === undefined) return { version: 1, chainId, entries: [] }
    return parseRecord(text, { chainId, file: fileOf(chainId) })
  }
  return {
    read,
    append: async (chainId, entry) => {
      const record = await read(chainId)
      makeFolder(folder)
      const longer = { ...record, entries: [...record.entries, entry] }
      // A rename is all or nothing, so a process that dies here leaves the earlier record whole.
      const draft = `${fileOf(chainId)}.draft`
      await writeFile(draft, `${JSON.stringify(longer, null, 2)}\n`)
      await rename(draft, fileOf(chainId))
    },
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function parseRecord(
  text: string,
  { chainId, file }: { chainId: number; file: string },
): DeploymentRecord {
  const value = parseJson(text)
  if (isRecord(value) && value.chainId === chainId) return value
  throw new DeploymentRecordError(
    `The deployment record ${file} cannot be read as one of chain ${chainId}. Move the file away and run the same command again; what is on the chain is found without it.`,
    { code: 'deployment_record_invalid', details: { file, chainId } },
  )
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is DeploymentRecord {
  if (typeof value !== 'object' || value === null) return false
  const { version, entries } = value as Partial<DeploymentRecord>
  return version === 1 && Array.isArray(entries)
}

export class DeploymentRecordError extends BaseError {
  override readonly name = 'DeploymentRecordError'
}
