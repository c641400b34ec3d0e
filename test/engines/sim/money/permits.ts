import { sql } from 'kysely'

import { settlementAddress } from '../../../../src/bindings/addresses.ts'
import { selectorOf } from '../../../../src/chain/read/events.ts'
import type { Hex, Order } from '../../../../src/domain/orders.ts'
import type { PreparedOrder } from '../../../../src/sender/prepare.ts'
import { listAttemptsOf } from '../../../../src/store/orders/attempts.ts'
import { findOrderOf } from '../../../../src/store/orders/orders.ts'
import { survive } from '../life.ts'
import { CONFIRMATIONS } from '../world.ts'
import { promise, sendFromOutside } from './acts.ts'
import type { MoneySim } from './sim.ts'

/** Several are prepared beside each other, and accepted at once or long after one another. */
export async function payOutLate(sim: MoneySim): Promise<void> {
  const { random, custodian } = sim
  const { signal } = new AbortController()
  const prepared: { payout: MoneySim['payouts'][number]; order: PreparedOrder }[] = []
  for (let count = 2 + random.below(2); count > 0; count--) {
    const payout = promise(sim)
    const { subject, payee, amount } = payout
    const order = await survive(() => {
      const { db, sender } = sim.living()
      const by = { payer: custodian, route: 'token', withAllowance: true } as const
      const request = { subject, spender: 'sim', way: 'chain', payee, amount, ...by } as const
      return sender.prepare(db, request, signal)
    })
    if (order !== undefined) prepared.push({ payout, order })
  }
  const isTogether = random.chance(0.4)
  const groups = isTogether ? [prepared] : prepared.map((one) => [one])
  for (const group of groups) {
    const results = await survive(() => {
      const { db, sender } = sim.living()
      const orders = group.map(({ order }) => order)
      return db.transaction().execute((open) => sender.acceptNew(open, orders))
    })
    for (const [place, { payout }] of group.entries()) {
      payout.isTold = results?.[place]?.ok === true
    }
    if (random.chance(0.7)) await settleDown(sim)
  }
}

/** What was accepted becomes final, unless faults are in its way. */
async function settleDown({ clock, living, world }: MoneySim): Promise<void> {
  const { signal } = new AbortController()
  for (let pass = 0; pass < 3; pass++) {
    clock.advance(5_000)
    await survive(() => living().sender.pass(signal))
    await world.mine(CONFIRMATIONS)
  }
}

/** Whoever sees a permit can use it ahead of its payment. */
export async function usePermit(sim: MoneySim): Promise<void> {
  const { db, random, custodian, dollar, usedPermits } = sim
  const { rows } = await sql<{ subject: string; calldata: Hex }>`
    select subject, calldata from orders
    where route = 'permit' and state in ('accepted', 'mined') order by id`.execute(db)
  if (rows.length === 0) return
  const { subject, calldata } = random.pick(rows)
  const [, , , amount, ...signature] = calldata.slice(10).match(/.{64}/g) ?? []
  const words = [custodian, settlementAddress].map((one) => one.slice(2).padStart(64, '0'))
  const permit = selectorOf('permit(address,address,uint256,uint256,uint8,bytes32,bytes32)')
  const data: Hex = `${permit}${[...words, amount, ...signature].join('').toLowerCase()}`
  usedPermits.push(subject)
  await sendFromOutside(sim, { to: dollar, value: 0n, data, gas: 200_000n })
}

/** By what the tokens were let be taken, and what became of it. */
export async function countPermits({ db, usedPermits }: MoneySim): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string; count: number }>`
    select 'payments by ' || route || ' ' || state as name, count(*)::int as count
    from orders where route in ('permit', 'token') and bundle is null
    group by route, state`.execute(db)
  const counts = Object.fromEntries(rows.map(({ name, count }) => [name, count]))
  return { ...counts, 'permits used ahead': usedPermits.length }
}

/**
 * No payment fails because of a permit or an allowance that another one has used up or replaced,
 * and where nothing has failed, nothing more may be taken than was paid.
 */
export async function wrongsOfPermits(sim: MoneySim): Promise<string[]> {
  const wrongs: string[] = []
  const orders: Order[] = []
  for (const { subject } of sim.payouts) {
    const order = await findOrderOf(sim.db, subject)
    if (order !== undefined) orders.push(order)
  }
  for (const order of orders) {
    if (order.errorCode !== 'reverted' || !(await wasLetTake(sim, order))) continue
    const answer = await revertOf(sim, order)
    if (TAKING.includes(answer.slice(0, 10))) {
      wrongs.push(`${order.subject} had its ${order.route}, and was refused with ${answer}`)
    }
  }
  const isWhole = orders.every(({ state }) => state === 'completed')
  const left = await allowanceOf(sim)
  if (isWhole && left > 0n) wrongs.push(`all was paid, and ${left} more may be taken`)
  return wrongs
}

const TAKING = [
  selectorOf('PermitRefused(address,address,uint256,uint256)'),
  selectorOf('ERC20InsufficientAllowance(address,uint256,uint256)'),
].map(String)

/** Whether nobody outside of the platform has kept it from its tokens. */
async function wasLetTake({ db, usedPermits }: MoneySim, order: Order): Promise<boolean> {
  for (const subject of usedPermits) {
    // A permit whose own payment never came uses up what the next one was signed for.
    if ((await findOrderOf(db, subject))?.state !== 'completed') return false
  }
  if (order.route !== 'token') return order.route === 'permit'
  const allowance = await findOrderOf(db, `${order.subject}-allowance`)
  if (allowance?.state !== 'completed') return false
  const [paid, allowed] = [await minedOf(db, order), await minedOf(db, allowance)]
  return paid !== undefined && allowed !== undefined && allowed.nonce < paid.nonce
}

async function minedOf(db: MoneySim['db'], order: Order) {
  return (await listAttemptsOf(db, order)).find(({ block }) => block !== undefined)
}

async function revertOf({ db, world }: MoneySim, order: Order): Promise<string> {
  const mined = await minedOf(db, order)
  const tracing = [mined?.hash, { tracer: 'callTracer' }]
  const { output } = (await world.rpc('debug_traceTransaction', tracing)) as { output?: string }
  return output ?? ''
}

async function allowanceOf({ world, dollar, custodian }: MoneySim): Promise<bigint> {
  const words = [custodian, settlementAddress].map((one) => one.slice(2).padStart(64, '0'))
  const data = `${selectorOf('allowance(address,address)')}${words.join('').toLowerCase()}`
  return BigInt(String(await world.rpc('eth_call', [{ to: dollar, data }, 'latest'])))
}
