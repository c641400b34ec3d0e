import type { TimedBlock } from '../chain/read/blocks.ts'
import type { SupplyEvent } from '../chain/read/supply.ts'
import type { Mint, Redeem, Withdrawal } from '../domain/ledger.ts'
import { LEDGER_PER_CENT } from '../domain/money.ts'
import { findUser } from '../store/access/users.ts'
import type { Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { post, readBalance } from '../store/ledger/ledger.ts'
import { insertSupplyEvent, type SupplyFinding } from '../store/ledger/supply.ts'
import {
  findMintReference,
  lockMint,
  lockRedeem,
  lockRedeemBy,
  moveTransfer,
} from '../store/ledger/transfers.ts'
import { orderWire } from '../store/rails/wires.ts'
import type { LedgerContext, Stablecoin } from './context.ts'
import { completeMint } from './mints.ts'
import { openMisfit } from './supply-breaks.ts'

/** What became of an event: a finding, or undefined where all is well or was known. */
export type Settled = SupplyFinding | undefined

type Settling = {
  context: LedgerContext
  stablecoin: Stablecoin
  event: SupplyEvent
  /** The block that it is in. */
  block: TimedBlock
}

/**
 * Books a mint or a burn of a final block, in one SQL transaction of its own. An event that nobody
 * ordered, or that differs from its order, becomes a finding, and no money moves for it.
 */
export async function settleSupplyEvent(db: Db, settling: Settling): Promise<Settled> {
  return db
    .transaction()
    .execute((open) =>
      settling.event.kind === 'mint' ? settleMint(open, settling) : settleBurn(open, settling),
    )
}

/**
 * A mint that is as ordered, in a final block, is complete even if the sender has not seen it yet.
 * The very next block may burn what it minted, and the ledger must owe it by then.
 */
async function settleMint(db: Db, { context, stablecoin, event }: Settling): Promise<Settled> {
  if (event.token !== stablecoin.token) return undefined
  const { chainId } = stablecoin
  const reference = await referenceOf(db, stablecoin, event)
  const mint = await lockMint(db, { chainId, reference })
  const isOurs = mint !== undefined && isAsOrdered(mint, event) && mint.status !== 'failed'
  const finding = isOurs ? undefined : 'unknown_mint'
  const transferId = mint?.id
  if (!(await insertSupplyEvent(db, { ...event, chainId, transferId, finding }))) return undefined
  if (finding !== undefined) {
    const now = context.clock.now()
    await openMisfit(db, { chainId, event, finding, transfer: mint, now })
  }
  if (isOurs) {
    const { transactionHash: hash, blockNumber } = event
    await completeMint(context, db, { id: mint.id, hash, blockNumber })
  }
  return finding
}

/** Without a memo it is the order whose transaction minted. */
async function referenceOf(
  db: Db,
  { chainId, issuer }: Stablecoin,
  { memo, transactionHash: hash }: SupplyEvent,
): Promise<Hex> {
  return issuer === undefined ? memo : ((await findMintReference(db, { chainId, hash })) ?? memo)
}

function isAsOrdered(mint: Mint | Withdrawal, event: SupplyEvent): boolean {
  return mint.amount === event.amount && mint.address === event.holder
}

async function settleBurn(db: Db, settling: Settling): Promise<Settled> {
  const { context, stablecoin, event } = settling
  const { chainId, token, issuer } = stablecoin
  if (event.holder === issuer?.address) {
    // Our own burn takes what was redeemed off the chain, and nobody is paid for it.
    await insertSupplyEvent(db, { ...event, chainId, transferId: undefined, finding: undefined })
    return undefined
  }
  const redeem =
    issuer === undefined
      ? await lockRedeem(db, { chainId, reference: event.memo })
      : await lockRedeemBy(db, { ...event, chainId })
  // The issuer's address may get money for other reasons.
  if (issuer !== undefined && redeem === undefined) return undefined
  // Anybody may log anything, so of other contracts only what names a redeem of ours counts.
  if (event.token !== token && redeem === undefined) return undefined
  const owed = { stablecoinOn: chainId }
  const isBacked = (await readBalance(db, owed)) >= event.amount
  const finding = findingOf(settling, { redeem, isBacked })
  const transferId = redeem?.id
  if (!(await insertSupplyEvent(db, { ...event, chainId, transferId, finding }))) return undefined
  if (finding !== undefined) {
    const now = context.clock.now()
    await openMisfit(db, { chainId, event, finding, transfer: redeem, now })
  }
  if (finding === undefined && redeem !== undefined) {
    await payOut(context, db, { redeem, event })
  } else if (event.token === token && isBacked && issuer === undefined) {
    const { amount } = event
    const subject = `burn:${chainId}:${event.holder}:${event.memo}`
    const posting = { kind: 'unclaimed', subject, amount, currency: 'USD' } as const
    await post(db, { ...posting, from: owed, to: { system: 'unclaimed' } })
  }
  return finding
}

function findingOf(
  { stablecoin, event, block }: Settling,
  { redeem, isBacked }: { redeem: Redeem | undefined; isBacked: boolean },
): SupplyFinding | undefined {
  if (event.token !== stablecoin.token) return 'wrong_token'
  if (redeem === undefined) return 'no_order'
  if (block.time > redeem.expiresAt) return 'late'
  if (redeem.status !== 'pending') return 'doubled'
  if (redeem.address !== undefined && redeem.address !== event.holder) return 'wrong_holder'
  if (redeem.amount !== event.amount) return 'wrong_amount'
  return isBacked ? undefined : 'unbacked'
}

/** What was owed on the chain is now owed to the bank account, and the wire is ordered once. */
async function payOut(
  context: LedgerContext,
  db: Db,
  { redeem, event }: { redeem: Redeem; event: SupplyEvent },
): Promise<void> {
  const { id, userId, walletId, amount, currency, destination, chainId } = redeem
  const { transactionHash, blockNumber } = event
  const burnt = { id, from: ['pending'], to: 'running' } as const
  const moved = await moveTransfer(db, { ...burnt, transactionHash, blockNumber })
  if (moved === undefined) return
  const to = { heldOf: walletId }
  await post(db, {
    kind: 'redeem',
    subject: id,
    from: { stablecoinOn: chainId },
    to,
    amount,
    currency,
  })
  const { addressLine1, accountNumber, routingNumber } = destination
  const name = destination.name ?? (await findUser(db, userId))?.username ?? ''
  await orderWire(db, {
    userId,
    purpose: 'redeem',
    subject: id,
    bank: context.bank,
    amountMinor: amount / LEDGER_PER_CENT,
    currency,
    beneficiary: { name, addressLine1, accountNumber, routingNumber },
  })
  await context.tellOfTransfer(db, moved)
}
