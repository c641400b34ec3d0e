import type { ShownTransaction } from '../chain/answers.ts'
import { agreedOn } from '../chain/quorum.ts'
import { breakId } from '../domain/break-ids.ts'
import { BREAK_MEANINGS, type BreakKind, type Finding } from '../domain/breaks.ts'
import { COIN_DECIMALS } from '../domain/coins.ts'
import { formatAmount } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import { listGaps, listLaneSpans, type LaneSpan, type OpenGap } from '../store/orders/lanes.ts'
import { listOpenAlerts, type SenderAlertKind } from '../store/orders/sender-alerts.ts'
import { isOurHash } from '../store/reconciliation/recorded-payments.ts'
import {
  listStraySettlements,
  logBehind,
  type LogPlace,
  type StraySettlement,
} from '../store/reconciliation/settled-logs.ts'
import { quorumOf, type Panel } from './chain/agree.ts'
import type { Node } from './chain/node.ts'
import { takerBy } from './chain/replaced.ts'

export type StrayDeps = {
  db: Db
  chainId: number
  nodes: readonly Node[]
  panel: Panel
  signal: AbortSignal
  /** So much is read at once. */
  chunkRecords?: number
}

const LANES_AT_ONCE = 100
const MAX_LANES = 100_000
const CHUNK = 5_000

/**
 * What each part of the search found, and where to go on after it. `unsure`: of this signer the
 * nodes could not tell all, so what was found of it before stands.
 */
export type StrayPart = { findings: Finding[]; cursor: string; unsure?: Hex }

/**
 * Accounts for every nonce of every lane of ours up to the last final block. One that none of our
 * transactions took was taken by a payment that nobody recorded.
 */
export async function* findUnknownOutgoing(
  deps: StrayDeps,
  after: string | undefined,
): AsyncGenerator<StrayPart> {
  const { db, chainId } = deps
  let last = after ?? ''
  for (let done = 0; done < MAX_LANES;) {
    const lanes = await listLaneSpans(db, { chainId, after: last, limit: LANES_AT_ONCE })
    for (const lane of lanes) {
      const { findings, isSure } = await findInLane(deps, lane)
      last = lane.signer
      yield { findings, cursor: last, ...(!isSure && { unsure: lane.signer }) }
    }
    done += lanes.length
    if (lanes.length < LANES_AT_ONCE) return
  }
}

type Searched = { findings: Finding[]; isSure: boolean }

async function findInLane(deps: StrayDeps, { signer, first }: LaneSpan): Promise<Searched> {
  const { db, chainId, panel, chunkRecords: limit = CHUNK } = deps
  const { final } = panel
  const below =
    final === undefined
      ? undefined
      : await agreedOn(quorumOf(deps), (node, signal) => node.nonceAt(signer, final, signal))
  if (final === undefined || below === undefined) return { findings: [], isSure: false }
  const searched: Searched = { findings: [], isSure: true }
  for (let from = first; from < below;) {
    const gaps = await listGaps(db, { chainId, signer, from, below, limit })
    for (const gap of gaps) await searchGap(deps, { signer, final, gap, searched })
    from = gaps.length < limit ? below : (gaps.at(-1)?.nonce ?? below) + 1n
  }
  return searched
}

async function searchGap(
  deps: StrayDeps,
  at: { signer: Hex; final: bigint; gap: OpenGap; searched: Searched },
): Promise<void> {
  const { db, chainId } = deps
  const { signer, final, gap, searched } = at
  const { nonce, takenBy } = gap
  deps.signal.throwIfAborted()
  const taker = await agreedOn(
    quorumOf(deps),
    (node, signal) => takerBy(node, { signer, nonce, high: final, signal }),
    (found) => found.hash,
  )
  const hash = takenBy ?? taker?.hash
  if (hash === undefined) searched.isSure = false
  // What is ours and final on the chain is only not followed yet.
  else if (!(await isOurHash(db, { chainId, hash }))) {
    searched.findings.push(unknownOutgoing(chainId, { signer, nonce, hash, taker }))
  }
}

