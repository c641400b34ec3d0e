import { check } from '../verify/check.ts'
import { isCoinOf } from '../verify/coins.ts'
import type { Coin, Disagreement, DisagreementKind, Provider, Verdict } from '../verify/index.ts'
import { readCoin } from '../verify/index.ts'
import type { ReceiptFactsWire } from '../wire/group-b/admin.ts'
import { formatUnits, groupDigits } from './parts/format.ts'

/** One thing that is looked at, and what was found. */
export type ReceiptStep = {
  name: string
  /** What it means, for those who have never done this. */
  meaning: string
  state: 'open' | 'holds' | 'waits' | 'fails'
  found: string
  /** Of a step that fails at the node: who is at fault. */
  fault?: 'node' | 'receipt'
}

/** What the page says of the payment; the file must prove the same. */
export type Shown = {
  hash: string | null
  currency: string
  decimals: number
  /** In the smallest unit. */
  amount: bigint
  /** What is undefined is not recorded. The token is null where native coin was paid. */
  token?: string | null | undefined
  payee?: string | undefined
  reference?: string | undefined
  settlement?: string | undefined
}

export type Checked = { steps: ReceiptStep[]; caveats: readonly string[] }

export function shownBy(facts: ReceiptFactsWire): Shown {
  const { eth_transaction_hash: hash, amount_wei: wei, amount_decimal, currency, paid } = facts
  const decimals = facts.token_decimals ?? (currency === 'ETH' ? 18 : 6)
  const amount = BigInt(paid?.amount_units ?? wei ?? unitsOf(amount_decimal, decimals))
  const { to_address: payee, token, reference, contract } = paid ?? {}
  // Another coin than ether has its decimals with it, as tokens have.
  const isCoin = currency === 'ETH' || (facts.token_decimals !== null && token === null)
  return {
    hash,
    currency,
    decimals,
    amount,
    token: isCoin ? null : (token ?? undefined),
    payee,
    reference: reference ?? undefined,
    settlement: contract ?? undefined,
  }
}

/** An amount of the page in the page's currency, in which a dollar is divided by a million. */
export function formatShown({
  amount,
  decimals,
  currency,
}: Pick<Shown, 'amount' | 'decimals' | 'currency'>): string {
  return `${groupDigits(formatUnits(amount, decimals))} ${currency}`
}

/**
 * Checks a quittance as a person follows it: is the file whole, is the payment in the block that it
 * names, is it the payment of this page, and does a node that the visitor chose know that block?
 * Each step relies on those before it, and none is made after one that fails.
 */
export async function checkReceipt(options: {
  file: string
  shown: Shown
  node: Provider
  confirmations: number
}): Promise<Checked> {
  const { file, shown, node, confirmations } = options
  // This check expects the standard contract, whatever the page says, and reports any other one.
  const offline = await check(file, { claim: claimOf({ ...shown, settlement: undefined }) })
  const broken = offline.disagreements.find(({ kind }) => BROKEN.has(kind))
  if (broken) {
    const steps = [whole(broken), inBlock(offline, broken), open(SAME), ...UNASKED]
    return { steps, caveats: [] }
  }
  const claim = claimOf({ ...shown, ...unrecorded(offline, shown) })
  const verdict = await check(file, { claim, providers: [node], confirmations })
  const coin = await coinFor(verdict, node)
  const same = samePayment(verdict, { shown, coin })
  const steps = [whole(broken), inBlock(verdict, broken), same]
  const caveats = [...new Set([...offline.caveats, ...verdict.caveats])]
  if (same.state !== 'holds') return { steps: [...steps, ...UNASKED], caveats }
  return { steps: [...steps, ...anchored(verdict, node)], caveats }
}

const BROKEN: ReadonlySet<DisagreementKind> = new Set(['malformed', 'tampered'])

function claimOf({ payee, amount, token, reference, settlement }: Shown) {
  return { payee, amount, token, reference, settlement }
}

/** Of a payment of which nothing is recorded, the file tells the token and the contract. */
function unrecorded({ evidence }: Verdict, shown: Shown): Partial<Shown> {
  if (shown.payee !== undefined) return {}
  const { kind, token = null, contract } = evidence?.payment ?? {}
  const settlement = kind === 'settlement' ? (contract ?? undefined) : undefined
  return {
    token: shown.token === undefined ? token : shown.token,
    settlement: shown.settlement ?? settlement,
  }
}

/** By the word of the node, where that knows the block. */
async function coinFor({ evidence }: Verdict, node: Provider): Promise<Coin | undefined> {
  const token = evidence?.payment?.token ?? undefined
  if (token === undefined || evidence?.agreeing.length === 0) return undefined
  return readCoin(token, { providers: [node] })
}

