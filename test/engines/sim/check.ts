import { sql } from 'kysely'
import { encodeEventTopics } from 'viem'

import { settlementAbi } from '../../../src/bindings/abis.ts'
import { settlementAddress } from '../../../src/bindings/addresses.ts'
import type { Attempt, Hex, Order, Route } from '../../../src/domain/orders.ts'
import { listStanding } from '../../../src/sender/slots.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { listAttemptsOf } from '../../../src/store/orders/attempts.ts'
import { readCursor } from '../../../src/store/orders/chain-cursor.ts'
import { findOrderOf, readOpenOrders } from '../../../src/store/orders/orders.ts'
import { TEST_POLICY } from '../../fixtures/books/sender.ts'
import { CONFIRMATIONS, toHex, type World } from './world.ts'

/** What was asked of the sender; `toldId` is the order that it said it accepted. */
export type Promised = {
  subject: string
  route: Route
  payer: Hex | undefined
  payee: Hex
  amount: bigint
  toldId?: bigint
}

export type Checked = {
  db: Db
  world: World
  signers: readonly Hex[]
  promised: readonly Promised[]
  sent: ReadonlySet<string>
  /** The block that the run began at. */
  since: number
}

/** Holds the tables against the chain itself. Every sentence is something that must not be. */
export async function wrongsOf(checked: Checked): Promise<string[]> {
  const orders = await ordersOf(checked)
  const code = await checked.world.rpc('eth_getCode', [settlementAddress, 'latest'])
  return [
    ...(code === '0x' ? ['the settlement contract is gone from the chain'] : []),
    ...(await wrongsOfOrders(checked, orders)),
    ...(await wrongsOfPayees(checked, orders)),
    ...(await wrongsOfLanes(checked, orders)),
    ...(await wrongsOfSent(checked)),
  ]
}

/** What may not be at any time, whatever becomes of it later. */
export async function wrongsNow({ db, world }: Pick<Checked, 'db' | 'world'>): Promise<string[]> {
  const final = (await world.head()) - CONFIRMATIONS + 1
  const { rows } = await sql<{ nonce: bigint; by: string; state: string }>`
    select nonce, taken_by as by, state from lane_nonces
    where chain_id = ${world.chainId} and state <> 'open'`.execute(db)
  const wrongs: string[] = []
  for (const { nonce, by, state } of rows) {
    const receipt = (await world.rpc('eth_getTransactionReceipt', [by])) as Placed | null
    if (receipt === null) wrongs.push(`nonce ${nonce} is ${state} by ${by}, which is in no block`)
    else if (Number(receipt.blockNumber) > final) {
      wrongs.push(`nonce ${nonce} is ${state} by ${by}, which is not final`)
    }
  }
  return wrongs
}

type Placed = { blockNumber: string; blockHash: string; status: string }

/** What is sent was stored before, at a price that nodes take, and not too much at a time. */
async function wrongsOfSent({ db, world, sent }: Checked): Promise<string[]> {
  const { rows } = await sql<{
    hash: string
    nonce: bigint
    signer: string
    fee: string
    tip: string
  }>`
    select hash, nonce, signer, max_fee_per_gas::text as fee, max_priority_fee_per_gas::text as tip
    from attempts where chain_id = ${world.chainId} order by id`.execute(db)
  const stored = new Set(rows.map(({ hash }) => hash))
  const wrongs = [...sent]
    .filter((hash) => !stored.has(hash))
    .map((hash) => `${hash} was sent and is not stored`)
  for (const some of Map.groupBy(rows, ({ signer, nonce }) => `${signer} ${nonce}`).values()) {
    for (const [place, { hash, fee, tip }] of some.entries()) {
      const before = some[place - 1]
      if (BigInt(fee) > TEST_POLICY.maxFeePerGas) wrongs.push(`${hash} costs more than the policy`)
      if (before === undefined) continue
      const isBumped =
        BigInt(fee) * 100n >= BigInt(before.fee) * 115n &&
        BigInt(tip) * 100n >= BigInt(before.tip) * 115n
      if (!isBumped) wrongs.push(`${hash} replaces ${before.hash} by less than 15 % more`)
    }
  }
  return wrongs
}

export async function countOpenOrders(db: Db, { chainId }: World): Promise<number> {
  return (await readOpenOrders(db, chainId)).count
}

/** What became of the orders and of everything that was signed for them. */
export async function countStates(
  checked: Pick<Checked, 'db' | 'world' | 'promised'>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = { 'orders asked for': checked.promised.length }
  const add = (name: string): void => void (counts[name] = (counts[name] ?? 0) + 1)
  for (const order of await ordersOf(checked)) {
    add(`orders ${order.state}${order.errorCode === undefined ? '' : ` (${order.errorCode})`}`)
    const attempts = await listAttemptsOf(checked.db, order)
    for (const { kind, state } of attempts) add(`attempts ${kind} ${state}`)
    const nonces = new Set(attempts.map(({ nonce }) => nonce)).size
    for (let moved = 1; moved < nonces; moved++) add('orders moved to another nonce')
  }
  const cursor = await readCursor(checked.db, checked.world.chainId)
  counts['reorgs noticed'] = Number(cursor?.reorgs ?? 0n)
  return counts
}

