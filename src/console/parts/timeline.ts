import type { TransactionLifeWire } from '../../wire/group-b/admin.ts'
import type { ObjectionWire } from '../../wire/group-b/transactions.ts'
import { formatDecimal, groupDigits, plural, sentenceOf, shortHash, whoOf } from './format.ts'

/** One thing that happened to a transaction, as a person reads it. */
export type Step = {
  /** Undefined where only the chain knows when. */
  at: string | undefined
  title: string
  detail: string
  tone: 'good' | 'bad' | 'plain' | 'waiting'
  hash?: string | undefined
  /** The user who did it, whose name the transaction does not have. */
  by?: string | undefined
}

type Life = Pick<
  TransactionLifeWire,
  'status' | 'history' | 'order' | 'blockchain_transaction' | 'gateway_id' | 'institution_id'
> &
  Partial<
    Pick<
      TransactionLifeWire,
      'arrivals' | 'disputes' | 'disputed_by' | 'refunds' | 'currency' | 'user_id' | 'username'
    >
  >
type Attempt = NonNullable<TransactionLifeWire['order']>['attempts'][number]

/** Everything that is known of a transaction, in the order in which it happened. */
export function stepsOf(life: Life): Step[] {
  const [first, ...moves] = life.history.map((move) => ({ move, step: moveStep(move, life) }))
  // At the same moment the cause comes before the status that follows from it. What a block has
  // begun comes before its end: a slow look finds the block and its end together.
  const ranked = [
    ...(first ? [{ step: first.step, rank: 0 }] : []),
    ...[
      ...(life.arrivals ?? []).map(arrivalStep),
      ...(life.order?.attempts.flatMap((attempt) => attemptSteps(attempt, life)) ?? []),
      ...(life.disputes ?? []).flatMap(disputeSteps),
      ...(life.disputed_by ?? []).map(objectionStep),
      ...(life.refunds ?? []).map((refund) => refundStep(refund, life)),
    ].map((step) => ({ step, rank: step.at === undefined ? 4 : step.title === FINAL ? 2 : 1 })),
    ...moves.map(({ move, step }) => ({ step, rank: move.status === 'processing' ? 1.5 : 3 })),
  ]
  // What has no time of its own stays behind what it follows from.
  let latest = ''
  return ranked
    .map((one, place) => ({
      ...one,
      place,
      at: (latest = later(first?.step.at, one.step.at ?? latest)),
    }))
    .toSorted((a, b) => order(a.at, b.at) || a.rank - b.rank || a.place - b.place)
    .map(({ step }) => step)
}

/** A block counts in whole seconds, and what it pays was recorded before it. */
function later(recordedAt: string | undefined, at: string): string {
  return recordedAt !== undefined && recordedAt > at ? recordedAt : at
}

function order(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

const TONES: Readonly<Record<string, Step['tone']>> = {
  completed: 'good',
  failed: 'bad',
  refunded: 'plain',
}

function moveStep(move: Life['history'][number], life: Life): Step {
  const name = actorName(move.actor, life)
  return {
    at: move.created_at,
    title: move.previous_status === null ? 'Recorded' : sentenceOf(move.status),
    detail: `${sentenceOf(plainReason(move.reason))}, by${name === undefined ? '' : ` ${name}`}`,
    tone: TONES[move.status] ?? 'plain',
    by: name === undefined ? move.actor : undefined,
  }
}

/** What gateways call a payment, in words. */
function plainReason(reason: string): string {
  return reason
    .replace(/^the gateway says (\w+)(?:: (\w+))?$/, (_all, status: string, code?: string) => {
      const words = GATEWAY_WORDS[status] ?? `the gateway reports ${status.toLowerCase()}`
      return `${words}${code === undefined ? '' : `: ${code}`}`.replaceAll('_', ' ')
    })
    .replace(/^(\w+ by hand), (\w+),/, (_all, how: string, status: string) => {
      const words = GATEWAY_WORDS[status] ?? status.toLowerCase()
      return `${how}: ${words},`
    })
}

const GATEWAY_WORDS: Readonly<Record<string, string>> = {
  COMPLETED: 'the gateway has the whole amount',
  DELAYED: 'the payment came after the time to pay',
  EXPIRED: 'the time to pay has passed',
  OVERPAID: 'more than the amount arrived',
  UNDERPAID: 'less than the amount arrived',
}

/** A number tells nobody who it was. Undefined for a user whom the screen asks for. */
function actorName(actor: string, { user_id: id, username }: Life): string | undefined {
  if (actor in ACTORS) return ACTORS[actor]
  if (id !== undefined && actor === `user:${id}`) return username
  return actor.startsWith('user:') ? undefined : whoOf(actor)
}

function refundStep(refund: NonNullable<Life['refunds']>[number], life: Life): Step {
  const { amount_decimal: decimal, status, payer, error_code: code, created_at: at } = refund
  const currency = life.currency ?? ''
  const outcome = status === 'pending' ? 'in progress' : status
  const why = code === null ? '' : `: ${sentenceOf(code).toLowerCase()}`
  return {
    at,
    title: 'Refund requested',
    detail:
      `${formatDecimal(decimal, currency)} ${currency}` +
      `${payer === null ? '' : ` to ${payer}`}; ${outcome}${why}`,
    tone: status === 'completed' ? 'good' : status === 'failed' ? 'bad' : 'waiting',
  }
}

function arrivalStep(arrival: NonNullable<Life['arrivals']>[number]): Step {
  const { amount_decimal: decimal, amount_units: units, currency, verdict } = arrival
  const amount =
    decimal === null
      ? `${units} units of a token`
      : `${formatDecimal(decimal, currency ?? '')} ${currency}`
  const counts = verdict === 'counted' ? '' : verdict === 'late' ? ', late' : ', another token'
  return {
    at: arrival.paid_at,
    title: 'Received on chain',
    detail: `${amount} from ${arrival.payer}${counts}`,
    tone: verdict === 'counted' ? 'good' : 'waiting',
    hash: arrival.eth_transaction_hash,
  }
}

const ACTORS: Readonly<Record<string, string>> = {
  'gateway:card': 'the card gateway',
  'gateway:crypto_checkout': 'the crypto checkout',
  'gateway:refund': 'the gateway',
  'gateway:wallet_checkout': 'the wallet gateway',
  'institution:bank': 'the bank',
}

function objectionStep({ kind, reason, opened_at: at }: ObjectionWire): Step {
  const title = `${sentenceOf(kind)}: ${sentenceOf(reason).toLowerCase()}`
  return { at, title, detail: 'Opened, and open now', tone: 'bad' }
}

function disputeSteps({ reason, history }: NonNullable<Life['disputes']>[number]): Step[] {
  return history.map(({ status, created_at: at }) => ({
    at,
    title: `Dispute: ${sentenceOf(status).toLowerCase()}`,
    detail: sentenceOf(reason),
    tone: status === 'won' ? 'good' : status === 'lost' ? 'bad' : 'waiting',
  }))
}

const KINDS: Readonly<Record<Attempt['kind'], string>> = {
  payment: 'Payment',
  cancel: 'Cancellation',
  filler: 'Filler',
}

function attemptSteps(attempt: Attempt, life: Life): Step[] {
  const { eth_tx_hash: hash } = attempt
  const name = KINDS[attempt.kind]
  const fee = `at most ${groupDigits(attempt.max_fee_per_gas)} wei per gas`
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
    const detail = `Sent to every provider${answer}`
    steps.push({ at: attempt.sent_at, title: `${name} sent`, detail, tone: 'plain' })
  }
  if (attempt.block_number !== null) steps.push(...blockSteps(attempt, life))
  if (attempt.state === 'superseded') {
    const detail = 'Another transaction took its nonce'
    steps.push({ at: undefined, title: `${name} superseded`, detail, tone: 'plain' })
  }
  return steps
}

