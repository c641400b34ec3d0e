import type { OverviewWire } from '../wire/group-b/admin.ts'
import type { SolvencyWire } from '../wire/group-b/solvency.ts'
import { formatDuration, plural, sentenceOf } from './parts/format.ts'

export type OverviewVerdict = {
  tone: 'good' | 'waiting' | 'bad'
  sentence: string
  /** Why, each with a number. */
  reasons: string[]
}

/** What is compared elsewhere; undefined where it is not known now. */
export type Compared = {
  openBreaks?: number | undefined
  solvency?: Pick<SolvencyWire, 'holds' | 'drift'> | undefined
  /** Payments on chain that people have to accept or refuse. */
  undecided?: number | undefined
  /** What could not be read now: nobody knows whether all is well. */
  unread?: readonly string[]
}

/** The one sentence that an operator reads first. */
export function judgeOverview(overview: OverviewWire, more: Compared = {}): OverviewVerdict {
  const wrong = [...disagreements(overview), ...comparedReasons(more)]
  if (wrong.length > 0) {
    return { tone: 'bad', sentence: 'The books and the chain disagree.', reasons: wrong }
  }
  const { unread = [], undecided = 0 } = more
  const late = [
    ...unread.map((what) => `The ${what} could not be read.`),
    ...concerns(overview),
    ...(undecided > 0 ? [`${plural(undecided, 'payment')} to accept or refuse.`] : []),
  ]
  const sentence =
    unread.length > 0
      ? 'Not everything could be read.'
      : 'The books and the chain agree, but something needs attention.'
  return late.length > 0
    ? { tone: 'waiting', sentence, reasons: late }
    : { tone: 'good', sentence: 'The books and the chain agree.', reasons: [] }
}

function disagreements({ coin, claimed, settled, alerts }: OverviewWire): string[] {
  const reasons = alerts.map(({ kind, count }) => `${plural(count, 'alert')}: ${sentenceOf(kind)}`)
  if (claimed.amount_wei !== settled.amount_wei || claimed.count !== settled.count) {
    const told = ({ amount_decimal: decimal, count }: OverviewWire['claimed']): string =>
      `${decimal} ${coin} in ${plural(count, 'payment')}`
    reasons.unshift(`The records claim ${told(claimed)}, and the chain settled ${told(settled)}.`)
  }
  return reasons
}

function comparedReasons({ openBreaks = 0, solvency }: Compared): string[] {
  return [
    ...(openBreaks > 0 ? [`${plural(openBreaks, 'break')} to look at.`] : []),
    ...(solvency?.holds === false
      ? [`The supply of the stablecoin differs from the ledger by ${solvency.drift} USD.`]
      : []),
  ]
}

/** Longer than any chain takes to make a payment final. */
const LATE_SECONDS = 3600

function concerns({ in_flight: inFlight, providers, head }: OverviewWire): string[] {
  const unwell = providers.filter(({ state }) => state !== 'well')
  return [
    ...(inFlight.oldest_seconds >= LATE_SECONDS
      ? [`An order has been in flight for ${formatDuration(inFlight.oldest_seconds)}.`]
      : []),
    ...unwell.map(
      ({ name, state }) => `The provider ${name} is ${sentenceOf(state).toLowerCase()}.`,
    ),
    ...(head === null ? ['No block is read yet.'] : []),
  ]
}
