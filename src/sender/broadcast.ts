import { messageOf } from '../base/errors.ts'
import type { Quorum } from '../chain/quorum.ts'
import { isRefusal, NO_FUNDS } from '../chain/rpc/rpc-error.ts'
import type { Attempt, SendAnswer } from '../domain/orders.ts'
import { listAttempts, noteSent } from '../store/orders/attempts.ts'
import type { Lease } from '../store/orders/lanes.ts'
import type { SenderContext } from './context.ts'
import type { LaneQueue } from './slots.ts'

export type Broadcasting = {
  lease: Lease
  /** The nonce that the chain waits for, where enough providers agree on it. */
  expected: bigint | undefined
  standing: LaneQueue
}

/**
 * Sends the newest transaction of each nonce that may be on its way to every provider. Repeating it
 * is the same as sending it once, and what a provider says to it decides nothing.
 */
export async function broadcastLanes(
  context: SenderContext,
  quorum: Quorum,
  lanes: readonly Broadcasting[],
): Promise<void> {
  const due = lanes
    .flatMap(({ standing }) => standing.waiting.map(({ newest }) => newest))
    .filter((newest) => isDue(context, newest))
  await sendAll(context, quorum, due)
}

/** A reorg beyond the final block gave nonces back; the lane waits for them all the same. */
export async function resendLane(
  context: SenderContext,
  quorum: Quorum,
  { lease, expected, standing: { lowest } }: Broadcasting,
): Promise<void> {
  if (lowest === undefined || expected === undefined || expected >= lowest.nonce) return
  await resend(context, { lease, quorum, from: expected, below: lowest.nonce })
}

async function resend(
  context: SenderContext,
  gap: { lease: Lease; quorum: Quorum; from: bigint; below: bigint },
): Promise<void> {
  const { lease, quorum, from, below } = gap
  const end = from + BigInt(context.policy.inFlight)
  const to = (below < end ? below : end) - 1n
  for (const attempt of await listAttempts(context.db, { ...lease, from, to })) {
    if (attempt.state === 'final') await send(context, quorum, attempt)
  }
}

async function send(context: SenderContext, quorum: Quorum, attempt: Sendable): Promise<void> {
  const startedAt = context.clock.now()
  await note(context, startedAt, [{ attempt, answer: await ask(context, quorum, attempt) }])
}

type Sendable = Pick<Attempt, 'id' | 'orderId' | 'raw' | 'hash'>

/**
 * All at one time, so that they travel in one request. A node that takes nonces only in their order
 * may refuse those that came too early, so what is refused is sent once more, one after the other.
 */
export async function sendAll(
  context: SenderContext,
  quorum: Quorum,
  attempts: readonly Sendable[],
): Promise<void> {
  const startedAt = context.clock.now()
  const sent = await Promise.all(
    attempts.map(async (attempt) => ({ attempt, answer: await ask(context, quorum, attempt) })),
  )
  if (sent.length > 1) {
    for (const one of sent) {
      if (one.answer === 'refused') one.answer = await ask(context, quorum, one.attempt)
    }
  }
  if (sent.length > 0) await note(context, startedAt, sent)
}

async function ask(
  { logger }: SenderContext,
  quorum: Quorum,
  attempt: Sendable,
): Promise<SendAnswer> {
  const answers = await Promise.all(
    quorum.providers.map(async ({ name, request }): Promise<SendAnswer> => {
      const { signal } = quorum
      try {
        await request({ method: 'eth_sendRawTransaction', params: [attempt.raw], signal })
        return 'accepted'
      } catch (error) {
        const answer = answerOf(error)
        logger.debug({ provider: name, hash: attempt.hash, answer }, 'a provider did not take it')
        return answer
      }
    }),
  )
  return BY_WEIGHT.find((one) => answers.includes(one)) ?? 'unreachable'
}

async function note(
  { db, clock, traces }: SenderContext,
  startedAt: Date,
  sent: ReadonlyArray<{ attempt: Sendable; answer: SendAnswer }>,
): Promise<void> {
  const now = clock.now()
  const notes = sent.map(({ attempt, answer }) => ({ id: attempt.id, answer, now }))
  await noteSent(db, notes)
  traces?.follow(
    sent.map(({ attempt: { orderId, hash }, answer }) => {
      return { name: 'submit', orderId, hash, answer, startedAt, endedAt: now }
    }),
  )
}

/** One provider that took it is enough; after that the one that says most. */
const BY_WEIGHT: readonly SendAnswer[] = [
  'accepted',
  'no_funds',
  'underpriced',
  'nonce_low',
  'wrong_chain',
  'refused',
]

/** "Already known" is success. "Nonce too low" decides nothing: the follower finds what took it. */
function answerOf(error: unknown): SendAnswer {
  if (!isRefusal(error)) return 'unreachable'
  const text = messageOf(error)
  if (KNOWN.test(text)) return 'accepted'
  if (NONCE_LOW.test(text)) return 'nonce_low'
  if (WRONG_CHAIN.test(text)) return 'wrong_chain'
  if (UNDERPRICED.test(text)) return 'underpriced'
  if (NO_FUNDS.test(text)) return 'no_funds'
  return 'refused'
}

const KNOWN = /already (known|imported|in|exists)|known transaction/i
const NONCE_LOW = /nonce (is )?too low|old nonce|invalid nonce/i
const WRONG_CHAIN = /chain ?id/i
const UNDERPRICED =
  /underpriced|fee (per gas )?(is )?(less|too low)|fee cap|below (the )?(base|minimum)/i

function isDue({ clock, policy }: SenderContext, { lastSentAt }: Attempt): boolean {
  if (lastSentAt === undefined) return true
  return clock.now().getTime() - lastSentAt.getTime() >= policy.rebroadcastMs
}
