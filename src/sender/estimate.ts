import { messageOf } from '../base/errors.ts'
import { AnswerError, quantity } from '../chain/answers.ts'
import type { Quorum } from '../chain/quorum.ts'
import type { Provider } from '../chain/rpc/provider.ts'
import { reasonOfFailure } from '../chain/reverts.ts'
import { isRefusal, isRevert, NO_FUNDS } from '../chain/rpc/rpc-error.ts'
import { isBundle, type Hex, type Route } from '../domain/orders.ts'
import type { SenderContext } from './context.ts'
import { insufficientFunds, OrderRefusedError, unreachable } from './refused.ts'
import type { Call } from './sign.ts'

/**
 * The gas limit of a call that would succeed now. Rejects with `simulation_failed` when it would
 * fail, and with `chain_unreachable` when no provider can tell.
 */
export async function estimateGas(quorum: Quorum, of: AskedCall): Promise<bigint> {
  const estimated = await askGas(quorum, of)
  // A transfer to a plain address takes exactly this. Elsewhere the state may have moved on.
  return estimated <= 21_000n ? 21_000n : (estimated * 6n) / 5n + FIRST_IN_WORD_GAS
}

type AskedCall = { signer: Hex; call: Call }

/** What the call would take at this moment. */
export async function askGas(quorum: Quorum, { signer, call }: AskedCall): Promise<bigint> {
  const { to, value, data } = call
  const params = [{ from: signer, to, value: `0x${value.toString(16)}`, data }]
  return firstAnswer(quorum, async (provider, signal) => {
    try {
      const estimate = await provider.request({ method: 'eth_estimateGas', params, signal })
      const answer = quantity(estimate, 'estimate')
      // Every node would refuse a transaction with less gas, and it would block its lane.
      if (answer < leastGas(data)) throw new AnswerError('gas estimate', provider.name)
      return answer
    } catch (error) {
      if (isRevert(error)) throw simulationFailed(error, call)
      if (isRefusal(error) && NO_FUNDS.test(messageOf(error))) throw insufficientFunds(signer)
      throw error
    }
  })
}

/** What carrying the bytes costs at least, whatever they do (EIP-7623). */
function leastGas(data: Hex): bigint {
  const bytes = Buffer.from(data.slice(2), 'hex')
  return bytes.reduce((sum, byte) => sum + (byte === 0 ? 10n : 40n), 21_000n)
}

/** A reference that begins a word of the contract's bitmap costs more than the one simulated. */
export const FIRST_IN_WORD_GAS = 25_000n

/**
 * What a rollup may charge for a payment on top of its gas. With it, no payment is accepted whose
 * fee the balance cannot cover.
 */
export async function mostRollupFee(
  { readRollupFee, quorum }: SenderContext & { quorum: Quorum },
  { route, bundled, gas }: { route: Route; bundled: readonly unknown[]; gas: bigint },
): Promise<bigint> {
  if (readRollupFee === undefined) return 0n
  const words = isBundle(route) ? BUNDLE_WORDS + ITEM_WORDS * bundled.length : CALL_WORDS
  const bytes = BARE_BYTES + (route === 'direct' ? 0 : words * WORD_BYTES)
  try {
    return await readRollupFee({ bytes, gas }, quorum.signal)
  } catch (error) {
    throw unreachable(error)
  }
}

/** A transaction without calldata, unsigned, and a selector. */
const BARE_BYTES = 124
const WORD_BYTES = 32
/** A payment by a permit has the most arguments. */
const CALL_WORDS = 8
/** The token, where three lists are, and how long each is. */
const BUNDLE_WORDS = 7
/** Reference, payee and amount. */
const ITEM_WORDS = 3

/** Asks one provider after the other; what our own code concluded from an answer stands. */
export async function firstAnswer<T>(
  { providers, signal }: Quorum,
  ask: (provider: Provider, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  let last: unknown
  for (const provider of providers) {
    try {
      return await ask(provider, signal)
    } catch (error) {
      if (error instanceof OrderRefusedError) throw error
      last = error
    }
  }
  throw unreachable(last)
}

function tokenPaused(cause: unknown): OrderRefusedError {
  return new OrderRefusedError(
    'The issuer has paused the token, so nobody can be paid in it. Nothing was sent; try again later.',
    { code: 'token_paused', retryable: true, cause },
  )
}

function simulationFailed(cause: unknown, { data }: Call): OrderRefusedError {
  const isPlain = data === '0x'
  const reason = reasonOfFailure(cause)
  // What is sent plainly runs the payee's own code, which says of a token whatever it likes.
  if (!isPlain && reason?.code === 'token_paused') return tokenPaused(cause)
  const silent = isPlain ? 'the payee refuses it' : 'the contract or the payee refuses it'
  return new OrderRefusedError(
    `The payment would fail on the chain: ${reason?.words ?? silent}. Nothing was sent.`,
    { code: 'simulation_failed', cause },
  )
}
