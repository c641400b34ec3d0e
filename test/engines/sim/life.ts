import type { Provider } from '../../../src/chain/rpc/provider.ts'
import type { Sender } from '../../../src/sender/sender.ts'
import type { Db } from '../../../src/store/database/database.ts'
import type { TestClock } from '../../fixtures/clock.ts'
import type { Random } from '../../fixtures/random.ts'
import type { Promised } from './check.ts'
import type { World, SimSigners } from './world.ts'

/** What every run stands on. */
export type Ground = {
  seed: number
  random: Random
  world: World
  db: Db
  signers: SimSigners
  clock: TestClock
  faults: Faults
}

/** What one run has at hand; only the sender and its life end at a crash. */
export type Sim = Ground & {
  /** Rebuilds the sender from the tables when its process has crashed. */
  sender: () => Sender
  /** The database as the sender's own process sees it, which ends with it. */
  ownDb: () => Db
  crashes: () => number
  promised: Promised[]
}

export type Faults = { areOn: boolean; crashChance: number; lag: number }

/**
 * One process from its start to its crash. After it every await that reaches outside rejects, so
 * that nothing of what the process still holds in memory has any effect.
 */
export type Life = {
  isOver: () => boolean
  db: Db
  providers: Provider[]
  sign: <A extends unknown[], T>(sign: (...args: A) => Promise<T>) => (...args: A) => Promise<T>
}

export type LifeOptions = {
  db: Db
  providers: readonly Provider[]
  draw: (key: string) => Random
  /** How likely the process dies at one await. */
  crashChance: () => number
}

export function createLife({ db, providers, draw, crashChance }: LifeOptions): Life {
  let isOver = false
  const end = (): never => {
    isOver = true
    throw new CrashError()
  }
  const mayCrash = (key: string): void => {
    if (isOver || draw(key).chance(crashChance())) end()
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
      request: (call) => {
        const key = `${provider.name}/${call.method}/${JSON.stringify(call.params ?? [])}`
        return around(key, () => provider.request(call))
      },
    })),
    sign:
      (sign) =>
      (...args) =>
        around('sign', () => sign(...args)),
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
