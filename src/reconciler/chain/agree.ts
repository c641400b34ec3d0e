import { BaseError } from '../../base/errors.ts'
import type { MinedReceipt, ShownTransaction } from '../../chain/answers.ts'
import { attestedOf, campsOf, weigh, type Quorum } from '../../chain/quorum.ts'
import type { UnknownReason } from '../sources/records.ts'

export type NodeHead = {
  number: bigint
  timeMs: number
  /** The last block that cannot be reorganised any more; undefined while there is none. */
  final: bigint | undefined
}

/** What one node says of a transaction. */
export type NodeAnswer =
  | ({ kind: 'mined' } & MinedFacts)
  /** Known, and in no block. */
  | { kind: 'waiting'; transaction: ShownTransaction }
  | { kind: 'absent' }
  | { kind: 'failed'; reason: string }

export type MinedFacts = {
  receipt: MinedReceipt
  /** When its block was made. */
  timeMs: number
  /** Whether the node itself has that block at that number. */
  isCanonical: boolean
  /** Undefined where the receipt alone told enough. */
  transaction: ShownTransaction | undefined
}

/** What may be relied on, since enough nodes say so. */
export type ChainFact =
  | ({ kind: 'mined'; isFinal: boolean; agreeing: readonly string[] } & MinedFacts)
  | { kind: 'waiting'; transaction: ShownTransaction; agreeing: readonly string[] }
  /** `seenUntilMs`: when the newest block was made that the nodes have read. */
  | { kind: 'absent'; agreeing: readonly string[]; seenUntilMs: number }
  /** Nodes that cannot both be right, with what each says. */
  | { kind: 'contradicted'; says: Readonly<Record<string, string>> }
  | { kind: 'unknown'; reason: UnknownReason }

/** The nodes of a chain as they stood when the run began. */
export type Panel = {
  nodes: readonly { name: string; head: NodeHead; isStale: boolean }[]
  /** How many must say the same. */
  needed: number
  /** The last block that so many call final. */
  final: bigint | undefined
}

/** As the nodes of a run are asked together. One that cannot tell says nothing of the chain. */
export function quorumOf<Node extends { name: string }>(asked: {
  nodes: readonly Node[]
  panel: Panel
  signal: AbortSignal
}): Quorum<Node> {
  const { nodes: providers, panel, signal } = asked
  const onFailure: Quorum['onFailure'] = ({ error }) => {
    signal.throwIfAborted()
    if (!(error instanceof BaseError)) throw error
  }
  return { providers, needed: panel.needed, signal, onFailure }
}

export type PanelAnswer = { name: string; head: NodeHead; isStale: boolean; answer: NodeAnswer }

/** A node so far behind another one has not seen what the other one has. */
const LAG_BLOCKS = 3n

export function createPanel(options: {
  heads: readonly { name: string; head: NodeHead }[]
  needed: number
  /** Undefined on a chain that makes blocks only when it is asked to. */
  maxHeadAgeMs: number | undefined
  nowMs: number
}): Panel {
  const { heads, needed, maxHeadAgeMs = Infinity, nowMs } = options
  const newest = heads.reduce((max, { head }) => (head.number > max ? head.number : max), 0n)
  const finals = heads.flatMap(({ head }) => head.final ?? [])
  return {
    nodes: heads.map(({ name, head }) => ({
      name,
      head,
      isStale: head.number + LAG_BLOCKS < newest || nowMs - head.timeMs > maxHeadAgeMs,
    })),
    needed,
    final: attestedOf(finals, needed),
  }
}

/** Nothing follows from one node's silence, and nothing from two that contradict each other. */
export function agree(answers: readonly PanelAnswer[], panel: Panel): ChainFact {
  const mined = answers.flatMap(({ name, answer }) =>
    answer.kind === 'mined' ? [{ name, answer }] : [],
  )
  const camps = campsOf(mined, ({ answer }) => fingerprintOf(answer))
  const [best] = camps
  if (best !== undefined) {
    const weight = weigh(camps, panel.needed)
    if (weight === 'contradicted') return { kind: weight, says: sayings(answers) }
    if (weight === 'agreed') return minedFact(best, panel)
    return withoutQuorum(answers, best[0].answer)
  }
  const waiting = answers.find(({ answer }) => answer.kind === 'waiting')
  if (waiting?.answer.kind === 'waiting') {
    const { transaction } = waiting.answer
    return { kind: 'waiting', transaction, agreeing: [waiting.name] }
  }
  return absence(answers, panel)
}

type Camp = readonly [Mined, ...Mined[]]
type Mined = { name: string; answer: Extract<NodeAnswer, { kind: 'mined' }> }

function minedFact(camp: Camp, { final }: Panel): ChainFact {
  const { answer } = camp[0]
  const isFinal = final !== undefined && answer.receipt.block.number <= final
  return { ...answer, isFinal, agreeing: camp.map(({ name }) => name) }
}

/** Some say it is mined, but too few: the others lag, are silent, or say otherwise. */
function withoutQuorum(answers: readonly PanelAnswer[], { receipt }: MinedFacts): ChainFact {
  const { number } = receipt.block
  const denies = answers.some(
    ({ head, answer, isStale }) =>
      (answer.kind === 'absent' || answer.kind === 'waiting') &&
      !isStale &&
      head.final !== undefined &&
      head.final >= number,
  )
  if (denies) return { kind: 'contradicted', says: sayings(answers) }
  const isSilent = answers.some(({ answer }) => answer.kind === 'failed')
  return { kind: 'unknown', reason: isSilent ? 'provider_unavailable' : 'provider_lags' }
}

function absence(answers: readonly PanelAnswer[], { needed }: Panel): ChainFact {
  const absent = answers.filter(({ answer, isStale }) => answer.kind === 'absent' && !isStale)
  if (absent.length >= needed) {
    const seenUntilMs = Math.max(...absent.map(({ head }) => head.timeMs))
    return { kind: 'absent', agreeing: absent.map(({ name }) => name), seenUntilMs }
  }
  const isSilent = answers.some(({ answer }) => answer.kind === 'failed')
  return { kind: 'unknown', reason: isSilent ? 'provider_unavailable' : 'provider_lags' }
}

function fingerprintOf({ receipt, isCanonical, transaction }: MinedFacts): string {
  const { block, succeeded, gasUsed, gasPrice, rollupFee, from, to, logs } = receipt
  const { value, nonce } = transaction ?? {}
  const events = logs.map(({ address, topics, data }) => `${address} ${topics.join()} ${data}`)
  const place = [block.hash, block.number, isCanonical, succeeded, gasUsed, gasPrice]
  return [...place, rollupFee, from, to, value, nonce, ...events].map(String).join('\n')
}

function sayings(answers: readonly PanelAnswer[]): Record<string, string> {
  return Object.fromEntries(answers.map(({ name, answer }) => [name, sayingOf(answer)]))
}

function sayingOf(answer: NodeAnswer): string {
  if (answer.kind === 'failed') return `no answer: ${answer.reason}`
  if (answer.kind !== 'mined') return answer.kind === 'absent' ? 'not known' : 'in no block'
  const { receipt, isCanonical } = answer
  const result = receipt.succeeded ? 'succeeded' : 'reverted'
  const where = `block ${receipt.block.number} (${receipt.block.hash})`
  return `${result} in ${where}${isCanonical ? '' : ', which it does not have'}`
}