/** Only the chain knows when; the status that follows from it was recorded once it was read. */
function blockSteps(attempt: Attempt, life: Life): Step[] {
  const block = attempt.block_hash === null ? '' : ` (${shortHash(attempt.block_hash)})`
  const used = attempt.gas_used === null ? '' : `, ${groupDigits(attempt.gas_used)} gas`
  const where = `Block ${attempt.block_number}${block}${used}`
  const movedAt = life.history.find(({ status }) => status === 'processing')?.created_at
  const signedAt = attempt.sent_at ?? attempt.created_at
  const readAt = movedAt === undefined || movedAt > signedAt ? movedAt : signedAt
  const endedAt = life.history.find(({ status, actor }) => {
    return actor === 'sender' && (status === 'completed' || status === 'failed')
  })?.created_at
  const isFinal = attempt.state === 'final'
  if (attempt.succeeded === false) {
    const at = endedAt ?? readAt
    return [{ at, title: 'Reverted on chain', detail: where, tone: 'bad' }]
  }
  const mined: Step = { at: readAt ?? endedAt, title: 'In a block', detail: where, tone: 'plain' }
  if (!isFinal) {
    const detail = `${where}, ${confirmationsOf(life)}`
    return [{ ...mined, detail, tone: 'waiting' }]
  }
  const detail = isGone(life) ? 'The chain does not have it now' : confirmationsOf(life)
  return [mined, { at: endedAt, title: FINAL, detail, tone: 'good' }]
}

const FINAL = 'Final on chain'

/** A payment that was final, and whose block another one has replaced. */
export function isGone({ disputed_by: by = [], blockchain_transaction: chain }: Life): boolean {
  return by.length > 0 && chain?.status === 'confirmed' && Number(chain.confirmations) === 0
}

function confirmationsOf(life: Life): string {
  return plural(Number(life.blockchain_transaction?.confirmations ?? 0), 'confirmation')
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
    const advice = 'The bank has it, or is asked again automatically. You have nothing to do.'
    return { reason: 'Waiting for the bank', advice }
  }
  if (life.gateway_id === null) return undefined
  if (life.status === 'pending') {
    const advice = 'The payer has not paid yet. The gateway is asked again automatically.'
    return { reason: 'Waiting for the payer', advice }
  }
  if (life.history.at(-1)?.actor === 'gateway:crypto_checkout') {
    const advice = 'Less than the amount has arrived, or it arrived late.'
    return { reason: 'Waiting for a decision', advice, isUndecided: true }
  }
  const advice =
    'The payer has paid, and the gateway is still working. It is asked again automatically.'
  return { reason: 'Waiting for the gateway', advice }
}

const ADVICE: Readonly<Record<string, string>> = {
  waiting_for_finality:
    'It is in a block that the chain can still replace. It counts when that block is final. ' +
    'You have nothing to do.',
  waiting_for_turn: 'It is signed and stored. It is sent when its turn comes.',
  waiting_for_block:
    'Providers have it, and it waits for a block. If it is stuck, it is sent again at a higher ' +
    'fee. You have nothing to do.',
  cancelling: 'An empty transaction with its nonce is in progress. The one that is mined decides.',
  no_funds: 'The payer cannot pay for it. Send native coin to the payer’s address.',
  fee_too_low: 'Providers find the fee too low. It is raised automatically, within its budget.',
  providers_unreachable: 'No provider answers. Check ETH_RPC_URL and the providers.',
  refused_by_providers: 'Providers refuse it for another reason. Read their logs.',
  nonce_unclear: 'Another transaction took the nonce. The sender is finding out which one.',
}
