import type { Redeem } from '../domain/ledger.ts'
import type { HashedOrder, Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { post } from '../store/ledger/ledger.ts'
import {
  insertRedeem,
  listExpired,
  moveTransfer,
  type NewRedeem,
} from '../store/ledger/transfers.ts'
import type { WireProgress } from '../store/rails/wires.ts'
import type { LedgerContext } from './context.ts'

/** How long a holder has to burn. */
export const REDEEM_MS = 24 * 3_600_000

/** A burn that was signed here may be stuck for long, and its money is owed all the same. */
const SIGNED_REDEEM_MS = 365 * REDEEM_MS

/** Nothing is held: the money comes from the chain, when somebody burns it with the reference. */
export async function createRedeem(
  context: LedgerContext,
  db: Db,
  request: Omit<NewRedeem, 'reference' | 'expiresAt'> & { reference?: Hex | undefined },
): Promise<Redeem> {
  const { reference = newReference(context), id } = request
  const lifeMs = id === undefined ? REDEEM_MS : SIGNED_REDEEM_MS
  const expiresAt = new Date(context.clock.now().getTime() + lifeMs)
  const redeem = await insertRedeem(db, { ...request, reference, expiresAt })
  await context.tellOfTransfer(db, redeem)
  return redeem
}

export function newReference({ randomBytes }: Pick<LedgerContext, 'randomBytes'>): Hex {
  return `0x${Buffer.from(randomBytes(32)).toString('hex')}`
}

/**
 * Ends a redeem whose burn was signed here and will never be there. What was burnt is seen on the
 * chain, as any burn is.
 */
export async function failRedeemByBurn(
  context: LedgerContext,
  db: Db,
  { order }: HashedOrder,
): Promise<void> {
  if (order.state !== 'failed') return
  const errorCode = order.errorCode ?? 'burn_failed'
  const ended = { id: order.subject, from: ['pending'], to: 'failed', errorCode } as const
  const moved = await moveTransfer(db, ended)
  if (moved) await context.tellOfTransfer(db, moved)
}

/** Ends redeems that nobody burnt for, once all blocks of their chain up to then were read. */
export async function expireRedeems(
  context: LedgerContext,
  db: Db,
  passed: { chainId: number; at: Date },
): Promise<void> {
  for (const { id } of await listExpired(db, { ...passed, limit: MAX_EXPIRED })) {
    await db.transaction().execute(async (open) => {
      const ended = {
        id,
        from: ['pending'],
        to: 'failed',
        errorCode: 'redemption_expired',
      } as const
      const moved = await moveTransfer(open, ended)
      if (moved) await context.tellOfTransfer(open, moved)
    })
  }
}

const MAX_EXPIRED = 100

/** Moves the redeem as its wire moved, in the same transaction. */
export async function moveRedeemByWire(
  context: LedgerContext,
  db: Db,
  move: WireProgress,
): Promise<void> {
  const { subject: id, state } = move
  switch (state) {
    case 'accepted':
      return
    case 'paid': {
      const moved = await moveTransfer(db, { id, from: ['running'], to: 'complete' })
      if (!moved) return
      const { walletId, amount, currency } = moved
      const from = { heldOf: walletId }
      await post(db, { kind: 'pay_out', subject: id, from, to: BANK, amount, currency })
      await context.tellOfTransfer(db, moved)
      return
    }
    case 'returned':
    case 'rejected':
      await giveBack(context, db, move)
      return
    default:
      state satisfies never
  }
}

const BANK = { system: 'bank' } as const

/** What was burnt is burnt, so the money goes into the wallet, once. */
async function giveBack(context: LedgerContext, db: Db, move: WireProgress): Promise<void> {
  const { subject: id, state, code } = move
  const errorCode = code ?? `wire_${state}`
  const failed = await moveTransfer(db, { id, from: ['running'], to: 'failed', errorCode })
  if (failed) {
    const { walletId, amount, currency } = failed
    const [from, to] = [{ heldOf: walletId }, { wallet: walletId }]
    await post(db, { kind: 'release', subject: id, from, to, amount, currency })
    await context.tellOfTransfer(db, failed)
    return
  }
  const paid = await moveTransfer(db, { id, from: ['complete'], to: 'complete', errorCode })
  if (!paid) return
  const { walletId, amount, currency } = paid
  const to = { wallet: walletId }
  const isNew = await post(db, { kind: 'return', subject: id, from: BANK, to, amount, currency })
  if (isNew) await context.tellOfTransfer(db, paid)
}
