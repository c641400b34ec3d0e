import type { Clock } from '../base/clock.ts'
import { codeOf } from '../base/errors.ts'
import { groupsOf } from '../base/groups.ts'
import type { Logger } from '../base/logger.ts'
import type { HoldingReader } from '../chain/read/holdings.ts'
import { checksummed } from '../chain/hex.ts'
import { breakId } from '../domain/break-ids.ts'
import { CURRENCY_DECIMALS, formatAmount } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'
import type { Token } from '../domain/tokens.ts'
import type { Db } from '../store/database/database.ts'
import {
  explainBalances,
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
  type Looked,
} from '../store/rails/balances.ts'
import { readDepositCursor, type DepositCursor } from '../store/rails/deposits.ts'
import { closeBreak, recordFindings } from '../store/reconciliation/breaks.ts'
import { ensureWatchRun } from '../store/reconciliation/runs.ts'

export type BalanceDeps = {
  db: Db
  chainId: number
  /** What gas is paid in; absent: ether. */
  coin?: string | undefined
  tokens: readonly Pick<Token, 'address' | 'decimals' | 'currency'>[]
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
  limit: 400,
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
  const first = await holding.balances({ accounts: fresh, blockNumber }, signal)
  await forEach(fresh, async (account, at) => {
    const [held, now] = [{ blockNumber, balance: valueOf(first[at]!) }, clock.now()]
    await insertBalance(db, { account, held, cursor, now, dueAt: later(now, roundMs) })
  })
  const due = await listDueBalances(db, { chainId, tokens, now: clock.now(), limit })
  const moved = await explainDue(deps, { due, cursor }, signal)
  await forEach(moved, async ({ account, held }) => {
    try {
      await compare(deps, { account, held: valueOf(held), cursor }, signal)
    } catch (error) {
      await putOffBalance(db, account, later(clock.now(), peaceMs))
      throw error
    }
  })
  await closeExplained(deps)
  return fresh.length === limit || due.length === limit
}

/** Ends with what the records explain, all at once, and gives back the others. */
async function explainDue(
  { db, holding, policy, clock }: BalanceDeps,
  { due, cursor }: { due: readonly AccountBalance[]; cursor: DepositCursor },
  signal: AbortSignal,
): Promise<Compared[]> {
  const { blockNumber } = cursor
  const accounts = due.filter((one) => one.seen === undefined && blockNumber > one.blockNumber)
  const balances = await holding.balances({ accounts, blockNumber }, signal)
  const read = new Map(accounts.map((account, at) => [account, balances[at]!]))
  const looked = due.map((account): Compared => {
    const balance = read.get(account)
    if (balance?.status === 'rejected') return { account, held: balance }
    const held = balance ? { blockNumber, balance: balance.value } : (account.seen ?? account)
    return { account, held: { status: 'fulfilled', value: held } }
  })
  const known = looked.flatMap(({ account, held }) => {
    return held.status === 'fulfilled' ? [{ account, held: held.value }] : []
  })
  const now = clock.now()
  const left = await unexplained(
    db,
    known.map(({ account, held }) => ({ account, from: account, to: held })),
  )
  const explained = known.filter((_, at) => left[at] === 0n)
  await explainBalances(db, explained, { cursor, now, dueAt: later(now, policy.roundMs) })
  const done = new Set(explained.map(({ account }) => account))
  return looked.filter(({ account }) => !done.has(account))
}

type Compared = { account: AccountBalance; held: PromiseSettledResult<Held> }

/**
 * A few at a time, since others need the database too. One that fails keeps no other from its turn;
 * the first failure is thrown behind all of them.
 */
async function forEach<T>(
  list: readonly T[],
  work: (one: T, at: number) => Promise<void>,
): Promise<void> {
  const outcomes: PromiseSettledResult<void>[] = []
  for (let first = 0; first < list.length; first += AT_ONCE) {
    const some = list.slice(first, first + AT_ONCE)
    outcomes.push(...(await Promise.allSettled(some.map((one, at) => work(one, first + at)))))
  }
  for (const outcome of outcomes) valueOf(outcome)
}

const AT_ONCE = 8

function valueOf<T>(outcome: PromiseSettledResult<T>): T {
  if (outcome.status === 'rejected') throw outcome.reason
  return outcome.value
}

function later(time: Date, ms: number): Date {
  return new Date(time.getTime() + ms)
}

type Moved = { account: AccountBalance; held: Held }

