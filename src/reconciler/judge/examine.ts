import type { Clock } from '../../base/clock.ts'
import { BaseError, messageOf } from '../../base/errors.ts'
import { groupsOf } from '../../base/groups.ts'
import type { MinedReceipt } from '../../chain/answers.ts'
import type { Hex } from '../../chain/hex.ts'
import { askEach, neededOf, type Failure } from '../../chain/quorum.ts'
import { breakId } from '../../domain/break-ids.ts'
import type { Finding } from '../../domain/breaks.ts'
import { isDevelopmentChain } from '../../domain/chains.ts'
import { agree, createPanel, type ChainFact, type NodeAnswer, type Panel } from '../chain/agree.ts'
import { gather, type Wanted } from '../chain/gather.ts'
import type { Node } from '../chain/node.ts'
import { findReplacement } from '../chain/replaced.ts'
import { checkSigned, type SignedCheck } from '../chain/signed.ts'
import type { Currencies } from '../sources/currencies.ts'
import type { PaymentRecord } from '../sources/records.ts'
import { comparableOf, provenByEvent, saysWhat, type Contracts } from './compare.ts'
import { judge, type FoundBreak, type Judgement, type Rules } from './judge.ts'

/** Compares records of any source with the chain. */
export type Examiner = {
  chainId: number
  /** The current state of the nodes. */
  look: (signal: AbortSignal) => Promise<Panel>
  /** One judgement for each record, in their order. */
  examine: (records: readonly PaymentRecord[], signal: AbortSignal) => Promise<Examined[]>
}

export type Examined = { record: PaymentRecord; judgement: Judgement }

export type ExaminerDeps = {
  chainId: number
  nodes: readonly Node[]
  contracts: Contracts
  /** Absent where every record of the source says its money in units. */
  currencies?: Currencies | undefined
  clock: Clock
  graceMs?: number
  lagGraceMs?: number
}

export const DEFAULT_GRACE_MS = 3_600_000
/** As in verification: a node whose newest block is older has not seen what is missing. */
const MAX_HEAD_AGE_MS = 600_000

export function createExaminer(deps: ExaminerDeps): Examiner {
  const { chainId, nodes, clock } = deps
  const look = async (signal: AbortSignal): Promise<Panel> => {
    const { told, failed } = await askEach(nodes, (node) => node.head(signal))
    signal.throwIfAborted()
    const heads = told.map(({ provider: name, value: head }) => ({ name, head }))
    const needed = neededOf(nodes.length)
    if (heads.length < needed) throw new NodesUnreachableError(failed, needed)
    // Those make a block only when there is something to put into it.
    const maxHeadAgeMs = isDevelopmentChain(chainId) ? undefined : MAX_HEAD_AGE_MS
    return createPanel({ heads, needed, maxHeadAgeMs, nowMs: clock.now().getTime() })
  }
  return {
    chainId,
    look,
    async examine(recorded, signal) {
      if (recorded.length === 0) return []
      const panel = await look(signal)
      const records = (await deps.currencies?.price(recorded, signal)) ?? recorded
      const facts = await readFacts(deps, { records, panel, signal })
      return judgeAll(deps, { records, facts, panel, signal })
    },
  }
}

type Reading = { records: readonly PaymentRecord[]; panel: Panel; signal: AbortSignal }

async function readFacts(deps: ExaminerDeps, reading: Reading): Promise<Map<Hex, ChainFact>> {
  const { panel } = reading
  const facts = await askPanel(deps, reading)
  // Absence is the gravest conclusion, so the nodes are asked twice before it is believed.
  const unseen = reading.records.filter(({ hash }) => facts.get(hash)?.kind === 'absent')
  if (unseen.length === 0) return facts
  const again = await askPanel(deps, { ...reading, records: unseen, panel })
  for (const [hash, fact] of again) facts.set(hash, fact)
  return facts
}

async function askPanel(
  deps: ExaminerDeps,
  { records, panel, signal }: Reading,
): Promise<Map<Hex, ChainFact>> {
  const wanted = wantedOf(records, deps.contracts)
  const asked = deps.nodes.flatMap((node) => {
    const seat = panel.nodes.find(({ name }) => name === node.name)
    return seat ? [{ node, seat }] : []
  })
  const told = await Promise.all(asked.map(({ node }) => gather(node, wanted, signal)))
  const facts = new Map<Hex, ChainFact>()
  for (const { hash } of wanted) {
    const answers = asked.map(({ seat }, at) => ({
      ...seat,
      answer: told[at]?.get(hash) ?? NO_ANSWER,
    }))
    facts.set(hash, agree(answers, panel))
  }
  return facts
}

