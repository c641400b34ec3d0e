import { signedFor, type BundleRoute, type Hex, type Route } from '../../../src/domain/orders.ts'
import type { PreparedOrder } from '../../../src/sender/prepare.ts'
import { findNonce } from '../../../src/store/orders/lanes.ts'
import { findOrder, findOrderOf } from '../../../src/store/orders/orders.ts'
import type { Promised } from './check.ts'
import { survive } from './life.ts'
import type { Sim } from './life.ts'
import type { Ground } from './life.ts'
import { readFork } from './old-fork.ts'
import { addressFrom, CONFIRMATIONS, ETHER, toHex } from './world.ts'

/** What may happen to the sender, or be asked of it, and how likely each is beside the others. */
export const ACTS: Readonly<Record<string, { weight: number; act: (sim: Sim) => Promise<void> }>> =
  {
    pay: { weight: 3, act: pay },
    payTwice: { weight: 1, act: payTwice },
    payTogether: { weight: 1, act: payTogether },
    payBatch: { weight: 1, act: payBatch },
    payAgain: { weight: 1, act: payAgain },
    mine: { weight: 3, act: mine },
    reorg: { weight: 2, act: reorg },
    reorgUnheard: { weight: 1, act: reorgUnheard },
    drop: { weight: 1, act: drop },
    raisePrice: { weight: 1, act: raisePrice },
    useNonceOutside: { weight: 2, act: useNonceOutside },
    undoOutside: { weight: 1, act: undoOutside },
    payByHand: { weight: 1, act: payByHand },
    cancel: { weight: 1, act: cancel },
    takeFunds: { weight: 1, act: takeFunds },
    giveFunds: { weight: 2, act: giveFunds },
    breakPayee: { weight: 1, act: breakPayee },
    wait: { weight: 1, act: wait },
  }

async function pay(sim: Sim): Promise<void> {
  await request(sim, `TX${sim.name}-${sim.promised.length}`)
}

async function payTwice(sim: Sim): Promise<void> {
  await pay(sim)
  await pay(sim)
}

/** A client that got no answer asks again. */
async function payAgain(sim: Sim): Promise<void> {
  const { promised, random } = sim
  if (promised.length > 0) await request(sim, random.pick(promised).subject)
}

/** Requests that came at one time share one SQL transaction. */
async function payTogether(sim: Sim): Promise<void> {
  const { promised, random } = sim
  const { signal } = new AbortController()
  const { sender, db } = sim.worker(0)
  const payments = Array.from({ length: 2 + random.below(3) }, () => {
    return promise(sim, `TX${sim.name}-${promised.length}`)
  })
  await survive(async () => {
    const prepared: PreparedOrder[] = []
    for (const payment of payments) {
      const request = { ...payment, spender: 'sim', way: 'chain' as const }
      const one = await survive(() => sender.prepare(db, request, signal))
      if (one !== undefined) prepared.push(one)
    }
    const acceptances = await db
      .transaction()
      .execute((transaction) => sender.acceptNew(transaction, prepared))
    for (const acceptance of acceptances) {
      if (!acceptance.ok) continue
      const { order } = acceptance.value
      const told = promised.find(({ subject }) => subject === order.subject)
      if (told !== undefined) told.toldId = order.id
    }
  })
}

/** All or none of them, or each by itself; by few transactions, or by as many as small ones are. */
async function payBatch(sim: Sim): Promise<void> {
  const { promised, random, signers, name } = sim
  const { signal } = new AbortController()
  const payer = random.pick(signers.addresses)
  const subject = `BAT${name}-${promised.length}`
  const payments = Array.from({ length: 2 + random.below(5) }, () => {
    return promise(sim, `TX${name}-${promised.length}`, { payer, route: 'contract' })
  })
  const route = random.pick<BundleRoute>(['bundle', 'open_bundle'])
  const { sender, db } = sim.worker(0)
  const accepted = await survive(async () => {
    const batch = { subject, spender: 'sim', way: 'chain', payer, route, payments } as const
    const prepared = await sender.prepareBatch(db, batch, signal)
    return db.transaction().execute((transaction) => sender.accept(transaction, prepared))
  })
  if (accepted === undefined) return
  for (const payment of payments) {
    payment.toldId = (await findOrderOf(sim.db, payment.subject))?.id ?? -1n
  }
}

function promise(
  sim: Sim,
  subject: string,
  parts: Partial<Pick<Promised, 'payer' | 'route'>> = {},
): Promised {
  const { random, signers, promised } = sim
  const payment: Promised = {
    subject,
    route: random.pick<Route>(['direct', 'contract']),
    payer: random.chance(0.5) ? random.pick(signers.addresses) : undefined,
    payee: addressFrom(`payee ${sim.seed} ${random.chance(0.2) ? 0 : promised.length}`),
    amount: BigInt(1 + random.below(1_000_000)) * 10n ** 12n,
    ...parts,
  }
  promised.push(payment)
  return payment
}

async function request(sim: Sim, subject: string): Promise<void> {
  const { promised } = sim
  const earlier = promised.find((one) => one.subject === subject)
  const payment = earlier ?? promise(sim, subject)
  const { signal } = new AbortController()
  const ask = () =>
    survive(() =>
      sim.worker(0).sender.pay({ ...payment, spender: 'sim', way: 'chain' as const }, signal),
    )
  // Where no answer came, the client asks again at once, or some time later.
  const accepted = (await ask()) ?? (sim.random.chance(0.5) ? await ask() : undefined)
  const told = promised.find((one) => one.subject === subject)
  if (told !== undefined && accepted !== undefined) told.toldId = accepted.order.id
}