/** Of an account that the records did not explain a moment ago. */
async function compare(
  deps: BalanceDeps,
  { account, held, cursor }: Moved & { cursor: DepositCursor },
  signal: AbortSignal,
): Promise<void> {
  const { db, holding, clock, policy } = deps
  const { chainId, address, seen: before } = account
  const { blockNumber } = held
  const now = clock.now()
  const nonce = before?.nonce ?? (await holding.nonce({ address, blockNumber }, signal))
  // Asked first: what is decided since is then in the sum.
  const isOpen = await hasOpenNonce(db, { chainId, address, below: nonce })
  const [left] = await unexplained(db, [{ account, from: account, to: held }])
  if (left === 0n) {
    const dueAt = later(now, policy.roundMs)
    await explainBalances(db, [{ account, held }], { cursor, now, dueAt })
  } else if (isOpen) {
    const seen = { at: now, ...before, ...held, nonce }
    const dueAt = later(now, policy.peaceMs)
    await moveBalance(db, account, { held: account, seen, cursor, now, dueAt })
  } else {
    const gap = await narrow(deps, { account, held }, signal)
    await openGap(deps, { account, gap: { ...gap, nonce }, cursor })
  }
}

/** By how much more each balance changed than the records say. */
async function unexplained(db: Db, looked: readonly Looked[]): Promise<bigint[]> {
  const left: bigint[] = []
  for (const some of groupsOf(looked, SUMMED_AT_ONCE)) {
    const recorded = await sumRecorded(db, some)
    left.push(...some.map(({ from, to }, at) => to.balance - from.balance - recorded[at]!))
  }
  return left
}

/** The embedded database answers nobody else meanwhile. */
const SUMMED_AT_ONCE = 4

type Span = { from: Held; to: Held; isNarrow: boolean }

/** The first block in which something moved that is not recorded, by halving the span. */
async function narrow(
  { db, holding, logger }: BalanceDeps,
  { account, held }: Moved,
  signal: AbortSignal,
): Promise<Span> {
  let from: Held = account
  let to = held
  while (to.blockNumber - from.blockNumber > 1n) {
    const blockNumber = (from.blockNumber + to.blockNumber) / 2n
    let middle: Held
    try {
      const [balance] = await holding.balances({ accounts: [account], blockNumber }, signal)
      middle = { blockNumber, balance: valueOf(balance!) }
    } catch (error) {
      // The node no longer has that state, or the token did not answer then; all else may pass.
      if (!STATELESS.has(codeOf(error) ?? '')) throw error
      logger.warn({ block: String(blockNumber) }, 'the balances of that block cannot be read')
      return { from, to, isNarrow: false }
    }
    const [left] = await unexplained(db, [{ account, from, to: middle }])
    if (left === 0n) from = middle
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
  {
    account,
    gap,
    cursor,
  }: { account: AccountBalance; gap: Span & { nonce: bigint }; cursor: DepositCursor },
): Promise<void> {
  const { db, clock, logger, coin = 'ETH' } = deps
  const { chainId, address, token } = account
  const { from, to, nonce, isNarrow } = gap
  const now = clock.now()
  const [recorded = 0n] = await sumRecorded(db, [{ account, from, to }])
  const moved = to.balance - from.balance
  const about = { chainId, kind: 'unexplained_balance', transactionId: null, hash: null } as const
  const id = breakId({ ...about, place: [address, token, to.blockNumber].join() })
  const { kind, transactionId, hash } = about
  const currency = token === '' ? coin : (tokenOf(deps, token)?.currency ?? null)
  const inWords = (amount: bigint): string => wordsOf(deps, { amount, token })
  const finding = {
    id,
    kind,
    transactionId,
    hash,
    recorded: { moved: inWords(recorded) },
    onChain: {
      moved: inWords(moved),
      address: checksummed(address),
      currency,
      token: token || null,
    },
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
    await insertGap(db, { breakId: id, account, from, to, nonce, moved })
    return true
  })
  if (isOpened) logger.error({ address, ...finding.evidence }, 'no record explains a balance')
}

const SOURCE = 'balances'

function wordsOf(
  deps: Pick<BalanceDeps, 'tokens'>,
  { amount, token }: { amount: bigint; token: Hex | '' },
): string {
  const decimals = token === '' ? CURRENCY_DECIMALS.ETH : (tokenOf(deps, token)?.decimals ?? 0)
  return formatAmount({ amount, decimals })
}

function tokenOf({ tokens }: Pick<BalanceDeps, 'tokens'>, token: Hex | '') {
  return tokens.find(({ address }) => address === token)
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
