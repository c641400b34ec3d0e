import type { Provider, RpcCall } from '../../../src/chain/rpc/provider.ts'
import type { Sender } from '../../../src/sender/sender.ts'
import type { Db } from '../../../src/store/database/database.ts'
import type { TestClock } from '../../fixtures/clock.ts'
import type { Random } from '../../fixtures/random.ts'
import type { Promised } from './check.ts'
import type { OldFork } from './old-fork.ts'
import type { FaultKind } from './plan.ts'
import type { World, SimSigners } from './world.ts'

/** What every run stands on. */
export type Ground = {
  seed: number
  /** Of the act that is played. */
  random: Random
  world: World
  db: Db
  signers: SimSigners
  clock: TestClock
  faults: Faults
}

/** What one run has at hand; only the senders and their lives end at a crash. */
export type Sim = Ground & {
  /** Begins the names of its payments, which are unlike those of any other. */
  name: string
  /** One of two workers, rebuilt from the tables when its process has crashed. */
  worker: (place: 0 | 1) => Worker
  crashes: () => number
  promised: Promised[]
  /** Every hash that any provider was sent. */
  sent: ReadonlySet<string>
}

/** A process, and the database as it sees it, which ends with it. */
export type Worker = { life: Life; sender: Sender; db: Db }

/** What may go wrong now. A fault asks whether it may before it happens, so that it is counted. */
export type Faults = {
  areOn: boolean
  crashChance: number
  lag: number
  /** Only the provider that lies is there, and it knows what to lie about. */
  isLiarAlone: boolean
  /** What a node shows that has not heard of the last reorg. */
  fork: OldFork | undefined
  fired: Map<FaultKind, number>
  may: (kind: FaultKind) => boolean
}

export function createFaults(parts: {
  crashChance: number
  without: readonly FaultKind[]
}): Faults {
  const fired = new Map<FaultKind, number>()
  const faults: Faults = {
    areOn: true,
    crashChance: parts.crashChance,
    lag: 0,
    isLiarAlone: false,
    fork: undefined,
    fired,
    may(kind) {
      if (!faults.areOn || parts.without.includes(kind)) return false
      fired.set(kind, (fired.get(kind) ?? 0) + 1)
      return true
    },
  }
  return faults
}

/**
 * One process from its start to its crash. After it every await that reaches outside rejects, so
 * that nothing of what the process still holds in memory has any effect.
 */
export type Life = {
  isOver: () => boolean
  db: Db
  providers: Provider[]
  sign: <A extends unknown[], T>(sign: (...args: A) => Promise<T>) => (...args: A) => Promise<T>
  /** The process stands still before the first such question to a provider, until it is resumed. */
  pauseAt: (isHere: (call: RpcCall) => boolean) => Pause
}

export type Pause = { reached: Promise<void>; resume: () => void }

export type LifeOptions = {
  db: Db
  providers: readonly Provider[]
  draw: (key: string) => Random
  faults: Faults
}

export function createLife({ db, providers, draw, faults }: LifeOptions): Life {
  let isOver = false
  let pausing: { isHere: (call: RpcCall) => boolean; stop: () => Promise<void> } | undefined
  const end = (): never => {
    isOver = true
    throw new CrashError()
  }
  const mayCrash = (key: string): void => {
    if (isOver || (draw(key).chance(faults.crashChance) && faults.may('crash'))) end()
  }
  const around = async <T>(key: string, work: () => Promise<T>): Promise<T> => {
    mayCrash(`${key}/before`)
    const result = await work()
    mayCrash(`${key}/after`)
    return result
  }
  return {
    isOver: () => isOver,
    db: db.withPlugin({
      transformQuery({ node }) {
        mayCrash('db/before')
        return node
      },
      transformResult({ result }) {
        mayCrash('db/after')
        return Promise.resolve(result)
      },
    }),
    providers: providers.map((provider) => ({
      name: provider.name,
      request: async (call) => {
        if (pausing?.isHere(call)) await pausing.stop()
        const key = `${provider.name}/${call.method}/${JSON.stringify(call.params ?? [])}`
        return around(key, () => provider.request(call))
      },
    })),
    sign:
      (sign) =>
      (...args) =>
        around('sign', () => sign(...args)),
    pauseAt(isHere) {
      const reached = Promise.withResolvers<void>()
      const resumed = Promise.withResolvers<void>()
      pausing = {
        isHere,
        stop() {
          pausing = undefined
          reached.resolve()
          return resumed.promise
        },
      }
      return {
        reached: reached.promise,
        resume() {
          pausing = undefined
          resumed.resolve()
        },
      }
    },
  }
}

/** What the sender rejects with is no wrong; what it left in tables and on the chain may be one. */
export async function survive<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch {
    return undefined
  }
}

class CrashError extends Error {
  override readonly name = 'CrashError'

  constructor() {
    super('the process crashed')
  }
}
