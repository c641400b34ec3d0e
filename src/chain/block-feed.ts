import { createBells, type Bell } from '../base/bells.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { createLoop, type Loop } from '../base/loop.ts'
import { data, readBlock, record, toQuantity } from './answers.ts'
import type { Hex } from './hex.ts'
import { campsOf, type Finality } from './quorum.ts'
import type { Providers } from './rpc/providers.ts'
import { askAgreed } from './read/agreed.ts'
import { createHeads } from './read/final.ts'

/** Looks at the final blocks of a chain for all who wait for what happens there. */
export type BlockFeed = {
  loop: Loop
  /**
   * Rung unless it is certain that nothing has happened: for a block with transactions, and for one
   * that cannot be read or follows no block that was seen.
   */
  bell: Bell
}

export function createBlockFeed(deps: {
  providers: Pick<Providers, 'askAll'>
  finality: Finality
  clock: Clock
  logger: Logger
  intervalMs: number
  onProgress?: () => void
}): BlockFeed {
  const { providers, clock, logger, intervalMs, onProgress } = deps
  const readHeads = createHeads(deps, readHeader)
  const recent = createRecent()
  const bells = createBells()
  const bell = bells.of('blocks')
  let seen: Header | undefined
  const look = async (signal: AbortSignal): Promise<void> => {
    const { final, heads } = await readHeads(signal)
    recent.add(heads)
    if (final !== undefined && final === seen?.number) return
    const of = { seen, final, recent }
    const read = final === undefined ? [] : await readAfter(providers, { ...of, final }, signal)
    if (!isQuiet(seen, read)) bell.ring()
    seen = read.at(-1)
  }
  const pass = async (signal: AbortSignal): Promise<void> => {
    try {
      await look(signal)
      bells.setHeard(true)
    } catch (error) {
      // Its listeners poll meanwhile.
      bells.setHeard(false)
      seen = undefined
      throw error
    }
  }
  return {
    bell,
    loop: createLoop({ name: 'block feed', clock, logger, intervalMs, onProgress, pass }),
  }
}

type Header = { number: bigint; hash: Hex; parentHash: Hex; isEmpty: boolean }

/** The heads that were seen, each of which follows the one before: none of them is asked for. */
type Recent = {
  /** What the providers call the head; where they differ, none is kept. */
  add: (heads: readonly Header[]) => void
  find: (number: bigint) => Header | undefined
}

function createRecent(): Recent {
  let headers: Header[] = []
  return {
    add(heads) {
      const [camp, ...others] = campsOf(heads)
      const last = headers.at(-1)
      if (camp === undefined || others.length > 0) {
        headers = []
        return
      }
      const [head] = camp
      if (head.hash === last?.hash) return
      headers = head.parentHash === last?.hash ? [...headers.slice(-MOST_RECENT), head] : [head]
    },
    find: (number) => headers.find((header) => header.number === number),
  }
}

/** The blocks after the one that was seen; none where one of them is not known. */
async function readAfter(
  providers: Pick<Providers, 'askAll'>,
  { seen, final, recent }: { seen: Header | undefined; final: bigint; recent: Recent },
  signal: AbortSignal,
): Promise<Header[]> {
  const from = seen !== undefined && final - seen.number <= MOST ? seen.number + 1n : final
  const headers: Header[] = []
  const asked = Array.from({ length: Number(final - from) + 1 }, async (_, place) => {
    const number = from + BigInt(place)
    const call = {
      method: 'eth_getBlockByNumber',
      params: [toQuantity(number), false],
      signal,
    }
    return recent.find(number) ?? askAgreed(providers, { call, read: readHeader })
  })
  for (const header of await Promise.all(asked)) {
    if (header === undefined) return []
    headers.push(header)
  }
  return headers
}

/** So many blocks are looked at one by one; more of them are taken for something. */
const MOST = 16n

/** As many as a chain is waited for, and more. */
const MOST_RECENT = 64

function readHeader(result: unknown): Header | undefined {
  if (result === null) return undefined
  const { number, hash, hashes } = readBlock(result)
  const parentHash = data(record(result, 'block')['parentHash'], 'parentHash', 32)
  return { number, hash, parentHash, isEmpty: hashes.length === 0 }
}

function isQuiet(seen: Header | undefined, headers: readonly Header[]): boolean {
  let last = seen
  for (const header of headers) {
    if (!header.isEmpty || header.parentHash !== last?.hash) return false
    last = header
  }
  return headers.length > 0
}