const NO_ANSWER: NodeAnswer = { kind: 'failed', reason: 'The node did not answer.' }

/** Each hash once; its receipt tells enough when it does for every record that claims it. */
function wantedOf(records: readonly PaymentRecord[], contracts: Contracts): Wanted[] {
  const claims = Map.groupBy(records, ({ hash }) => hash)
  return [...claims].map(([hash, claiming]) => ({
    hash,
    isToldBy: (receipt) =>
      !receipt.succeeded || claiming.every((record) => isTold(record, receipt, contracts)),
  }))
}

/** Whether the transaction itself need not be read. */
function isTold(recorded: PaymentRecord, receipt: MinedReceipt, contracts: Contracts): boolean {
  if (signedOf(recorded, contracts).transaction !== undefined) return true
  const { record } = comparableOf(recorded, receipt)
  return !saysWhat(record) || provenByEvent(record, receipt, contracts) !== undefined
}

async function judgeAll(
  deps: ExaminerDeps,
  { records, facts, panel, signal }: Reading & { facts: ReadonlyMap<Hex, ChainFact> },
): Promise<Examined[]> {
  const rules: Rules = {
    contracts: deps.contracts,
    nowMs: deps.clock.now().getTime(),
    graceMs: deps.graceMs ?? DEFAULT_GRACE_MS,
    lagGraceMs: deps.lagGraceMs ?? 0,
  }
  const examined: Examined[] = []
  const lost: Examined[] = []
  for (const record of records) {
    const signed = signedOf(record, deps.contracts)
    const told = facts.get(record.hash) ?? { kind: 'unknown', reason: 'provider_unavailable' }
    const fact = withTransaction(told, signed)
    const judgement = judge(record, fact, rules)
    const one = { record, judgement: withSigned(judgement, signed.breaks) }
    examined.push(one)
    if (fact.kind === 'absent' && judgement.state !== 'matched') lost.push(one)
  }
  // Each takes a dozen answers, one after the other.
  for (const some of groupsOf(lost, LOST_AT_ONCE)) {
    await Promise.all(some.map((one) => findTaker(deps, { lost: one, panel, signal })))
  }
  return examined
}

const LOST_AT_ONCE = 16

async function findTaker(
  deps: ExaminerDeps,
  { lost, panel, signal }: { lost: Examined } & Pick<Reading, 'panel' | 'signal'>,
): Promise<void> {
  const { record } = lost
  const replacement = await findReplacement(record, { nodes: deps.nodes, panel, signal })
  if (replacement === undefined) return
  lost.judgement = withSigned(replacement, signedOf(record, deps.contracts).breaks)
}

const checked = new WeakMap<PaymentRecord, SignedCheck>()

/** Read once, and asked for in each step. */
function signedOf(record: PaymentRecord, contracts: Contracts): SignedCheck {
  const known = checked.get(record)
  if (known !== undefined) return known
  const check = checkSigned(record, contracts)
  checked.set(record, check)
  return check
}

/** The signed bytes show what a receipt leaves out, more reliably than a node does. */
function withTransaction(fact: ChainFact, { transaction }: SignedCheck): ChainFact {
  if (fact.kind !== 'mined' || transaction === undefined) return fact
  const { hash, from } = fact.receipt
  return { ...fact, transaction: { ...transaction, hash, from } }
}

/** Breaks in the bytes remain, whatever the chain says. A kind that both show is one break. */
function withSigned(judgement: Judgement, breaks: readonly FoundBreak[]): Judgement {
  if (breaks.length === 0) return judgement
  if (judgement.state === 'pending') return { state: 'broken', breaks, isUndecided: true }
  const shown = judgement.state === 'broken' ? judgement.breaks : []
  const added = breaks.filter(({ kind }) => shown.every((other) => other.kind !== kind))
  return { state: 'broken', breaks: [...shown, ...added] }
}

/** Names the break for good. */
export function findingOf(chainId: number, record: PaymentRecord, found: FoundBreak): Finding {
  const about = { kind: found.kind, transactionId: record.transactionId, hash: record.hash }
  return { id: breakId({ chainId, ...about }), ...about, ...found }
}

class NodesUnreachableError extends BaseError {
  constructor(failed: readonly Failure[], needed: number) {
    const reasons = failed.map(({ error }) => messageOf(error))
    super(`${needed} node(s) must answer, and too few do. ${reasons.join(' ')}`, {
      code: 'nodes_unreachable',
      retryable: true,
    })
  }
}
