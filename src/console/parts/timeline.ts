import type { TransactionLifeWire } from '../../wire/group-b/admin.ts'
import { groupDigits, plural, sentenceOf, shortHash } from './format.ts'

/** One thing that happened to a transaction, as a person reads it. */
export type Step = {
  /** Undefined where only the chain knows when. */
  at: string | undefined
  title: string
  detail: string
  tone: 'good' | 'bad' | 'plain' | 'waiting'
  hash?: string | undefined
}

type Life = Pick<
  TransactionLifeWire,
  'status' | 'history' | 'order' | 'blockchain_transaction' | 'gateway_id' | 'institution_id'
>
type Attempt = NonNullable<TransactionLifeWire['order']>['attempts'][number]

/** Everything that is known of a transaction, in the order in which it happened. */
export function stepsOf(life: Life): Step[] {
  const steps = [
    ...life.history.map(moveStep),
    ...(life.order?.attempts.flatMap((attempt) => attemptSteps(attempt, life)) ?? []),
  ]
  // What has no time of its own stays behind what it follows from.
  let latest = ''
  return steps
    .map((step, place) => ({ step, place, at: (latest = step.at ?? latest) }))
    .toSorted((a, b) => (a.at === b.at ? a.place - b.place : a.at < b.at ? -1 : 1))
    .map(({ step }) => step)
}

const TONES: Readonly<Record<string, Step['tone']>> = {
  completed: 'good',
  failed: 'bad',
  refunded: 'plain',
}

function moveStep(move: Life['history'][number]): Step {
  return {
    at: move.created_at,
    title: move.previous_status === null ? 'Recorded' : sentenceOf(move.status),
    detail: `${move.reason}, by ${move.actor}`,
    tone: TONES[move.status] ?? 'plain',
  }
}

const KINDS: Readonly<Record<Attempt['kind'], string>> = {
  payment: 'Payment',
  cancel: 'Cancellation',
  filler: 'Filler',
}

function attemptSteps(attempt: Attempt, life: Life): Step[] {
  const { eth_tx_hash: hash } = attempt
  const name = KINDS[attempt.kind]
  const fee = `${groupDigits(String(attempt.max_fee_per_gas))} wei a gas at most`
  const steps: Step[] = [
    {
      at: attempt.created_at,
      title: `${name} signed`,
      detail: `Nonce ${attempt.nonce}, ${fee}`,
      tone: 'plain',
      hash,
    },
  ]
  if (attempt.sent_at !== null) {
    const answer = attempt.last_answer === null ? '' : `; last answer: ${attempt.last_answer}`
    const detail = `To every provider${answer}`
    steps.push({ at: attempt.sent_at, title: `${name} sent`, detail, tone: 'plain' })
  }
  if (attempt.block_number !== null) steps.push(blockStep(attempt, life))
  if (attempt.state === 'superseded') {
    const detail = 'Another transaction took its nonce for good'
    steps.push({ at: undefined, title: `${name} superseded`, detail, tone: 'plain' })
  }
  return steps
}

function blockStep(attempt: Attempt, life: Life): Step {
  const confirmations = Number(life.blockchain_transaction?.confirmations ?? 0)
  const block = attempt.block_hash === null ? '' : ` (${shortHash(attempt.block_hash)})`
  const used = attempt.gas_used === null ? '' : `, ${groupDigits(String(attempt.gas_used))} gas`
  const where = `Block ${attempt.block_number}${block}${used}`
  if (attempt.succeeded === false) {
    return { at: undefined, title: 'Reverted on chain', detail: where, tone: 'bad' }
  }
  const isFinal = attempt.state === 'final'
  return {
    at: undefined,
    title: isFinal ? 'Final on chain' : 'In a block',
    detail: `${where}, ${plural(confirmations, 'confirmation')}`,
    tone: isFinal ? 'good' : 'waiting',
  }
}

export type Pending = {
  reason: string
  advice: string
  /** People decide it, on a screen of its own. */
  isUndecided?: boolean
}

/** Why it is not done yet, and what to do about it. */
export function explainPending(life: Life): Pending | undefined {
  const chain = life.blockchain_transaction
  if (chain?.pending_reason) {
    const advice = ADVICE[chain.pending_reason] ?? 'Look at the steps below.'
    return { reason: sentenceOf(chain.pending_reason), advice }
  }
  const isOpen = life.status === 'pending' || life.status === 'processing'
  return isOpen && !chain ? explainOutside(life) : undefined
}

/** Whom it waits for where nothing of ours is on the chain. */
function explainOutside(life: Life): Pending | undefined {
  if (life.institution_id !== null) {
    const advice = 'The bank has it or is asked again by itself; there is nothing to do.'
    return { reason: 'Waiting for the bank', advice }
  }
  if (life.gateway_id === null) return undefined
  if (life.status === 'pending') {
    const advice = 'The payer has not paid yet. The gateway is asked again by itself.'
    return { reason: 'Waiting for the payer', advice }
  }
  if (life.history.at(-1)?.actor === 'gateway:crypto_checkout') {
    const advice = 'What has come is less than the whole, or came late.'
    return { reason: 'Waiting for a decision', advice, isUndecided: true }
  }
  const advice = 'The payer has paid, and the gateway is not done. It is asked again by itself.'
  return { reason: 'Waiting for the gateway', advice }
}

const ADVICE: Readonly<Record<string, string>> = {
  waiting_for_finality:
    'It is in a block that could still leave the chain. It counts once that block is final; ' +
    'there is nothing to do.',
  waiting_for_turn: 'It is signed and stored, and is sent once its turn comes.',
  waiting_for_block:
    'Providers have it, and it waits for a block. It is sent again at a higher fee when it is ' +
    'stuck; there is nothing to do.',
  cancelling: 'An empty transaction at its nonce is on its way. What is mined decides.',
  no_funds: 'The payer cannot pay for it. Send ETH to the payer’s address.',
  fee_too_low: 'Providers find the fee too low. It is raised by itself, within its budget.',
  providers_unreachable: 'No provider answers. Look at ETH_RPC_URL and at the providers.',
  refused_by_providers: 'Providers refuse it for a reason of their own. Read their logs.',
  nonce_unclear: 'Another transaction took the nonce. Which one, is being found out.',
}
