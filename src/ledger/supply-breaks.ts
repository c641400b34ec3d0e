import type { SupplyEvent } from '../chain/read/supply.ts'
import { breakId } from '../domain/break-ids.ts'
import type { BreakKind, Finding } from '../domain/breaks.ts'
import { formatAmount, LEDGER_DECIMALS } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import type { PlacedEvent, Solvency, SupplyFinding } from '../store/ledger/supply.ts'
import { closeBreak, recordFindings } from '../store/reconciliation/breaks.ts'
import { ensureWatchRun } from '../store/reconciliation/runs.ts'

const SOURCE = 'supply'

type Misfit = {
  chainId: number
  event: SupplyEvent
  finding: SupplyFinding
  transfer: { id: string; amount: bigint; address: string | undefined } | undefined
  now: Date
}

/** Opens a break for a mint or a burn that fits no order; it stays until an operator closes it. */
export async function openMisfit(db: Db, misfit: Misfit): Promise<void> {
  const { chainId, event, finding, transfer, now } = misfit
  const about = {
    chainId,
    kind: KINDS[finding],
    transactionId: transfer?.id ?? null,
    hash: event.transactionHash,
  }
  const { kind, transactionId, hash } = about
  await record(db, { chainId, now }, [
    {
      id: breakId(about),
      kind,
      transactionId,
      hash,
      recorded: {
        amount: transfer === undefined ? null : dollars(transfer.amount),
        currency: transfer === undefined ? null : 'USD',
        holder: transfer?.address ?? null,
      },
      onChain: {
        event: event.kind,
        token: event.token,
        holder: event.holder,
        amount: dollars(event.amount),
        currency: 'USD',
        reference: event.memo,
      },
      evidence: { finding, block: String(event.blockNumber), block_hash: event.blockHash },
    },
  ])
}

/** In the words of reconciliation; the evidence has the finding's own. */
const KINDS: Readonly<Record<SupplyFinding, BreakKind>> = {
  no_order: 'wrong_reference',
  late: 'wrong_reference',
  wrong_amount: 'wrong_amount',
  wrong_holder: 'wrong_recipient',
  wrong_token: 'wrong_contract',
  doubled: 'duplicate_payment',
  unbacked: 'supply_drift',
  unknown_mint: 'unknown_outgoing',
}

/**
 * Opens a break for a mint or a burn that was taken to the books, and whose block is gone. Nothing
 * flips back: an operator decides, and closes it.
 */
export async function openReplaced(
  db: Db,
  replaced: { chainId: number; event: PlacedEvent; blockHash: Hex | undefined; now: Date },
): Promise<void> {
  const { chainId, event, blockHash, now } = replaced
  const transactionId = event.transferId ?? null
  const about = { chainId, kind: 'reorged', transactionId, hash: event.transactionHash } as const
  const { kind, hash } = about
  await record(db, { chainId, now }, [
    {
      id: breakId(about),
      kind,
      transactionId,
      hash,
      recorded: { amount: dollars(event.amount), currency: 'USD', block_hash: event.blockHash },
      onChain: { block_hash: blockHash ?? null },
      evidence: { event: event.kind, block: String(event.blockNumber) },
    },
  ])
}

type About = { chainId: number; now: Date }

const DISAGREEMENT = { kind: 'provider_disagreement', transactionId: null, hash: null } as const

/** Nothing is taken to the books meanwhile, so that somebody must look. */
export async function openDisagreement(db: Db, { chainId, now }: About): Promise<void> {
  const id = breakId({ chainId, ...DISAGREEMENT })
  const evidence = { reads: 'the mints and burns of final blocks' }
  const finding = { id, ...DISAGREEMENT, recorded: {}, onChain: {}, evidence }
  await record(db, { chainId, now }, [finding])
}

export async function closeDisagreement(db: Db, { chainId, now }: About): Promise<void> {
  const id = breakId({ chainId, ...DISAGREEMENT })
  const note = 'the providers agree again'
  await closeBreak(db, { breakId: id, as: 'resolved', actor: SOURCE, note, now })
}

/** Opens the break of a drift, or closes it where there is none any more. */
export async function followDrift(
  db: Db,
  { chainId, solvency, now }: { chainId: number; solvency: Solvency; now: Date },
): Promise<void> {
  const about = { chainId, kind: 'supply_drift', transactionId: null, hash: null } as const
  const id = breakId(about)
  if (solvency.drift === 0n) {
    const note = 'supply and ledger agree again'
    await closeBreak(db, { breakId: id, as: 'resolved', actor: SOURCE, note, now })
    return
  }
  const { kind, transactionId, hash } = about
  const { liability, supply, mintsAhead, mintsBehind, drift, blockNumber } = solvency
  await record(db, { chainId, now }, [
    {
      id,
      kind,
      transactionId,
      hash,
      recorded: { liability: dollars(liability), currency: 'USD' },
      onChain: { supply: dollars(supply), currency: 'USD' },
      evidence: {
        drift: dollars(drift),
        mints_ahead: dollars(mintsAhead),
        mints_behind: dollars(mintsBehind),
        block: String(blockNumber),
      },
    },
  ])
}

async function record(
  db: Db,
  { chainId, now }: { chainId: number; now: Date },
  findings: readonly Finding[],
): Promise<void> {
  const run = await ensureWatchRun(db, { source: SOURCE, chainId, now })
  const seeing = { chainId, source: SOURCE, run, actor: SOURCE, now }
  await recordFindings(db, findings, seeing)
}

function dollars(amount: bigint): string {
  return formatAmount({ amount, decimals: LEDGER_DECIMALS, minDecimals: 2 })
}
