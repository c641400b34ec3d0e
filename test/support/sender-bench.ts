import { randomBytes } from 'node:crypto'

import type { Provider } from '../../src/chain/provider.ts'
import type { Hex, Order } from '../../src/domain/orders.ts'
import type { AcceptedOrder } from '../../src/sender/accept.ts'
import type { PaymentRequest } from '../../src/sender/prepare.ts'
import type { Sender } from '../../src/sender/sender.ts'
import type { Db } from '../../src/store/database.ts'
import { findOrder, readOpenOrders } from '../../src/store/orders.ts'
import { startChain, type TestChain } from './anvil.ts'
import { createTestClock, type TestClock } from './clock.ts'
import { freshDatabase } from './database.ts'
import { providerOf, senderOf, type Intercept, type SenderParts } from './sender.ts'
import {
  addressFrom,
  CHAIN_ID,
  createSigners,
  createWorld,
  placeSettlement,
  type SimSigners,
  type World,
} from './sim/world.ts'

/** A sender on a chain that mines when the test says so, with two signers that nobody else has. */
export type Bench = {
  db: Db
  url: string
  world: World
  signers: SimSigners
  clock: TestClock
  signal: AbortSignal
  /** What stands between the sender and the chain from now on. */
  intercept: Intercept | undefined
  provider: (name: string, intercept?: Intercept) => Provider
  /** Another sender on the same tables. */
  sender: (parts?: Partial<SenderParts>) => Sender
  requestOf: (payment: Partial<PaymentRequest>) => PaymentRequest
  pay: (payment: Partial<PaymentRequest>) => Promise<AcceptedOrder>
  /** Lets five seconds go by before it. */
  pass: (sender?: Sender) => Promise<void>
  passAndMine: () => Promise<void>
  /** Passes and blocks until nothing is left to decide. */
  finish: () => Promise<void>
  stateOf: (order: Order) => Promise<Order['state'] | undefined>
  inPool: () => Promise<number>
  isEmpty: () => Promise<boolean>
  stop: () => Promise<void>
}

/** All benches share one chain; each mines what the one before it left. */
let shared: Promise<TestChain> | undefined

export async function createBench(): Promise<Bench> {
  shared ??= startChain('--no-mining')
  const chain = await shared
  const world = createWorld(chain.url)
  await placeSettlement(world)
  await world.rpc('anvil_dropAllTransactions')
  await world.rpc('anvil_setNextBlockBaseFeePerGas', ['0x3b9aca00'])
  const { db } = await freshDatabase()
  const name = randomBytes(8).toString('hex')
  const signers = await createSigners(world, { seed: name, count: 2 })
  // No reorg of the test takes the money away again.
  await world.mine(8)
  return benchOf({ db, url: chain.url, world, signers, name })
}

/** From now on the address refuses money. */
export async function reverting({ rpc }: World, address: Hex): Promise<void> {
  // PUSH0 PUSH0 REVERT
  await rpc('anvil_setCode', [address, '0x5f5ffd'])
}

type Parts = { db: Db; url: string; world: World; signers: SimSigners; name: string }

function benchOf({ db, url, world, signers, name }: Parts): Bench {
  const clock = createTestClock(new Date(Date.UTC(2026, 0, 1)))
  const { signal } = new AbortController()
  let orders = 0
  const provider: Bench['provider'] = (name, intercept) =>
    providerOf(world, intercept === undefined ? { name } : { name, intercept })
  const honest = provider('honest', (call, forward) =>
    bench.intercept === undefined ? forward(call) : bench.intercept(call, forward),
  )
  const sender: Bench['sender'] = (parts = {}) =>
    senderOf({ db, providers: [honest], signers, clock, ...parts })
  const first = sender()
  const bench: Bench = {
    db,
    url,
    world,
    signers,
    clock,
    signal,
    intercept: undefined,
    provider,
    sender,
    requestOf: (payment) => ({
      subject: `${name}-${orders++}`,
      spender: 'user:1',
      route: 'direct',
      payer: undefined,
      payee: addressFrom(`${name} ${orders}`),
      amount: 1_000n,
      ...payment,
    }),
    pay: (payment) => first.pay(bench.requestOf(payment), signal),
    async pass(other = first) {
      clock.advance(5_000)
      await other.pass(signal)
    },
    async passAndMine() {
      await bench.pass()
      await world.mine(1)
    },
    async finish() {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        if (await bench.isEmpty()) return
        await bench.passAndMine()
      }
    },
    stateOf: async ({ id }) => (await findOrder(db, id))?.state,
    inPool: () => countPool(world),
    isEmpty: async () => (await readOpenOrders(db, CHAIN_ID)).count === 0,
    stop: async () => {
      await (await shared)?.stop()
      shared = undefined
    },
  }
  return bench
}

const MAX_ROUNDS = 40

async function countPool({ rpc }: World): Promise<number> {
  const { pending, queued } = (await rpc('txpool_status')) as { pending: string; queued: string }
  return Number(pending) + Number(queued)
}
