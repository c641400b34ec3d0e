import type { Disagreement, Provider, Verdict } from '../verify/index.ts'
import { check } from '../verify/check.ts'

/** One thing that is looked at, and what was found. */
export type ReceiptStep = {
  name: string
  /** What it means, for those who have never done this. */
  meaning: string
  state: 'open' | 'holds' | 'waits' | 'fails'
  found: string
}

/** What the page says of the payment; the file must prove the same. */
export type Shown = {
  hash: string | null
  amount: ShownAmount
}

type ShownAmount = { amount_decimal: string; amount_wei?: string; currency: string }

export type Checked = { steps: ReceiptStep[]; verdict: Verdict | undefined }

/**
 * Checks a quittance as a person follows it: is the file whole, is the payment in the block that it
 * names, is it the payment of this page, and does a node that the visitor chose know that block?
 * Each step stands on those before it, and none is made after one that fails.
 */
export async function checkReceipt(options: {
  file: string
  shown: Shown
  node: Provider
  confirmations: number
}): Promise<Checked> {
  const { file, shown, node, confirmations } = options
  const offline = await check(file)
  const broken = offline.disagreements.find(({ kind }) => kind !== 'not_anchored')
  const steps = [whole(broken), inBlock(offline, broken), samePayment(offline, { broken, shown })]
  if (steps.some(({ state }) => state !== 'holds')) {
    return { steps: [...steps, ...UNASKED], verdict: offline }
  }
  const verdict = await check(file, { providers: [node], confirmations })
  return { steps: [...steps, ...anchored(verdict, node)], verdict }
}

const WHOLE = {
  name: 'The file is whole',
  meaning: 'Every byte is as it was written.',
} as const
const IN_BLOCK = {
  name: 'The payment is in its block',
  meaning:
    'Hashes lead from the payment’s receipt and from its transaction up to the header of the block.',
} as const
const SAME = {
  name: 'It is the payment of this page',
  meaning: 'The transaction and the amount in the file are those that you see here.',
} as const
const KNOWN = {
  name: 'Your node knows that block',
  meaning: 'A node that you chose has the same block at the same place of the chain.',
} as const
const FINAL = {
  name: 'It is final',
  meaning: 'Enough blocks stand on it, so that it can no longer leave the chain.',
} as const

/** Before anything was looked at. */
export const OPEN_STEPS: readonly ReceiptStep[] = [WHOLE, IN_BLOCK, SAME, KNOWN, FINAL].map(open)

const UNASKED = [KNOWN, FINAL].map(open)

type Name = { name: string; meaning: string }

function open(step: Name): ReceiptStep {
  return { ...step, state: 'open', found: '' }
}

function holds(step: Name, found: string): ReceiptStep {
  return { ...step, state: 'holds', found }
}

function fails(step: Name, found: string): ReceiptStep {
  return { ...step, state: 'fails', found }
}

function whole(broken: Disagreement | undefined): ReceiptStep {
  return broken?.kind === 'malformed' ? fails(WHOLE, broken.message) : holds(WHOLE, 'It is.')
}

function inBlock(verdict: Verdict, broken: Disagreement | undefined): ReceiptStep {
  if (broken?.kind === 'malformed') return open(IN_BLOCK)
  if (broken) return fails(IN_BLOCK, broken.message)
  return holds(IN_BLOCK, `Block ${verdict.evidence?.block.number}.`)
}

function samePayment(
  { evidence }: Verdict,
  { broken, shown }: { broken: Disagreement | undefined; shown: Shown },
): ReceiptStep {
  if (broken) return open(SAME)
  const { payment, transaction } = evidence ?? {}
  if (transaction?.hash !== shown.hash) {
    return fails(SAME, `The file proves the transaction ${transaction?.hash}, which is another.`)
  }
  const { amount_wei: wei, amount_decimal: decimal, currency } = shown.amount
  // Whatever is no native coin is paid in the dollar token.
  const [amount, coin] = wei === undefined ? [inMillionths(decimal), 'a token'] : [wei, 'ETH']
  const proven = payment?.token ? 'a token' : 'ETH'
  if (proven !== coin) {
    return fails(SAME, `The file proves a payment in ${proven}, and this page one in ${currency}.`)
  }
  if (`${payment?.amount}` !== amount) {
    const unit = wei === undefined ? 'millionths' : 'wei'
    return fails(SAME, `The file proves ${payment?.amount} ${unit}, and this page says otherwise.`)
  }
  return holds(SAME, `${payment?.amount} in the smallest unit, to ${payment?.payee}.`)
}

/** The smallest unit of the token; the page shows at most so many decimals. */
function inMillionths(decimal: string): string {
  const [whole = '', fraction = ''] = decimal.split('.')
  return `${BigInt(whole + fraction.padEnd(6, '0'))}`
}

const LATER: ReadonlySet<string> = new Set(['not_final', 'provider_lags', 'unavailable'])

function anchored(verdict: Verdict, node: Provider): ReceiptStep[] {
  const [problem] = verdict.disagreements
  if (problem === undefined) {
    const count = verdict.evidence?.confirmations
    return [holds(KNOWN, `${node.name} does.`), holds(FINAL, `${count} confirmations.`)]
  }
  if (problem.kind === 'not_final') {
    const step: ReceiptStep = { ...FINAL, state: 'waits', found: problem.message }
    return [holds(KNOWN, `${node.name} does.`), step]
  }
  const state = LATER.has(problem.kind) ? 'waits' : 'fails'
  return [{ ...KNOWN, state, found: problem.message }, open(FINAL)]
}
