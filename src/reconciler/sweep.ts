import { ahead } from '../base/ahead.ts'
import type { Clock } from '../base/clock.ts'
import { BaseError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { inRounds } from '../base/loop.ts'
import type { Hex } from '../chain/hex.ts'
import { agreedOn } from '../chain/quorum.ts'
import { topicOf } from '../chain/read/events.ts'
import { createPartReader } from '../chain/read/logs.ts'
import type { Provider } from '../chain/rpc/provider.ts'
import type { Db } from '../store/database/database.ts'
import type { BlockId } from '../store/orders/chain-cursor.ts'
import {
  firstBlockOfOurs,
  forgetSweep,
  readSweepCursor,
  storeSettledLogs,
  type SettledLog,
} from '../store/reconciliation/settled-logs.ts'
import { quorumOf, type Panel } from './chain/agree.ts'
import type { Node } from './chain/node.ts'
import { readSettledLogs } from './chain/settled-logs.ts'
import { readOwn } from './sources/own-settlements.ts'

export type SweepDeps = {
  db: Db
  chainId: number
  contract: Hex
  nodes: readonly Node[]
  /** In the order of the nodes. */
  providers: readonly Provider[]
  panel: Panel
  clock: Clock
  logger: Logger
  signal: AbortSignal
  /** Called after each part that was stored. */
  onPart: (done: { from: bigint; at: bigint; to: bigint }) => Promise<void> | void
}

/**
 * Reads what the settlement contract logged, from where the last sweep ended up to the last final
 * block, in ranges as large as the nodes take. With several nodes, a part counts when enough of
 * them show the same logs; otherwise the sweep ends there, and the records are asked for one by
 * one. A node that cannot show its logs is left out, for as long as enough others can.
 */
export async function sweep(deps: SweepDeps): Promise<void> {
  let heard = heardIn(deps)
  while (heard.length >= deps.panel.needed) {
    try {
      await sweepBy(deps, heard.slice(0, deps.panel.needed))
      return
    } catch (error) {
      if (!(error instanceof UnheardError)) throw error
      deps.signal.throwIfAborted()
      const { of: silent, message: reason } = error
      deps.logger.warn({ provider: silent.name, reason }, 'a node cannot show its settlements')
      heard = heard.filter(({ provider }) => provider !== silent)
    }
  }
}

/** One node, as it is asked for its logs and for what else a settlement needs. */
type Witness = { node: Node; provider: Provider }

/** Those that told where they stand, and are not behind. */
function heardIn({ nodes, providers, panel }: SweepDeps): Witness[] {
  const heard = new Set(panel.nodes.flatMap(({ name, isStale }) => (isStale ? [] : [name])))
  return providers.flatMap((provider, at) => {
    const node = nodes[at]
    return node && heard.has(node.name) ? [{ node, provider }] : []
  })
}

async function sweepBy(deps: SweepDeps, witnesses: readonly Witness[]): Promise<void> {
  const { db, chainId, contract, panel, signal } = deps
  const { final } = panel
  const from = final === undefined ? undefined : await startOf(deps)
  if (final === undefined || from === undefined || from > final) return
  const query = { address: contract, topics: [topicOf('Settled')], signal }
  const [first, ...others] = witnesses.map(({ provider }) => readerOf(provider, deps))
  if (first === undefined) return
  const parts = ahead(first({ ...query, fromBlock: from, toBlock: final }))
  for await (const read of ahead(complete({ ...deps, witnesses, query, others, from, parts }))) {
    const isStored = await db
      .transaction()
      .execute((transaction) => storeSettledLogs(transaction, { chainId, contract }, read))
    // Another process sweeps: it goes on, and what it has not read is asked for one by one.
    if (!isStored) return
    await deps.onPart({ from, at: read.to.number, to: final })
  }
}

/**
 * Whether the chain still has the block up to which was swept, by the word of enough nodes. If not,
 * what the sweep has read proves nothing.
 */
export async function isSweepStanding(
  deps: Pick<SweepDeps, 'db' | 'chainId' | 'contract' | 'nodes' | 'panel' | 'signal'>,
): Promise<boolean> {
  const { db, chainId, contract } = deps
  const cursor = await readSweepCursor(db, { chainId, contract })
  return cursor !== undefined && (await hashAt(deps, cursor.number)) === cursor.hash
}

type SettledReader = ReturnType<typeof readerOf>
type Query = Omit<Parameters<SettledReader>[0], 'fromBlock' | 'toBlock'>

/** Each part with what its logs leave out; it ends where the nodes do not show the same. */
async function* complete(
  deps: SweepDeps & {
    witnesses: readonly Witness[]
    query: Query
    others: readonly SettledReader[]
    from: bigint
    parts: ReturnType<SettledReader>
  },
): AsyncGenerator<{ logs: SettledLog[]; from: bigint; to: BlockId }> {
  const { witnesses, query, others, parts } = deps
  const nodes = witnesses.map(({ node }) => node)
  let next = deps.from
  for await (const { logs, toBlock } of parts) {
    const range = { ...query, fromBlock: next, toBlock }
    const isShared = await everyOf(others, async (reader) =>
      isSame(logs, await readAll(reader, range)),
    )
    const hash = isShared ? await hashAt(deps, toBlock) : undefined
    if (hash === undefined) return
    const found = onceEach(logs, { from: next, to: toBlock })
    const own = await readOwn({ ...deps, nodes }, found)
    for (const log of found) log.own = own.get(log.hash)
    yield { logs: found, from: next, to: { number: toBlock, hash } }
    next = toBlock + 1n
  }
}

/** Of what was asked for, each log once, whatever a node adds to it. */
function onceEach(
  logs: readonly SettledLog[],
  { from, to }: { from: bigint; to: bigint },
): SettledLog[] {
  const asked = logs.filter(({ block: { number } }) => number >= from && number <= to)
  return [...new Map(asked.map((log) => [`${log.block.number}:${log.logIndex}`, log])).values()]
}

/** Behind the last sweep, where its block still stands; else where payments of ours begin. */
async function startOf(deps: SweepDeps): Promise<bigint | undefined> {
  const { db, chainId, contract } = deps
  const key = { chainId, contract }
  const cursor = await readSweepCursor(db, key)
  if (cursor !== undefined) {
    const hash = await hashAt(deps, cursor.number)
    if (hash === undefined) return undefined
    if (hash === cursor.hash) return cursor.number + 1n
    await db.transaction().execute((transaction) => forgetSweep(transaction, key))
  }
  return firstBlockOfOurs(db, chainId)
}

/** The hash that enough nodes give to the block. */
async function hashAt(
  asked: Pick<SweepDeps, 'nodes' | 'panel' | 'signal'>,
  number: bigint,
): Promise<Hex | undefined> {
  return agreedOn(quorumOf(asked), async (node, signal) => {
    const block = (await node.blocks([{ number, isFull: false }], signal)).get(number)
    return block instanceof BaseError ? undefined : block?.hash
  })
}

function readerOf(provider: Provider, { clock, contract }: SweepDeps) {
  const read = createPartReader(patient(provider, clock), (answer) => {
    return { logs: readSettledLogs(answer, contract) }
  })
  return async function* readHeard(query: Parameters<typeof read>[0]) {
    try {
      yield* read(query)
    } catch (error) {
      if (error instanceof BaseError) throw new UnheardError(provider, error)
      throw error
    }
  }
}

/** This one could not show its logs; others may. */
class UnheardError extends Error {
  readonly of: Provider

  constructor(of: Provider, cause: BaseError) {
    super(cause.message, { cause })
    this.of = of
  }
}

async function readAll(
  reader: SettledReader,
  query: Parameters<SettledReader>[0],
): Promise<readonly SettledLog[]> {
  const logs: SettledLog[] = []
  for await (const part of reader(query)) for (const log of part.logs) logs.push(log)
  return logs
}

async function everyOf<T>(list: readonly T[], holds: (one: T) => Promise<boolean>) {
  return (await Promise.all(list.map(holds))).every(Boolean)
}

function isSame(a: readonly SettledLog[], b: readonly SettledLog[]): boolean {
  return a.length === b.length && a.every((log, at) => textOf(log) === textOf(b[at]))
}

function textOf(log: SettledLog | undefined): string {
  if (log === undefined) return ''
  const { block, logIndex, hash, reference, payer, payee, token, amount } = log
  const place = [block.number, block.hash, logIndex, hash]
  return [...place, reference, payer, payee, token, amount].join()
}

const ROUNDS = 7

/** Waits and asks again where that may help; what is too large is not asked again. */
function patient(provider: Provider, clock: Clock): Provider {
  return {
    name: provider.name,
    async request(call) {
      let failure: unknown
      const pace = { clock, rounds: ROUNDS, firstPauseMs: 250, maxPauseMs: 8000 }
      const answered = await inRounds({ ...pace, signal: call.signal }, async () => {
        call.signal?.throwIfAborted()
        try {
          return { result: await provider.request(call) }
        } catch (error) {
          failure = error
          if (error instanceof BaseError && error.retryable) return undefined
          throw error
        }
      })
      if (answered === undefined) throw failure
      return answered.result
    },
  }
}
