import type { Clock } from '../base/clock.ts'
import { codeOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import type { HoldingReader } from '../chain/read/holdings.ts'
import { checksummed } from '../chain/hex.ts'
import { breakId } from '../domain/break-ids.ts'
import { CURRENCY_DECIMALS, formatAmount } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'
import type { Token } from '../domain/tokens.ts'
import type { Db } from '../store/database/database.ts'
import {
  hasOpenNonce,
  insertBalance,
  insertGap,
  listDueBalances,
  listExplainedGaps,
  listNewAccounts,
  moveBalance,
  putOffBalance,
  sumRecorded,
  touchBalances,
  type AccountBalance,
  type Held,
} from '../store/rails/balances.ts'
import { readDepositCursor, type DepositCursor } from '../store/rails/deposits.ts'
import { closeBreak, recordFindings } from '../store/reconciliation/breaks.ts'
import { ensureWatchRun } from '../store/reconciliation/runs.ts'

export type BalanceDeps = {
  db: Db
  chainId: number
  tokens: readonly Pick<Token, 'address' | 'decimals'>[]
  /** The platform's own addresses, which are accounted for like those of users. */
  own: readonly Hex[]
  holding: HoldingReader
  policy: BalancePolicy
  clock: Clock
  logger: Logger
}

export type BalancePolicy = {
  /** How often an account is compared of which nothing is known to have moved. */
  roundMs: number
  /** How soon one is compared again that keeps moving. */
  peaceMs: number
  /** How many accounts one pass looks at. */
  limit: number
}

export const BALANCE_POLICY: BalancePolicy = {
  roundMs: 3_600_000,
  peaceMs: 30_000,
  limit: 32,
}

/**
 * Compares what addresses of ours hold at a final block with what is recorded: arrivals, payments,
 * fees, mints and burns. What no record explains opens a break, which a late record closes. True
 * while there is more to look at.
 */
export async function balancePass(deps: BalanceDeps, signal: AbortSignal): Promise<boolean> {
  const { db, chainId, own, holding, policy, clock } = deps
  const tokens = deps.tokens.map(({ address }) => address)
  const { limit, peaceMs, roundMs } = policy
  // Up to there it is known what arrived.
  const cursor = await readDepositCursor(db, chainId)
  if (cursor === undefined) return false
  const { blockNumber } = cursor
  await touchBalances(db, { chainId, upTo: blockNumber, peaceMs })
  const fresh = await listNewAccounts(db, { chainId, own, tokens, limit })
  await forEach(fresh, async (account) => {
    const held = await holding({ ...account, blockNumber }, signal)
    const now = clock.now()
    await insertBalance(db, { account, held, cursor, now, dueAt: later(now, roundMs) })
  })
  const due = await listDueBalances(db, { chainId, tokens, now: clock.now(), limit })
  await forEach(due, async (account) => {
    try {
      const known = account.seen ?? (blockNumber > account.blockNumber ? undefined : account)
      const held = known ?? (await holding({ ...account, blockNumber }, signal))
      await compare(deps, { account, held, cursor }, signal)
    } catch (error) {
      await putOffBalance(db, account, later(clock.now(), peaceMs))
      throw error
    }
  })
  await closeExplained(deps)
  return fresh.length === limit || due.length === limit
}

/** One that fails keeps no other from its turn; the first failure is thrown behind all of them. */
async function forEach<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const failed = (await Promise.allSettled(list.map(work))).find(isRejected)
  if (failed !== undefined) throw failed.reason
}

function isRejected(one: PromiseSettledResult<unknown>): one is PromiseRejectedResult {
  return one.status === 'rejected'
}

function later(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms)
}

type Compared = { account: AccountBalance; held: Held; cursor: DepositCursor }

async function compare(
  deps: BalanceDeps,
  { account, held, cursor }: Compared,
  signal: AbortSignal,
): Promise<void> {
  const { db, clock, policy } = deps
  const { chainId, address } = account
  const now = clock.now()
  // Asked first: what is decided since is then in the sum.
  const isOpen = await hasOpenNonce(db, { chainId, address, below: held.nonce })
  if ((await unexplained(db, { account, from: account, to: held })) === 0n) {
    const dueAt = later(now, policy.roundMs)
    await moveBalance(db, account, { held, seen: undefined, cursor, now, dueAt })
  } else if (isOpen) {
    const seen = { at: now, ...account.seen, ...held }
    const dueAt = later(now, policy.peaceMs)
    await moveBalance(db, account, { held: account, seen, cursor, now, dueAt })
  } else {
    const gap = await narrow(deps, { account, held }, signal)
    await openGap(deps, { account, gap, cursor })
  }
}