async function ordersOf({ db, promised }: Pick<Checked, 'db' | 'promised'>): Promise<Order[]> {
  const orders = await Promise.all(promised.map(({ subject }) => findOrderOf(db, subject)))
  return orders.filter((order) => order !== undefined)
}

async function wrongsOfOrders(checked: Checked, orders: Order[]): Promise<string[]> {
  const wrongs = checked.promised
    .filter(({ subject, toldId }) => {
      const order = orders.find((one) => one.subject === subject)
      return toldId !== undefined && order?.id !== toldId
    })
    .map(({ subject }) => `${subject} was accepted and is not stored`)
  for (const order of orders) {
    if (order.chainId !== checked.world.chainId) {
      wrongs.push(`${order.subject} is an order of the chain ${order.chainId}`)
    }
    if (order.state === 'accepted' || order.state === 'mined') {
      wrongs.push(`${order.subject} is ${order.state} for ever`)
    }
    const attempts = await listAttemptsOf(checked.db, order)
    for (const attempt of attempts) wrongs.push(...(await wrongsOfAttempt(checked, attempt)))
    wrongs.push(...wrongsOfState(order, attempts))
    if (order.route === 'contract') wrongs.push(...(await wrongsOfEvents(checked, order)))
  }
  return wrongs
}

function wrongsOfState(order: Order, attempts: Attempt[]): string[] {
  const paying = attempts.filter(
    ({ kind, state, block }) => kind === 'payment' && state === 'final' && block?.succeeded,
  )
  // What an open bundle could not pay, the transaction that paid the others says.
  const isTold = order.state === 'completed' || order.errorCode === 'payee_refused'
  const expected = isTold ? 1 : 0
  return paying.length === expected
    ? []
    : [`${order.subject} is ${toldOf(order)} with ${paying.length} payments`]
}

function toldOf({ state, route, errorCode }: Order): string {
  return `${state} (${[route, errorCode].filter(Boolean).join(', ')})`
}

async function wrongsOfAttempt({ world }: Checked, attempt: Attempt): Promise<string[]> {
  const receipt = (await world.rpc('eth_getTransactionReceipt', [attempt.hash])) as {
    blockHash: string
    status: string
  } | null
  const { hash, state, block } = attempt
  const isMined = receipt !== null
  if (isMined !== (state === 'final')) return [`${hash} is ${state}, but mined: ${isMined}`]
  if (!isMined) return []
  const isSame = receipt.blockHash === block?.hash && (receipt.status === '0x1') === block.succeeded
  return isSame ? [] : [`${hash} is said to be in ${block?.hash}, but is in ${receipt.blockHash}`]
}

const [SETTLED] = encodeEventTopics({ abi: settlementAbi, eventName: 'Settled' })

async function wrongsOfEvents({ world, since }: Checked, order: Order): Promise<string[]> {
  const filter = {
    address: settlementAddress,
    fromBlock: toHex(since),
    topics: [SETTLED, order.reference],
  }
  const logs = (await world.rpc('eth_getLogs', [filter])) as unknown[]
  const expected = order.state === 'completed' ? 1 : 0
  return logs.length === expected ? [] : [`${order.subject} settled ${logs.length} times`]
}

async function wrongsOfPayees(checked: Checked, orders: Order[]): Promise<string[]> {
  const { world } = checked
  const wrongs: string[] = []
  const byHand = await paidByHand(checked)
  for (const [payee, group] of Map.groupBy(orders, (order) => order.payee)) {
    const due = group
      .filter(({ id, state }) => state === 'completed' || byHand.has(id))
      .reduce((sum, { amount }) => sum + amount, 0n)
    const held = await world.balanceOf(payee)
    if (held !== due) wrongs.push(`${payee} should hold ${due}, and holds ${held}`)
  }
  return wrongs
}

/** The orders that failed because their signer had paid them outside of the platform. */
async function paidByHand({ db, world }: Checked): Promise<ReadonlySet<bigint>> {
  const { rows } = await sql<{ id: bigint; by: string }>`
    select orders.id, taken_by as by from orders join lane_nonces on order_id = orders.id
    where orders.chain_id = ${world.chainId}
      and error_code = 'nonce_taken_by_like_payment' and lane_nonces.state = 'foreign'
    order by nonce`.execute(db)
  const paid = new Set<bigint>()
  for (const [id, taken] of Map.groupBy(rows, (row) => row.id)) {
    const last = taken.at(-1)?.by
    const receipt = (await world.rpc('eth_getTransactionReceipt', [last])) as Placed | null
    if (receipt?.status === '0x1') paid.add(id)
  }
  return paid
}

async function wrongsOfLanes(checked: Checked, orders: Order[]): Promise<string[]> {
  const { db, world, signers } = checked
  const wrongs: string[] = []
  for (const signer of signers) {
    const own = orders.filter((order) => order.signer === signer)
    const attempts = await Promise.all(own.map((order) => listAttemptsOf(db, order)))
    const used = await world.nonceOf(signer)
    const gaps = attempts.flat().filter(({ nonce }) => nonce >= used)
    if (gaps.length > 0) wrongs.push(`${signer} has signed beyond the nonce ${used}`)
    const standing = await listStanding(db, [{ chainId: world.chainId, signer }], 1)
    const lowest = standing.get(signer)?.lowest
    if (lowest !== undefined) wrongs.push(`${signer} has the nonce ${lowest.nonce} open for ever`)
  }
  return wrongs
}
