import type { Provider } from '../../../src/chain/rpc/provider.ts'
import type { Sender } from '../../../src/sender/sender.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { senderOf } from '../../fixtures/books/sender.ts'
import { createTestClock } from '../../fixtures/clock.ts'
import { createKeyedRandom, createRandom, type Random } from '../../fixtures/random.ts'
import { actAtRandom } from './acts.ts'
import { countOpenOrders, countStates, wrongsOf } from './check.ts'
import { createFaultyProvider, type FaultRates } from './faulty-provider.ts'
import { createLife, survive, type Faults, type Life, type Sim } from './life.ts'
import { createSigners, ETHER, GWEI, START, toHex, type World } from './world.ts'

export type RunOptions = { seed: number; db: Db; world: World }

export type RunReport = {
  seed: number
  /** Empty when every order was paid once or reported as not paid. */
  wrongs: string[]
  crashes: number
  /** How often each thing came to be, such as `order completed` or `nonce foreign`. */
  counts: Readonly<Record<string, number>>
}

/** Drives the real sender through the faults of a seed, lets it come to rest, and checks it. */
export async function runSeed(options: RunOptions): Promise<RunReport> {
  const { seed, world } = options
  const sim = await startSim(options)
  const since = await world.head()
  const acts = 8 + sim.random.below(10)
  for (let act = 0; act < acts; act++) {
    await actAtRandom(sim)
    await passOnce(sim)
  }
  await comeToRest(sim)
  const wrongs = await wrongsOf({ ...sim, signers: sim.signers.addresses, since })
  return { seed, wrongs, crashes: sim.crashes(), counts: await countStates(sim) }
}

export const CONFIRMATIONS = 10

async function startSim({ seed, db, world }: RunOptions): Promise<Sim> {
  const random = createRandom(`run ${seed}`)
  const draw = createKeyedRandom(`fault ${seed}`)
  const clock = createTestClock(START)
  const faults: Faults = { areOn: true, crashChance: random.pick([0, 0.002, 0.01]), lag: 0 }
  // The run begins at a price of its own, and where no reorg can reach what was before it.
  await world.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(GWEI)])
  const signers = await createSigners(world, { seed: String(seed), count: 1 + random.below(2) })
  await world.mine(CONFIRMATIONS)
  const providers = createProviders({ world, draw, faults, heaviness: random.pick([0.5, 1, 1, 5]) })
  let life: Life | undefined
  let sender: Sender | undefined
  let crashes = 0
  const ownDb = (): Db => life?.db ?? db
  return {
    ownDb,
    seed,
    random,
    world,
    db,
    signers,
    clock,
    faults,
    crashes: () => crashes,
    promised: [],
    sender() {
      if (life?.isOver()) crashes += 1
      if (life === undefined || sender === undefined || life.isOver()) {
        const { crashChance } = faults
        life = createLife({
          db,
          providers,
          draw,
          crashChance: () => (faults.areOn ? crashChance : 0),
        })
        sender = senderOf({
          db: life.db,
          providers: life.providers,
          signers: { ...signers, sign: life.sign(signers.sign) },
          clock,
          policy: { confirmations: CONFIRMATIONS },
        })
      }
      return sender
    },
  }
}

/** One whose line breaks, one that lags, and one that lies: each beside an honest one. */
export function createProviders(options: {
  world: World
  draw: (key: string) => Random
  faults: Faults
  heaviness: number
}): Provider[] {
  const { world, draw, faults, heaviness } = options
  const line = { error: 0.05 * heaviness, lost: 0.04 * heaviness, twice: 0.05, late: 0, lie: 0 }
  const provider = (name: string, rates: FaultRates, isLagging = false): Provider =>
    createFaultyProvider({
      name,
      forward: world.rpc,
      draw,
      rates: () => (faults.areOn ? rates : NO_FAULTS),
      lag: () => (isLagging && faults.areOn ? faults.lag : 0),
    })
  return [
    provider('broken', line),
    provider('lagging', line, true),
    provider('lying', { ...line, late: 0.1, lie: 0.2 * heaviness }),
  ]
}

const NO_FAULTS: FaultRates = { error: 0, lost: 0, twice: 0, late: 0, lie: 0 }

async function passOnce(sim: Sim): Promise<void> {
  sim.clock.advance(1_000 + sim.random.below(9_000))
  await survive(() => sim.sender().pass(new AbortController().signal))
}

/** Faults for a while longer, then none, until every order is decided. */
async function comeToRest(sim: Sim): Promise<void> {
  for (const signer of sim.signers.addresses) {
    await sim.world.rpc('anvil_setBalance', [signer, toHex(1_000n * ETHER)])
  }
  for (let round = 0; round < MAX_ROUNDS; round++) {
    sim.faults.areOn = round < 3
    await passOnce(sim)
    await sim.world.mine(3)
    if (round > 3 && (await countOpenOrders(sim.db)) === 0) return
  }
}

const MAX_ROUNDS = 60
