import type { Hex } from 'viem'

import { callRpc } from '../../../src/chain/rpc/rpc.ts'
import type { BreakKind } from '../../../src/domain/breaks.ts'
import type { Row } from '../../fixtures/books/reconcile.ts'
import { calls, type PaidChain } from '../../fixtures/books/verify.ts'
import { bareRow, settledRow, transferMany, type Settlement } from './paid-orders.ts'

/** Rows of a file, some of which the chain or its nodes contradict, each in one way. */
export type Injected = {
  rows: Row[]
  /** The kind that each of the bad ones is, by its id. */
  expected: Map<string, BreakKind>
  /** Of which a node has to lie for its record to be a break. */
  stale: ReadonlySet<Hex>
  disputed: ReadonlySet<Hex>
}

/** Bad records of every kind that a file can show, spread evenly among the good ones. */
export async function injectRecords(
  world: PaidChain,
  settlements: readonly Settlement[],
  ofEach: number,
): Promise<Injected> {
  const on = await makeStrange(world, { settled: settlements[0]!, ofEach })
  const bad = Object.entries(BAD).flatMap(([kind, make]) =>
    Array.from({ length: ofEach }, (_, index) => ({ kind: kind as BreakKind, make, index })),
  )
  const expected = new Map<string, BreakKind>()
  const rows: Row[] = []
  for (const [at, settlement] of settlements.entries()) {
    rows.push(settledRow(`TX${at}`, settlement))
    const isDue = Math.floor(((at + 1) * bad.length) / settlements.length)
    while (expected.size < isDue) {
      const { kind, make, index } = bad[expected.size]!
      const id = `BAD-${kind}-${index}`
      expected.set(id, kind)
      rows.push(make(id, settlement, { ...on, index }))
    }
  }
  return { rows, expected, stale: new Set(on.stale), disputed: new Set(on.disputed) }
}

/** What breaks need that is on the chain. */
type Strange = {
  reverted: Hex
  elsewhere: Settlement
  ours: Row
  others: Row
  stale: readonly Hex[]
  disputed: readonly Hex[]
}

async function makeStrange(
  world: PaidChain,
  of: { settled: Settlement; ofEach: number },
): Promise<Strange> {
  const { settlement, payee, chain } = world
  const ask = (method: string, ...params: unknown[]) =>
    callRpc({ url: chain.url, method, params, timeoutMs: 60_000 })
  const again = calls.settle(of.settled.reference, payee)
  const reverted = await world.send({ to: settlement, data: again, value: 5n })
  const other: Hex = `0x${'c0'.repeat(20)}`
  await ask('anvil_setCode', other, await ask('eth_getCode', settlement, 'latest'))
  const reference: Hex = `0x${'33'.repeat(32)}`
  const data = calls.settle(reference, payee)
  const hash = await world.send({ to: other, data, value: 5n })
  const stale = await transferMany(world, of.ofEach)
  const disputed = await transferMany(world, of.ofEach)
  const unrecorded = await world.send({ to: payee, value: 7n })
  await world.mine(5)
  const placeOf = async (hash: Hex): Promise<Row> => {
    const { nonce } = (await ask('eth_getTransactionByHash', hash)) as { nonce: Hex }
    return { from_address: world.payer, nonce: String(BigInt(nonce)) }
  }
  const [ours, others] = [await placeOf(of.settled.hash), await placeOf(unrecorded)]
  return { reverted, elsewhere: { hash, reference, payee }, ours, others, stale, disputed }
}

type Make = (id: string, near: Settlement, on: Strange & { index: number }) => Row

/** Of `unknown_outgoing` and `supply_drift` no file can tell. */
const BAD: Readonly<Partial<Record<BreakKind, Make>>> = {
  missing: (id, near) => lost(id, near),
  dropped: (id, near) => ({ ...lost(id, near), status: 'pending', created_at: '2020-01-01' }),
  reverted: (id, near, on) => settledRow(id, { ...near, hash: on.reverted }),
  replaced_by_ours: (id, near, on) => ({ ...lost(id, near), ...on.ours }),
  replaced_unknown: (id, near, on) => ({ ...lost(id, near), ...on.others }),
  wrong_amount: (id, near) => ({ ...settledRow(id, near), amount: '0.000000000000000006' }),
  wrong_recipient: (id, near) => ({ ...settledRow(id, near), to_address: `0x${'11'.repeat(20)}` }),
  wrong_contract: (id, _, on) => settledRow(id, on.elsewhere),
  wrong_hash: (id, near) => ({ ...settledRow(id, near), raw_transaction: '0x02c0' }),
  wrong_reference: (id, near) => ({ ...settledRow(id, near), reference: `0x${'22'.repeat(32)}` }),
  reorged: (id, near) => ({ ...settledRow(id, near), block_hash: ghost(id) }),
  stale_receipt: (id, _, on) => bareRow(id, on.stale[on.index]!),
  duplicate_payment: (id, near) => settledRow(id, near),
  fee_mismatch: (id, near) => ({ ...settledRow(id, near), gas_used: '1', gas_price: '1' }),
  state_lag: (id, near) => ({ ...settledRow(id, near), status: 'pending' }),
  provider_disagreement: (id, _, on) => bareRow(id, on.disputed[on.index]!),
}

function lost(id: string, near: Settlement): Row {
  return settledRow(id, { ...near, hash: ghost(id) })
}

/** A hash that nothing has. */
function ghost(id: string): Hex {
  return `0x${'ee'.repeat(16)}${Buffer.from(id).toString('hex').slice(-32).padStart(32, '0')}`
}