const WHOLE = {
  name: 'The file is whole',
  meaning: 'Every byte is unchanged.',
} as const
const IN_BLOCK = {
  name: 'The payment is in its block',
  meaning:
    'Hashes connect the receipt and the transaction of the payment with the header of the block.',
} as const
const SAME = {
  name: 'It is the payment of this page',
  meaning: 'Transaction, payee, amount, token and reference are the same as on this page.',
} as const
const KNOWN = {
  name: 'Your node knows that block',
  meaning: 'The node that you chose has the same block at the same number.',
} as const
const FINAL = {
  name: 'It is final',
  meaning: 'Enough blocks are on top of it, so that the chain can no longer replace it.',
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
  return broken?.kind === 'malformed' ? fails(WHOLE, broken.message) : holds(WHOLE, WHOLE.meaning)
}

function inBlock(verdict: Verdict, broken: Disagreement | undefined): ReceiptStep {
  if (broken?.kind === 'malformed') return open(IN_BLOCK)
  if (broken) return fails(IN_BLOCK, broken.message)
  return holds(IN_BLOCK, `Block ${groupDigits(String(verdict.evidence?.block.number))}.`)
}

function samePayment(
  { evidence, disagreements }: Verdict,
  { shown, coin }: { shown: Shown; coin: Coin | undefined },
): ReceiptStep {
  const { payment, transaction, chainId } = evidence ?? {}
  if (payment === undefined || transaction?.hash !== shown.hash) {
    return fails(SAME, `The file proves another transaction: ${transaction?.hash}.`)
  }
  const { currency, decimals } = shown
  const isCoin = shown.token === null && isCoinOf(chainId, currency)
  const proven = payment.token === null ? (coin?.symbol ?? 'native coin') : 'a token'
  if ((payment.token === null) !== isCoin) {
    return fails(SAME, `The file proves a payment in ${proven}, and this page one in ${currency}.`)
  }
  const paid = textOf(payment.amount, { coin, shown })
  const claimed = disagreements.filter(({ kind }) => CLAIMED.has(kind))
  const isOtherSize = coin !== undefined && coin.decimals !== decimals
  if (claimed.some(({ kind }) => kind === 'wrong_amount') || isOtherSize) {
    return fails(SAME, `The file proves ${paid}, and this page shows ${formatShown(shown)}.`)
  }
  const [other] = claimed
  return other ? fails(SAME, other.message) : holds(SAME, `${paid} to ${payment.payee}.`)
}

/** What the file proves and the page says otherwise. */
const CLAIMED: ReadonlySet<DisagreementKind> = new Set([
  'no_payment',
  'wrong_amount',
  'wrong_recipient',
  'wrong_token',
  'wrong_contract',
  'wrong_reference',
])

/** In the token's own decimals and by its symbol; else as the page counts. */
function textOf(amount: bigint, { coin, shown }: { coin: Coin | undefined; shown: Shown }): string {
  if (coin === undefined) return formatShown({ ...shown, amount })
  const decimal = groupDigits(formatUnits(amount, coin.decimals))
  return coin.symbol === undefined ? decimal : `${decimal} ${coin.symbol}`
}

function unitsOf(decimal: string, decimals: number): string {
  const [whole = '', fraction = ''] = decimal.split('.')
  return `${BigInt(whole + fraction.padEnd(decimals, '0'))}`
}

/** It serves another chain, or its own answers contradict each other or the proof of the block. */
const OF_THE_NODE: ReadonlySet<string> = new Set(['provider_disagrees', 'wrong_chain'])

const LATER: ReadonlySet<string> = new Set(['not_final', 'provider_lags', 'unavailable'])

function anchored(verdict: Verdict, node: Provider): ReceiptStep[] {
  const [problem] = verdict.disagreements
  if (problem === undefined) {
    const count = verdict.evidence?.confirmations
    return [
      holds(KNOWN, `${node.name} does.`),
      holds(FINAL, `${groupDigits(String(count))} confirmations.`),
    ]
  }
  if (problem.kind === 'not_final') {
    const step: ReceiptStep = { ...FINAL, state: 'waits', found: problem.message }
    return [holds(KNOWN, `${node.name} does.`), step]
  }
  const state = LATER.has(problem.kind) ? 'waits' : 'fails'
  const fault = OF_THE_NODE.has(problem.kind) ? 'node' : 'receipt'
  return [{ ...KNOWN, state, found: problem.message, fault }, open(FINAL)]
}