function unknownOutgoing(
  chainId: number,
  found: { signer: Hex; nonce: bigint; hash: Hex; taker: ShownTransaction | undefined },
): Finding {
  const { signer, nonce, hash, taker } = found
  return strayOf(chainId, 'unknown_outgoing', {
    hash,
    transactionId: null,
    onChain: {
      from_address: signer,
      nonce: String(nonce),
      ...(taker && {
        to_address: taker.to,
        amount: formatAmount({ amount: taker.value, decimals: COIN_DECIMALS }),
        amount_units: String(taker.value),
      }),
    },
    evidence: { found_by: 'nonce' },
  })
}

/** Settlements in the sweep that belong to no order, or that pay an order once more. */
export async function* findStraySettlements(
  { db, chainId, signal, chunkRecords: count = CHUNK }: Omit<StrayDeps, 'nodes' | 'panel'>,
  cursor: string | undefined,
): AsyncGenerator<StrayPart> {
  let after = placeOf(cursor)
  for (;;) {
    signal.throwIfAborted()
    const to = await logBehind(db, { chainId, after, count })
    const strays = await listStraySettlements(db, { chainId, after, to })
    const findings = strays.map((stray) => strayFinding(chainId, stray))
    if (to === undefined) {
      if (findings.length > 0) yield { findings, cursor: END }
      return
    }
    after = to
    yield { findings, cursor: `${to.contract}:${to.block}:${to.logIndex}` }
  }
}

/** Behind every contract. */
const END = '1x'

/** A cursor in the words of an earlier version begins anew. */
function placeOf(cursor: string | undefined): LogPlace {
  const [contract = '', block = '0', logIndex = '0'] = cursor?.split(':') ?? []
  const isPlace = contract.startsWith('0x') || contract === END
  if (!isPlace) return { contract: '', block: 0n, logIndex: 0 }
  return { contract, block: BigInt(block), logIndex: Number(logIndex) }
}

function strayFinding(chainId: number, stray: StraySettlement): Finding {
  const { repeats } = stray
  const onChain = {
    block_number: String(stray.block.number),
    block_hash: stray.block.hash,
    from_address: stray.payer,
    to_address: stray.payee,
    ...(stray.token === undefined && {
      amount: formatAmount({ amount: stray.amount, decimals: COIN_DECIMALS }),
    }),
    amount_units: String(stray.amount),
    token: stray.token ?? null,
    reference: stray.reference,
  }
  const kind = repeats ? 'duplicate_payment' : 'unknown_outgoing'
  return strayOf(chainId, kind, {
    hash: stray.hash,
    transactionId: repeats?.subject ?? null,
    onChain,
    evidence: { found_by: 'settlement', ...(repeats && { first_hash: repeats.hash }) },
  })
}

const KINDS: Record<SenderAlertKind, BreakKind> = {
  reorg_after_final: 'reorged',
  settlement_mismatch: 'wrong_reference',
  nonce_taken_by_like_payment: 'unknown_outgoing',
}

/** What the sender saw by itself is a break as well, under the name that a run would give it. */
export async function findAlerted({
  db,
  chainId,
}: Pick<StrayDeps, 'db' | 'chainId'>): Promise<Finding[]> {
  const alerts = await listOpenAlerts(db, chainId)
  return alerts.map(({ kind, hash }) =>
    strayOf(chainId, KINDS[kind], {
      hash,
      transactionId: null,
      onChain: {},
      evidence: { found_by: 'sender', alert: kind },
    }),
  )
}

function strayOf(
  chainId: number,
  kind: BreakKind,
  found: Pick<Finding, 'hash' | 'transactionId' | 'onChain' | 'evidence'>,
): Finding {
  const { transactionId, hash, onChain } = found
  return {
    id: breakId({ chainId, kind, transactionId, hash }),
    kind,
    transactionId,
    hash,
    recorded: {},
    onChain,
    evidence: { meaning: BREAK_MEANINGS[kind], ...found.evidence },
  }
}
