import type { Clock } from '../base/clock.ts'
import { BaseError } from '../base/errors.ts'
import { decodeEvent, topicOf } from '../chain/events.ts'
import type { MinedLog } from '../chain/facts.ts'
import type { Hex } from '../chain/hex.ts'
import { createLogReader, type LogReader } from '../chain/logs.ts'
import type { Provider } from '../chain/provider.ts'
import type { Db } from '../store/database.ts'
import {
  firstBlockOfOurs,
  forgetSweep,
  readSweepCursor,
  storeSettledLogs,
  type SettledLog,
} from '../store/settled-logs.ts'
import type { Panel } from './agree.ts'
import type { Node } from './node.ts'
import { readFees } from './settlement-fees.ts'

export type SweepDeps = {
  db: Db
  chainId: number
  contract: Hex
  nodes: readonly Node[]
  /** In the order of the nodes. */
  providers: readonly Provider[]
  panel: Panel
  clock: Clock
  signal: AbortSignal
  /** Called after each part that was stored. */
  onPart: (done: { from: bigint; at: bigint; to: bigint }) => Promise<void> | void
}

/**
 * Reads what the settlement contract logged, from where the last sweep ended up to the last final
 * block, in ranges as large as the nodes take. With several nodes, a part counts when enough of
 * them show the same logs; otherwise the sweep ends there, and the records are asked for one by
 * one.
 */
export async function sweep(deps: SweepDeps): Promise<void> {
  const { db, chainId, contract, panel, signal } = deps
  const { final } = panel
  const from = final === undefined ? undefined : await startOf(deps)
  if (final === undefined || from === undefined || from > final) return
  const query = { address: contract, topics: [topicOf('Settled')], signal }
  const [first, ...others] = deps.providers
    .slice(0, panel.needed)
    .map((provider) => createLogReader(patient(provider, deps.clock)))
  let next = from
  if (first === undefined) return
  for await (const part of ahead(first({ ...query, fromBlock: from, toBlock: final }))) {
    const { value: logs, toBlock } = part
    const range = { ...query, fromBlock: next, toBlock }
    const isShared = await everyOf(others, async (reader) =>
      isSame(logs, await readAll(reader, range)),
    )
    const hash = isShared ? await hashAt(deps.nodes, toBlock, signal) : undefined
    if (hash === undefined) return
    const settled = logs.flatMap((log) => readSettled(log))
    const fees = await readFees({ ...deps, needed: panel.needed }, settled)
    const priced = settled.map((log) => ({ ...log, fee: fees.get(log.hash) }))
    const read = { logs: priced, to: { number: toBlock, hash } }
    await db
      .transaction()
      .execute((transaction) => storeSettledLogs(transaction, { chainId, contract }, read))
    await deps.onPart({ from, at: toBlock, to: final })
    next = toBlock + 1n
  }
}

/** Asks for the next part while this one is stored, so that node and database work side by side. */
async function* ahead<T>(parts: AsyncGenerator<T>): AsyncGenerator<T> {
  let next = parts.next()
  try {
    for (;;) {
      const { value, done } = await next
      if (done === true) return
      next = parts.next()
      // It is awaited later, or never where the sweep ends before.
      next.catch(() => undefined)
      yield value
    }
  } finally {
    await parts.return(undefined)
  }
}

/** Behind the last sweep, where its block still stands; else where payments of ours begin. */
async function startOf(deps: SweepDeps): Promise<bigint | undefined> {
  const { db, chainId, contract, nodes, signal } = deps
  const key = { chainId, contract }
  const cursor = await readSweepCursor(db, key)
  if (cursor !== undefined) {
    const hash = await hashAt(nodes, cursor.number, signal)
    if (hash === undefined) return undefined
    if (hash === cursor.hash) return cursor.number + 1n
    await db.transaction().execute((transaction) => forgetSweep(transaction, key))
  }
  return firstBlockOfOurs(db, chainId)
}

/** The hash that all nodes that answer give to the block. */
async function hashAt(
  nodes: readonly Node[],
  number: bigint,
  signal: AbortSignal,
): Promise<Hex | undefined> {
  const told = await Promise.all(
    nodes.map(async (node) => (await node.blocks([{ number, isFull: false }], signal)).get(number)),
  )
  const hashes = told.flatMap((block) =>
    block && !(block instanceof BaseError) ? [block.hash] : [],
  )
  const [first] = hashes
  return hashes.every((hash) => hash === first) ? first : undefined
}

async function readAll(
  reader: LogReader,
  query: Parameters<LogReader>[0],
): Promise<readonly MinedLog[]> {
  const logs: MinedLog[] = []
  for await (const part of reader(query)) logs.push(...part.value)
  return logs
}

async function everyOf<T>(list: readonly T[], holds: (one: T) => Promise<boolean>) {
  return (await Promise.all(list.map(holds))).every(Boolean)
}

function isSame(a: readonly MinedLog[], b: readonly MinedLog[]): boolean {
  return a.length === b.length && textOf(a) === textOf(b)
}

function textOf(logs: readonly MinedLog[]): string {
  return JSON.stringify(logs, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
}

function readSettled(log: MinedLog): SettledLog[] {
  const event = decodeEvent({ ...log, address: log.address.toLowerCase() as Hex })
  if (event?.name !== 'Settled') return []
  const { reference, payer, payee, token, amount } = event.args as Record<string, Hex>
  if (!reference || !payer || !payee || !token || amount === undefined) return []
  return [
    {
      block: { number: log.blockNumber, hash: log.blockHash },
      logIndex: log.logIndex,
      hash: log.transactionHash,
      reference,
      payer,
      payee,
      token: /^0x0{40}$/.test(token) ? undefined : token,
      amount: BigInt(amount),
      fee: undefined,
    },
  ]
}

const ROUNDS = 6
const FIRST_PAUSE_MS = 250

/** Waits and asks again where that may help; what is too large is not asked again. */
function patient(provider: Provider, clock: Clock): Provider {
  return {
    name: provider.name,
    async request(call) {
      for (let round = 0; ; round += 1) {
        try {
          return await provider.request(call)
        } catch (error) {
          const isPassing = error instanceof BaseError && error.retryable
          if (!isPassing || round === ROUNDS) throw error
          const signal = call.signal ?? new AbortController().signal
          await clock.sleep(FIRST_PAUSE_MS * 2 ** round, signal)
          signal.throwIfAborted()
        }
      }
    },
  }
}
