import { keccak256 } from 'viem'

import type { Provider, RpcCall } from '../../../src/chain/rpc/provider.ts'
import type { Hex } from '../../../src/domain/orders.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { quoteFrom, senderOf, TEST_POLICY } from '../../fixtures/books/sender.ts'
import { createTestClock } from '../../fixtures/clock.ts'
import { createKeyedRandom, createRandom, type Random } from '../../fixtures/random.ts'
import { ACTS } from './acts.ts'
import { countOpenOrders, countStates, wrongsNow, wrongsOf } from './check.ts'
import { createFaultyProvider } from './faulty-provider.ts'
import { createFaults, createLife, survive, type Faults, type Sim, type Worker } from './life.ts'
import { drawPlan, FAULT_KINDS, type FaultKind, type Plan } from './plan.ts'
import {
  CHAIN_ID,
  CONFIRMATIONS,
  createSigners,
  ETHER,
  GWEI,
  START,
  toHex,
  type World,
} from './world.ts'

export type RunOptions = {
  plan: Plan
  db: Db
  world: World
  /** All chains of the run, the first one included. */
  worlds: readonly World[]
}

export type RunReport = {
  seed: number
  /** Empty when every order was paid once or reported as not paid. */
  wrongs: string[]
  /** How often each thing came to be, such as `orders completed` or `fault stale`. */
  counts: Readonly<Record<string, number>>
}

/** What is drawn from a seed, and how it is played. */
export type Play = {
  /** How many chains it takes; absent, one. */
  chains?: number
  acts: readonly string[]
  faults: readonly FaultKind[]
  /** What must come to be in some run, beside acts and faults. */
  outcomes: readonly string[]
  plan: (seed: number) => Plan
  run: (options: RunOptions) => Promise<RunReport>
}

/** Payments of ether: the real sender goes through the faults of a plan, and comes to rest. */
export const ETHER_PLAY: Play = {
  acts: Object.keys(ACTS),
  faults: FAULT_KINDS,
  outcomes: [],
  plan: (seed) => drawPlan(seed, { weights: weightsOf(ACTS), count: [8, 10] }),
  async run(options) {
    const { plan, world } = options
    const sim = await startSim(options)
    const since = await world.head()
    const wrongs = new Set<string>()
    const look = async (): Promise<void> => {
      for (const wrong of await wrongsNow(sim)) wrongs.add(wrong)
    }
    for (const { act, at } of plan.steps) {
      beginStep(sim, plan, at)
      await ACTS[act]!.act(sim)
      await passOnce(sim)
      await look()
    }
    sim.random = createRandom(`rest ${plan.seed}`)
    await comeToRest(sim, look)
    const signers = sim.signers.addresses
    for (const wrong of await wrongsOf({ ...sim, signers, since })) wrongs.add(wrong)
    const counts = { ...(await countStates(sim)), ...countFaults(plan, sim.faults) }
    return { seed: plan.seed, wrongs: [...wrongs], counts: { ...counts, crashes: sim.crashes() } }
  },
}

export function weightsOf(
  acts: Readonly<Record<string, { weight: number }>>,
): Record<string, number> {
  return Object.fromEntries(Object.entries(acts).map(([name, { weight }]) => [name, weight]))
}

/** The chances of a step are its own, whatever was left out before it. */
export function beginStep(sim: { random: Random; faults: Faults }, plan: Plan, at: number): void {
  sim.random = createRandom(`run ${plan.seed}/${at}`)
  sim.faults.lag = sim.random.below(4)
  // Sooner or later the node hears of the reorg.
  if (sim.random.chance(0.3)) sim.faults.fork = undefined
}

export function countFaults(plan: Plan, { fired }: Faults): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { act } of plan.steps) counts[`act ${act}`] = (counts[`act ${act}`] ?? 0) + 1
  for (const [kind, times] of fired) counts[`fault ${kind}`] = times
  return counts
}

export async function startSim({ plan, db, world }: Omit<RunOptions, 'worlds'>): Promise<Sim> {
  const { seed, without } = plan
  const random = createRandom(`run ${seed}`)
  const draw = createKeyedRandom(`fault ${seed}`)
  const clock = createTestClock(START)
  const faults = createFaults({ crashChance: random.pick([0, 0.002, 0.01]), without })
  // The run begins at a price of its own, and where no reorg can reach what was before it.
  await world.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(GWEI)])
  const signers = await createSigners(world, { seed: String(seed), count: 1 + random.below(2) })
  await world.mine(CONFIRMATIONS)
  const sent = new Set<string>()
  const panel = random.pick(['three', 'three', 'three', 'one'] as const)
  const heaviness = random.pick([0.5, 1, 1, 5])
  const providers = createProviders({ world, draw, faults, heaviness, panel, sent })
  const workers: (Worker | undefined)[] = []
  let crashes = 0
  const begin = (): Worker => {
    const life = createLife({ db, providers, draw, faults })
    const sender = senderOf({
      chainId: world.chainId,
      db: life.db,
      providers: life.providers,
      signers: {
        ...signers,
        sign: life.sign(signers.sign),
        signTyped: life.sign(signers.signTyped),
      },
      clock,
      policy: { confirmations: CONFIRMATIONS },
      quoteFees: jumping({ draw, faults }, (signal) => quoteFrom(life.providers, signal)),
    })
    return { life, sender, db: life.db }
  }
  const isUsual = world.chainId === CHAIN_ID
  return {
    name: isUsual ? String(seed) : `${seed}@${world.chainId}`,
    seed,
    random,
    world,
    db,
    signers,
    clock,
    faults,
    sent,
    crashes: () => crashes,
    promised: [],
    worker(place) {
      const known = workers[place]
      if (known?.life.isOver()) crashes += 1
      return known?.life.isOver() === false ? known : (workers[place] = begin())
    },
  }
}