export async function mine(sim: Ground): Promise<void> {
  await sim.world.mine(sim.random.pick([1, 1, 2, 3, 12]))
}

/** Takes blocks away that are not final; their transactions are lost, or return to the node. */
export async function reorg(sim: Ground): Promise<void> {
  const { random } = sim
  const depth = random.chance(0.3) ? CONFIRMATIONS - 1 : 1 + random.below(8)
  await takeBlocks(sim, { depth, isLost: random.chance(0.5) })
}

/** What it took would be final by now where a node has not heard of it. */
async function reorgUnheard(sim: Ground): Promise<void> {
  await takeBlocks(sim, { depth: CONFIRMATIONS - 1, isLost: true, isUnheard: true })
  await sim.world.mine(CONFIRMATIONS)
}

async function takeBlocks(
  { world, random, faults }: Ground,
  { depth, isLost, isUnheard }: { depth: number; isLost: boolean; isUnheard?: boolean },
): Promise<void> {
  const head = await world.head()
  // For a while, a node may not have heard of it.
  faults.fork =
    isUnheard || random.chance(0.5) ? await readFork(world, head - depth + 1, head) : undefined
  const raws: unknown[] = []
  for (let number = head - depth + 1; number <= head; number++) {
    const block = (await world.rpc('eth_getBlockByNumber', [toHex(number), false])) as {
      transactions: string[]
    }
    for (const hash of block.transactions) {
      raws.push(await world.rpc('eth_getRawTransactionByHash', [hash]))
    }
  }
  await world.rpc('anvil_reorg', [depth, []])
  if (isLost) return
  for (const raw of raws) await world.rpc('eth_sendRawTransaction', [raw]).catch(() => undefined)
}

export async function drop({ world }: Ground): Promise<void> {
  await world.rpc('anvil_dropAllTransactions')
}

export async function raisePrice({ world, random }: Ground): Promise<void> {
  const gwei = random.pick([5, 20, 100])
  await world.rpc('anvil_setNextBlockBaseFeePerGas', [toHex(BigInt(gwei) * 10n ** 9n)])
  await world.mine(1)
}

/** Somebody else has the key as well, and takes the next nonce with a transaction of their own. */
export async function useNonceOutside(sim: Ground): Promise<void> {
  const signer = sim.random.pick(sim.signers.addresses)
  const nonce = await sim.world.nonceOf(signer)
  await sendOutside(sim, { signer, nonce, to: addressFrom(`outside ${sim.seed}`), value: 1n })
}

/** Or pays by hand what is on its way at that nonce. */
async function payByHand(sim: Sim): Promise<void> {
  const signer = sim.random.pick(sim.signers.addresses)
  const nonce = await sim.world.nonceOf(signer)
  const found = await findNonce(sim.db, { chainId: sim.world.chainId, signer, nonce })
  const order = found?.orderId === undefined ? undefined : await findOrder(sim.db, found.orderId)
  if (order?.route !== 'direct') return
  await sendOutside(sim, { signer, nonce, to: order.payee, value: order.amount })
}

async function sendOutside(
  { world, random, signers, clock }: Ground,
  call: { signer: Hex; nonce: bigint; to: Hex; value: bigint },
): Promise<void> {
  const { signer, ...rest } = call
  const price = 200n * 10n ** 9n
  const raw = await signers.sign(signer, {
    ...rest,
    chainId: world.chainId,
    data: '0x',
    gas: 21_000n,
    fees: {
      maxFeePerGas: price + BigInt(clock.now().getTime() % 1000),
      maxPriorityFeePerGas: price,
    },
  })
  await world.rpc('eth_sendRawTransaction', [raw]).catch(() => undefined)
  if (random.chance(0.7)) await world.mine(1)
}

/** Somebody else's transaction takes a nonce, and its block is gone before it is final. */
async function undoOutside(sim: Ground): Promise<void> {
  const before = await sim.world.head()
  await useNonceOutside(sim)
  await mine(sim)
  const depth = (await sim.world.head()) - before
  if (depth < 10) await takeBlocks(sim, { depth, isLost: true })
}

async function cancel(sim: Sim): Promise<void> {
  if (sim.promised.length === 0) return
  const order = await findOrderOf(sim.db, sim.random.pick(sim.promised).subject)
  if (order !== undefined) await survive(() => sim.worker(0).sender.cancel(signedFor(order)))
}

/** The signer is left with less than the orders need, until the run comes to rest. */
export async function takeFunds({ world, random, signers }: Ground): Promise<void> {
  const left = random.pick([0n, ETHER / 100n])
  await world.rpc('anvil_setBalance', [random.pick(signers.addresses), toHex(left)])
}

export async function giveFunds({ world, signers }: Ground): Promise<void> {
  for (const signer of signers.addresses) {
    await world.rpc('anvil_setBalance', [signer, toHex(1_000n * ETHER)])
  }
}

/** From now on the payee refuses money, whatever was simulated for the order. */
async function breakPayee({ world, random, promised }: Sim): Promise<void> {
  if (promised.length === 0) return
  const { payee } = random.pick(promised)
  // PUSH0 PUSH0 REVERT
  await world.rpc('anvil_setCode', [payee, '0x5f5ffd'])
}

export async function wait({ clock, random }: Ground): Promise<void> {
  clock.advance(random.below(60_000))
  await Promise.resolve()
}
