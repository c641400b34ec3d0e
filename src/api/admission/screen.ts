import { untilAborted } from '../../base/clock.ts'
import { forEachAtOnce } from '../../base/groups.ts'
import { limits } from '../../base/limits.ts'
import type { Logger } from '../../base/logger.ts'
import type { Hex } from '../../domain/orders.ts'
import type { WayOut } from '../../domain/spending.ts'
import { RequestError, type FieldProblem } from '../../wire/errors.ts'

/**
 * Decides about each payment before it is accepted. It is asked while no SQL transaction is open,
 * after the request was checked, and has five seconds. A refusal is a 403 `policy_refused` that
 * names the rule. If you throw, answer something else or answer late, the request gets a 503 and
 * nothing is accepted.
 *
 * It is asked again where a request is repeated that was not accepted. It is not asked about a
 * repeat of what was accepted, and not about moves between the wallets of one user. What arrives on
 * a chain cannot be refused: `GET /api/events` reports each deposit.
 *
 * @example
 *   ```ts
 *   import type { Screen } from 'quittance/server'
 *
 *   declare const sanctions: { has: (address: string, signal: AbortSignal) => Promise<boolean> }
 *
 *   export const screen: Screen = async ({ address }, signal) =>
 *     address !== undefined && (await sanctions.has(address, signal))
 *       ? { allowed: false, rule: 'sanctions' }
 *       : { allowed: true }
 *   ```
 */
export type Screen = (payment: ScreenedPayment, signal: AbortSignal) => Promise<ScreenAnswer>

/** What a screen says. The rule is a word such as `sanctions`, which the caller sees. */
export type ScreenAnswer = { allowed: true } | { allowed: false; rule: string }

/** A payment that was requested, and not accepted yet. */
export type ScreenedPayment = {
  /**
   * How the money leaves: paid on a chain, minted, withdrawn to a chain, sent by wire (Group A) or
   * by transfer (Group B), or refunded. `payment` asks a payer for money.
   */
  way: WayOut | 'payment'
  /** Whose money it is, or will be. */
  userId: number
  /** A decimal. Of a refund that names no amount, the whole payment: at most that goes back. */
  amount: string
  currency: string
  /** The name of the chain, where it is paid on one. */
  chain?: string | undefined
  /** Who receives it there, with its checksum. */
  address?: Hex | undefined
  /** Who receives it at a bank. */
  beneficiary?:
    | {
        name?: string | undefined
        addressLine1?: string | undefined
        accountNumber?: string | undefined
        routingNumber?: string | undefined
      }
    | undefined
  institutionId?: number | undefined
  gatewayId?: number | undefined
  description?: string | undefined
  metadata?: Readonly<Record<string, string>> | undefined
}

/** What a request moves, and which of its fields a refusal is about. */
export type Move = ScreenedPayment & { field: string }

/** Rejects with a refusal where one of the moves is not allowed, or where nobody can say. */
export type Screening = (moves: readonly Move[], signal: AbortSignal) => Promise<void>

export function createScreening(deps: { screen: Screen; logger: Logger }): Screening {
  return async (moves, signal) => {
    const rules: (string | undefined)[] = []
    await forEachAtOnce([...moves.entries()], AT_ONCE, async ([place, move]) => {
      rules[place] = await ruleAgainst(deps, move, signal)
    })
    const problems = moves.flatMap(({ field }, place): FieldProblem[] => {
      const code = rules[place]
      return code === undefined ? [] : [{ field, code, message: sentenceOf(code) }]
    })
    const [first] = problems
    if (first !== undefined) throw new RequestError('policy_refused', first.message, { problems })
  }
}

/** A batch has up to a thousand. */
const AT_ONCE = 16

/** The rule that refuses it; undefined where it is allowed. */
async function ruleAgainst(
  { screen, logger }: { screen: Screen; logger: Logger },
  move: Move,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { field: _, ...payment } = move
  const within = AbortSignal.any([signal, AbortSignal.timeout(limits.screenMs)])
  try {
    return readAnswer(await untilAborted(within, () => screen(payment, within)))
  } catch (cause) {
    logger.error({ err: cause, way: payment.way }, 'the screen gave no answer')
    const sentence = 'The payment cannot be screened now, and nothing was done. Try again later.'
    const headers = { 'retry-after': '1' }
    throw new RequestError('unavailable', sentence, { cause, headers, retryable: true })
  }
}

/** The types promise nothing to a program in JavaScript: only a clear yes lets a payment pass. */
function readAnswer(answer: unknown): string | undefined {
  const { allowed, rule } = (answer ?? {}) as { allowed?: unknown; rule?: unknown }
  if (allowed === true) return undefined
  if (allowed === false && typeof rule === 'string' && RULE.test(rule)) return rule
  throw new TypeError('the answer has neither `allowed: true` nor `allowed: false` and a rule')
}

const RULE = /^[a-z][a-z0-9_]{0,63}$/

function sentenceOf(rule: string): string {
  return `The rule \`${rule}\` refuses the payment. Ask the operator of the platform.`
}