/** By how much more the balance changed than the records say. */
async function unexplained(
  db: Db,
  span: { account: AccountBalance; from: Held; to: Held },
): Promise<bigint> {
  return span.to.balance - span.from.balance - (await sumRecorded(db, span))
}

type Gap = { from: Held; to: Held; isNarrow: boolean }

/** The first block in which something moved that is not recorded, by halving the span. */
async function narrow(
  { db, holding, logger }: BalanceDeps,
  { account, held }: Pick<Compared, 'account' | 'held'>,
  signal: AbortSignal,
): Promise<Gap> {
  let from: Held = account
  let to = held
  while (to.blockNumber - from.blockNumber > 1n) {
    const blockNumber = (from.blockNumber + to.blockNumber) / 2n
    let middle: Held
    try {
      middle = await holding({ ...account, blockNumber }, signal)
    } catch (error) {
      // The node no longer has that state, or the token did not answer then; all else may pass.
      if (!STATELESS.has(codeOf(error) ?? '')) throw error
      logger.warn({ block: String(blockNumber) }, 'the balances of that block cannot be read')
      return { from, to, isNarrow: false }
    }
    if ((await unexplained(db, { account, from, to: middle })) === 0n) from = middle
    else to = middle
  }
  return { from, to, isNarrow: true }
}

const STATELESS: ReadonlySet<string> = new Set([
  'rpc_refused',
  'rpc_reverted',
  'chain_answer_unreadable',
])

async function openGap(
  deps: BalanceDeps,
  { account, gap, cursor }: { account: AccountBalance; gap: Gap; cursor: DepositCursor },
): Promise<void> {
  const { db, clock, logger } = deps
  const { chainId, address, token } = account
  const { from, to, isNarrow } = gap
  const now = clock.now()
  const recorded = await sumRecorded(db, { account, from, to })
  const moved = to.balance - from.balance
  const about = { chainId, kind: 'unexplained_balance', transactionId: null, hash: null } as const
  const id = breakId({ ...about, place: [address, token, to.blockNumber].join() })
  const { kind, transactionId, hash } = about
  const inWords = (amount: bigint): string => wordsOf(deps, { amount, token })
  const finding = {
    id,
    kind,
    transactionId,
    hash,
    recorded: { moved: inWords(recorded) },
    onChain: { moved: inWords(moved), address: checksummed(address), coin: token || 'ETH' },
    evidence: {
      unexplained: inWords(moved - recorded),
      after_block: String(from.blockNumber),
      up_to_block: String(to.blockNumber),
      ...(isNarrow ? {} : { note: 'the balances between these blocks cannot be read' }),
    },
  }
  const isOpened = await db.transaction().execute(async (db) => {
    // From here on the account is compared with what it held behind the gap.
    const after = { held: to, seen: undefined, cursor, now, dueAt: now }
    if (!(await moveBalance(db, account, after))) return false
    const run = await ensureWatchRun(db, { source: SOURCE, chainId, now })
    await recordFindings(db, [finding], { chainId, source: SOURCE, run, actor: SOURCE, now })
    await insertGap(db, { breakId: id, account, from, to, moved })
    return true
  })
  if (isOpened) logger.error({ address, ...finding.evidence }, 'no record explains a balance')
}

const SOURCE = 'balances'

function wordsOf(
  { tokens }: Pick<BalanceDeps, 'tokens'>,
  { amount, token }: { amount: bigint; token: Hex | '' },
): string {
  const { decimals = 0 } = tokens.find(({ address }) => address === token) ?? {}
  return formatAmount({ amount, decimals: token === '' ? CURRENCY_DECIMALS.ETH : decimals })
}

/** Closes the breaks that records which came late explain. */
async function closeExplained({ db, chainId, clock }: BalanceDeps): Promise<void> {
  const note = 'what was recorded since explains it'
  for (const breakId of await listExplainedGaps(db, { chainId, limit: MAX_GAPS })) {
    const closing = { breakId, as: 'resolved', actor: SOURCE, note, now: clock.now() } as const
    await closeBreak(db, closing)
  }
}

const MAX_GAPS = 100
