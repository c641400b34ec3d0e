import { sql, type Transaction } from 'kysely'

import { systemClock } from '../../src/base/clock.ts'
import { createProviders } from '../../src/chain/providers.ts'
import { createExaminer } from '../../src/reconciler/examine.ts'
import { createNode } from '../../src/reconciler/node.ts'
import { sweep } from '../../src/reconciler/sweep.ts'
import type { Db } from '../../src/store/database.ts'
import { forgetSweep, storeSettledLogs } from '../../src/store/settled-logs.ts'
import { freshDatabase } from './database.ts'
import { timed } from './receipt-loops.ts'
import type { SettledChain } from './settled-chain.ts'
import { CHAIN_ID } from './verify.ts'

const ROUNDS = 3

/**
 * The sweep of our own runs beside the same logs read and thrown away, in turn, so that whatever
 * else the machine does slows both. The time in the database is told apart.
 */
export async function measureSweep(
  world: Pick<SettledChain, 'chain' | 'settlement'>,
  readRaw: () => Promise<void>,
) {
  const { db } = await freshDatabase()
  const clock = systemClock
  const { signal } = new AbortController()
  const urls = [world.chain.url]
  const providers = createProviders({ urls, chainId: CHAIN_ID, clock, random: Math.random })
  const nodes = providers.all.map((provider) => createNode({ provider, confirmations: 2, clock }))
  const contracts = { settlement: world.settlement, stablecoin: undefined }
  const examiner = createExaminer({ chainId: CHAIN_ID, nodes, contracts, clock })
  const key = { chainId: CHAIN_ID, contract: world.settlement }
  const first = await nodes[0]?.blocks([{ number: 0n, isFull: false }], signal)
  const genesis = first?.get(0n)
  if (!genesis || genesis instanceof Error) throw new Error('the chain has no first block')
  const seconds = { floor: 0, sweep: 0, sql: 0 }
  for (let round = 0; round < ROUNDS; round += 1) {
    seconds.floor += (await timed(readRaw)).seconds
    await forgetSweep(db, key)
    await storeSettledLogs(db, key, { logs: [], to: { number: 0n, hash: genesis.hash } })
    const watched = timeTransactions(db, (took) => void (seconds.sql += took))
    const parts = { ...key, nodes, providers: providers.all, clock, signal }
    const panel = await examiner.look(signal)
    const onPart = (): void => undefined
    const { seconds: took } = await timed(() => sweep({ ...parts, db: watched, panel, onPart }))
    seconds.sweep += took
  }
  const { rows } = await sql<{ count: bigint }>`select count(*) from settled_logs`.execute(db)
  const reading = seconds.sweep - seconds.sql
  return {
    logs: Number(rows[0]?.count),
    floorSeconds: seconds.floor / ROUNDS,
    readingSeconds: reading / ROUNDS,
    sqlSeconds: seconds.sql / ROUNDS,
    readingToFloor: reading / seconds.floor,
  }
}

function timeTransactions(db: Db, tell: (seconds: number) => void): Db {
  const execute = async <T>(
    work: (transaction: Transaction<unknown>) => Promise<T>,
  ): Promise<T> => {
    const { value, seconds } = await timed(() => db.transaction().execute(work))
    tell(seconds)
    return value
  }
  return new Proxy(db, {
    get: (target, name) => {
      if (name === 'transaction') return () => ({ execute })
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
