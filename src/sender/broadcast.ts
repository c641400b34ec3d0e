import { messageOf } from '../base/errors.ts'
import type { Attempt, SendAnswer } from '../domain/orders.ts'
import { listAttempts, noteSent } from '../store/attempts.ts'
import type { Lease } from '../store/lanes.ts'
import type { SenderContext } from './context.ts'
import { isRefusal, NO_FUNDS } from './prepare.ts'
import type { Quorum } from './quorum.ts'
import { listSlots, listWaiting } from './slots.ts'

export type Broadcasting = { lease: Lease; quorum: Quorum; expected: bigint | undefined }

/**
 * Sends the newest transaction of each nonce that may be on its way to every provider. Repeating it
 * is the same as sending it once, and what a provider says to it decides nothing.
 */
export async function broadcastLane(
  context: SenderContext,
  { lease, quorum, expected }: Broadcasting,
): Promise<void> {
  const [lowest] = await listSlots(context.db, lease, 1)
  if (lowest !== undefined && expected !== undefined && expected < lowest.nonce) {
    await resend(context, { lease, quorum, from: expected, below: lowest.nonce })
  }
  for (const { newest } of await listWaiting(context.db, lease, context.policy.inFlight)) {
    if (isDue(context, newest)) await send(context, quorum, newest)
  }
}

/** A reorg beyond the final block gave these nonces back; the lane waits for them all the same. */
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

export async function send(
  { db, clock, logger }: SenderContext,
  quorum: Quorum,
  attempt: Pick<Attempt, 'id' | 'raw' | 'hash'>,
): Promise<void> {
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
  const answer = BY_WEIGHT.find((one) => answers.includes(one)) ?? 'unreachable'
  await noteSent(db, { id: attempt.id, answer, now: clock.now() })
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

/** "Already known" is success. "Nonce too low" is no verdict: the follower finds what took it. */
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