type Quote = (signal: AbortSignal) => ReturnType<typeof quoteFrom>

/** A price that is far off for a moment. */
function jumping(
  { draw, faults }: { draw: (key: string) => Random; faults: Faults },
  quote: Quote,
): Quote {
  return async (signal) => {
    const { maxFeePerGas, maxPriorityFeePerGas } = await quote(signal)
    const random = draw('quote')
    if (!random.chance(0.1) || !faults.may('quote')) return { maxFeePerGas, maxPriorityFeePerGas }
    const times = random.pick([2n, 50n, 10_000n])
    const isMore = random.chance(0.5)
    const jump = (fee: bigint): bigint => (isMore ? fee * times : fee / times + 1n)
    return {
      maxFeePerGas: jump(maxFeePerGas),
      maxPriorityFeePerGas: jump(maxPriorityFeePerGas),
    }
  }
}

/**
 * Three: one whose line breaks, one that lags, and one that lies and may not have heard of a reorg.
 * One: the only one there is, which is believed, and whose receipts may be older than its blocks.
 */
export function createProviders(options: {
  world: World
  draw: (key: string) => Random
  faults: Faults
  heaviness: number
  panel: 'three' | 'one'
  sent: Set<string>
}): Provider[] {
  const { world, draw, faults, heaviness, panel, sent } = options
  const forward: World['rpc'] = (method, params = []) => {
    if (method === 'eth_sendRawTransaction') sent.add(keccak256(params[0] as Hex))
    return world.rpc(method, params)
  }
  const line = { error: 0.05 * heaviness, lost: 0.04 * heaviness, twice: 0.05, late: 0, lie: 0 }
  const common = { forward, draw, faults }
  const broken = { ...common, name: 'broken', rates: line }
  if (panel === 'one') return [createFaultyProvider({ ...broken, shows: 'receipts' })]
  const lies = { ...line, late: 0.1, lie: 0.2 * heaviness }
  return [
    createFaultyProvider(broken),
    createFaultyProvider({ ...common, name: 'lagging', rates: line, isLagging: true }),
    createFaultyProvider({ ...common, name: 'lying', rates: lies, shows: 'all' }),
  ]
}

export async function passOnce(sim: Sim): Promise<void> {
  const { clock, random, faults } = sim
  clock.advance(1_000 + random.below(9_000))
  const [place, other] = random.chance(0.7) ? ([0, 1] as const) : ([1, 0] as const)
  faults.isLiarAlone = random.chance(0.05) && faults.may('down')
  if (random.chance(0.2) && faults.may('pause')) await passPaused(sim, place, other)
  else await pass(sim, place)
  faults.isLiarAlone = false
}

async function pass(sim: Sim, place: 0 | 1): Promise<void> {
  await survive(() => sim.worker(place).sender.pass(new AbortController().signal))
}

/** One stands still for longer than its lease, and goes on after the other one has worked. */
async function passPaused(sim: Sim, place: 0 | 1, other: 0 | 1): Promise<void> {
  const { clock, random, world } = sim
  let questions = random.below(60)
  const isAny = (): boolean => questions-- === 0
  // With all that it knows of the lane, and before it signs a replacement.
  const isPrice = ({ params }: RpcCall): boolean => params?.[0] === 'latest'
  const pause = sim.worker(place).life.pauseAt(random.chance(0.5) ? isAny : isPrice)
  const passing = pass(sim, place)
  await Promise.race([passing, pause.reached])
  clock.advance(TEST_POLICY.leaseMs + 1_000)
  for (let round = 0; round < 1 + random.below(3); round++) {
    await pass(sim, other)
    await world.mine(random.pick([0, 1, 12]))
    clock.advance(1_000)
  }
  pause.resume()
  await passing
}

/** Faults for a while longer, then none, until every order is decided. */
export async function comeToRest(sim: Sim, look: () => Promise<void>): Promise<void> {
  for (const signer of sim.signers.addresses) {
    await sim.world.rpc('anvil_setBalance', [signer, toHex(1_000n * ETHER)])
  }
  for (let round = 0; round < MAX_ROUNDS; round++) {
    sim.faults.areOn = round < 3
    await passOnce(sim)
    await look()
    await sim.world.mine(3)
    if (round > 3 && (await countOpenOrders(sim.db, sim.world)) === 0) return
  }
}

const MAX_ROUNDS = 60
