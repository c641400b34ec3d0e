import { sql } from 'kysely'

import { burnCalldata } from '../../../../src/chain/burn.ts'
import { grantCall } from '../../../../src/deploy/minter.ts'
import { NOBODY, type Hex } from '../../../../src/domain/orders.ts'
import { createMint } from '../../../../src/ledger/mints.ts'
import { createRedeem, newReference } from '../../../../src/ledger/redeems.ts'
import { moveByWire } from '../../../../src/ledger/wires.ts'
import { createWithdrawal } from '../../../../src/ledger/withdrawals.ts'
import { transact } from '../../../../src/store/database/transact.ts'
import { findOrderOf } from '../../../../src/store/orders/orders.ts'
import { recordTransaction } from '../../../../src/store/transactions/transactions.ts'
import type { Random } from '../../../fixtures/random.ts'
import { survive } from '../life.ts'
import { addressFrom, CHAIN_ID, GWEI } from '../world.ts'
import type { MoneySim } from './sim.ts'

const USD = 'USD' as const

function createUuid({ bytes }: Random): string {
  return bytes(16)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** As the endpoint does it: the chain is asked, then order, mint and hold are one transaction. */
export async function mint(sim: MoneySim, to?: Hex): Promise<void> {
  const { random, holders, minter, custodian, ledger, userId, wallet: walletId } = sim
  const { db, sender } = sim.living()
  const id = createUuid(random)
  const address = to ?? random.pick([...holders.addresses, custodian, custodian])
  const amount = BigInt(1 + random.below(20)) * 500_000n
  const { signal } = new AbortController()
  const made = await survive(async () => {
    const order = {
      subject: id,
      spender: `user:${userId}`,
      way: 'mint',
      payee: address,
      amount,
    } as const
    const prepared = await sender.prepare(db, { ...order, route: 'mint', payer: minter }, signal)
    return db.transaction().execute(async (open) => {
      const { order: accepted, hash: transactionHash } = await sender.accept(open, prepared)
      const money = { kind: 'mint', id, userId, walletId, amount, currency: USD } as const
      const { reference } = accepted
      const chain = {
        chain: 'ETH',
        chainId: CHAIN_ID,
        address,
        addressId: undefined,
        reference,
        transactionHash,
      }
      return createMint(ledger, open, { ...money, ...chain })
    })
  })
  if (made !== undefined) sim.toldMints.push(made.id)
}

export async function redeem(sim: MoneySim): Promise<void> {
  const { random, ledger, userId, wallet: walletId, toldRedeems } = sim
  const amount = BigInt(1 + random.below(6)) * 500_000n
  const made = await survive(() =>
    sim
      .living()
      .db.transaction()
      .execute((open) => {
        const money = { kind: 'redeem', userId, walletId, amount, currency: USD } as const
        const chain = { chain: 'ETH', chainId: CHAIN_ID, address: undefined, destination: {} }
        return createRedeem(ledger, open, { ...money, ...chain })
      }),
  )
  if (made !== undefined) toldRedeems.push({ id: made.id, reference: made.reference, amount })
}

/** As the endpoint does it: the order of the burn and the redeem are one transaction. */
export async function redeemOwn(sim: MoneySim): Promise<void> {
  const { random, custodian, ledger, userId, wallet: walletId } = sim
  const { db, sender } = sim.living()
  const [id, reference] = [createUuid(random), newReference({ randomBytes: random.bytes })]
  const amount = BigInt(1 + random.below(6)) * 500_000n
  const { signal } = new AbortController()
  const made = await survive(async () => {
    const order = { subject: id, spender: `user:${userId}`, payer: custodian, amount, reference }
    const burn = { ...order, way: 'wire', route: 'burn', payee: NOBODY } as const
    const prepared = await sender.prepare(db, burn, signal)
    return db.transaction().execute(async (open) => {
      await sender.accept(open, prepared)
      const money = { kind: 'redeem', id, userId, walletId, amount, currency: USD } as const
      const chain = {
        chain: 'ETH',
        chainId: CHAIN_ID,
        address: custodian,
        reference,
        destination: {},
      }
      return createRedeem(ledger, open, { ...money, ...chain })
    })
  })
  if (made !== undefined) sim.toldOwnRedeems.push(made.id)
}

/** In dollars, by a plain transfer or through the contract with its allowance. */
export async function payOut(sim: MoneySim): Promise<void> {
  const { random, custodian } = sim
  const { db, sender } = sim.living()
  const payout = promise(sim)
  const { subject, payee, amount } = payout
  const route = random.pick([
    { route: 'transfer' },
    { route: 'token', withAllowance: true },
  ] as const)
  const { signal } = new AbortController()
  const accepted = await survive(async () => {
    const request = { subject, spender: 'sim', payer: custodian, payee, amount, ...route }
    const prepared = await sender.prepare(db, { ...request, way: 'chain' }, signal)
    return db.transaction().execute((open) => sender.accept(open, prepared))
  })
  payout.isTold = accepted !== undefined
}

/** As the endpoint does it: order, record and held money are one transaction. */
export async function withdraw(sim: MoneySim): Promise<void> {
  const { random, ledger, seed, userId, wallet: walletId, withdrawals } = sim
  const { db, withdrawing } = sim.living()
  const subject = `TX${String(seed * 1_000 + withdrawals.length).padStart(20, '0')}`
  const withdrawal = { subject, payee: addressFrom(`withdrawal ${subject}`), isTold: false }
  withdrawals.push(withdrawal)
  const { payee } = withdrawal
  const amount = BigInt(1 + random.below(8)) * 250_000n
  const made = await survive(async () => {
    const order = { subject, spender: `user:${userId}`, payee, amount }
    const prepared = await withdrawing.prepare(db, order)
    return transact(db, async (open) => {
      const { order: accepted, hash: transactionHash } = await withdrawing.accept(open, prepared)
      const money = { userId, amount, currency: USD } as const
      const record = { ...money, transactionId: subject, type: 'withdrawal' as const }
      const cause = { description: 'sim', actor: 'sim', reason: 'asked for' }
      await recordTransaction(open, { ...record, ...cause, ethTransactionHash: transactionHash })
      const chain = {
        chain: 'ETH',
        chainId: CHAIN_ID,
        address: payee,
        reference: accepted.reference,
        transactionHash,
      }
      const asked = { kind: 'withdrawal', ...money, walletId, transactionId: subject } as const
      return createWithdrawal(ledger, open, { ...asked, ...chain })
    })
  })
  withdrawal.isTold = made !== undefined
}

export async function depositEther(sim: MoneySim): Promise<void> {
  const value = BigInt(1 + sim.random.below(1_000))
  await sendFromOutside(sim, { to: sim.custodian, value, data: '0x', gas: 21_000n })
}

export async function depositDollars(sim: MoneySim): Promise<void> {
  // What the platform has pays withdrawals.
  const to = sim.random.pick([sim.custodian, sim.minter])
  const words = [to.slice(2), (1 + sim.random.below(2_000_000)).toString(16)]
  const data: Hex = `0xa9059cbb${words.map((word) => word.padStart(64, '0')).join('')}`
  await sendFromOutside(sim, { to: sim.dollar, value: 0n, data, gas: 200_000n })
}

/** By one of the holders, who are no users. */
export async function sendFromOutside(
  { world, random, holders }: MoneySim,
  call: { to: Hex; value: bigint; data: Hex; gas: bigint },
): Promise<void> {
  const holder = random.pick(holders.addresses)
  const fees = { maxFeePerGas: 300n * GWEI, maxPriorityFeePerGas: GWEI }
  const nonce = await world.nonceOf(holder)
  const raw = await holders.sign(holder, { ...call, chainId: CHAIN_ID, nonce, fees })
  await world.rpc('eth_sendRawTransaction', [raw]).catch(() => undefined)
  if (random.chance(0.7)) await world.mine(1)
}

/** By bundles: all or none of them, or each by itself. */
export async function payOutTogether(sim: MoneySim): Promise<void> {
  const { random, custodian, seed, payouts } = sim
  const { db, sender } = sim.living()
  const subject = `batch-${seed}-${payouts.length}`
  const payments = Array.from({ length: 2 + random.below(3) }, () => promise(sim))
  const route = random.pick(['token_bundle', 'open_token_bundle', 'open_token_bundle'] as const)
  const { signal } = new AbortController()
  const accepted = await survive(async () => {
    const request = { subject, spender: 'sim', payer: custodian, route, payments }
    const prepared = await sender.prepareBatch(db, { ...request, way: 'chain' }, signal)
    return db.transaction().execute((open) => sender.accept(open, prepared))
  })
  for (const payment of payments) payment.isTold = accepted !== undefined
}

export function promise({ random, seed, payouts }: MoneySim): MoneySim['payouts'][number] {
  // Under the id of a transaction, as the API pays; a transfer under another id is a redeem's.
  const subject = `TX${String(seed * 1_000 + 500 + payouts.length).padStart(20, '0')}`
  const payee = addressFrom(`${subject} of money`)
  const amount = BigInt(1 + random.below(4)) * 250_000n
  const payout = { subject, payee, amount, isTold: false }
  payouts.push(payout)
  return payout
}

/** From now on the token refuses a payee, whatever was simulated for the order; or no more. */
export async function freeze({ random, payouts, withdrawals, asAdmin }: MoneySim): Promise<void> {
  const latest = [...payouts.slice(-3), ...withdrawals.slice(-2)]
  if (latest.length === 0) return
  const { payee } = random.pick(latest)
  await asAdmin(random.chance(0.8) ? 'freeze(address)' : 'unfreeze(address)', payee)
}

/** As ordered, by one of the holders; maybe a second time, by the other one as well. */
export async function burn(sim: MoneySim): Promise<void> {
  const { random, toldRedeems } = sim
  if (toldRedeems.length === 0) return
  const { reference, amount } = random.pick(toldRedeems)
  await sendBurn(sim, { memo: reference, amount })
}

/** Another amount than was ordered, or for nothing at all. */
export async function burnOtherwise(sim: MoneySim): Promise<void> {
  const { random, toldRedeems } = sim
  const isOrdered = toldRedeems.length > 0 && random.chance(0.5)
  const other: Hex = `0x${random
    .below(2 ** 32)
    .toString(16)
    .padStart(64, '0')}`
  const memo = isOrdered ? random.pick(toldRedeems).reference : other
  await sendBurn(sim, { memo, amount: 250_000n })
}

async function sendBurn(
  { world, random, holders, dollar }: MoneySim,
  { memo, amount }: { memo: Hex; amount: bigint },
): Promise<void> {
  const holder = random.pick(holders.addresses)
  const raw = await holders.sign(holder, {
    chainId: CHAIN_ID,
    nonce: await world.nonceOf(holder),
    to: dollar,
    value: 0n,
    data: burnCalldata({ amount, memo }),
    gas: 200_000n,
    fees: { maxFeePerGas: 500n * GWEI, maxPriorityFeePerGas: GWEI },
  })
  await world.rpc('eth_sendRawTransaction', [raw]).catch(() => undefined)
  if (random.chance(0.7)) await world.mine(1)
}

/** The bank tells of a wire what it has told before, or something new, once or twice. */
export async function moveBank(sim: MoneySim): Promise<void> {
  const { db, random, ledger } = sim
  const { rows } = await sql<{ subject: string }>`
    select subject from wires where purpose = 'redeem' order by id`.execute(db)
  if (rows.length === 0) return
  const { subject } = random.pick(rows)
  const state = random.pick(['accepted', 'paid', 'paid', 'returned'] as const)
  const move = { purpose: 'redeem', subject, state, reference: 'FED', code: undefined } as const
  for (let told = 0; told < 1 + random.below(2); told++) {
    await survive(() =>
      sim
        .living()
        .db.transaction()
        .execute((open) => moveByWire(ledger, open, move)),
    )
  }
}

export async function mineToFinal({ world }: MoneySim): Promise<void> {
  await world.mine(12)
}

export async function cancel(sim: MoneySim): Promise<void> {
  const paid = [...sim.payouts, ...sim.withdrawals].map(({ subject }) => subject)
  const told = [...sim.toldMints, ...sim.toldOwnRedeems, ...paid]
  if (told.length === 0) return
  const order = await findOrderOf(sim.db, sim.random.pick(told))
  if (order !== undefined) await survive(() => sim.living().sender.cancel(order.id))
}

/** The minter may mint nothing any more, or again: what was simulated well reverts. */
export async function turnMinter({
  world,
  random,
  dollar: token,
  minter,
}: MoneySim): Promise<void> {
  const [admin] = (await world.rpc('eth_accounts')) as [Hex]
  const allowance = random.pick([0n, 10n ** 15n])
  const call = { from: admin, gas: '0x989680', ...grantCall({ token, minter, allowance }) }
  await world.rpc('eth_sendTransaction', [call]).catch(() => undefined)
  await world.mine(1)
}
