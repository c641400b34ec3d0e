import { decodeEvent, type DecodedEvent, type EventName } from '../chain/read/events.ts'
import { NOBODY, type Attempt, type Order } from '../domain/orders.ts'
import type { CanonicalReceipt, Taker } from './chain-view.ts'
import { isBehind, paymentCall, type Call } from './sign.ts'

/** What a final transaction at the nonce of an order means for the order. */
export type OrderOutcome =
  { state: 'completed' } | { state: 'failed'; errorCode: string; isMismatch: boolean }

type Found = { attempt: Attempt; seen: CanonicalReceipt }

/**
 * An order is completed by a payment that succeeded AND whose payee and amount are proven: by the
 * signed bytes on the direct route, by the contract's events on the others. Status 1 alone is not
 * it.
 */
export function outcomeOf(order: Order, found: Found): OrderOutcome {
  const { attempt, seen } = found
  if (attempt.kind !== 'payment') {
    return { state: 'failed', errorCode: order.cancelCode ?? 'cancelled', isMismatch: false }
  }
  if (!seen.block.succeeded) return { state: 'failed', errorCode: 'reverted', isMismatch: false }
  if (isPaid(order, found)) return { state: 'completed' }
  return { state: 'failed', errorCode: 'settlement_mismatch', isMismatch: true }
}

/** Whether somebody else's transaction did what the order asks for. */
export function isLikePayment(order: Order, taker: Taker): boolean {
  const { to, value, data } = paymentCall(order)
  return taker.to === to && taker.value === value && taker.input === data
}

function isPaid(order: Order, { attempt, seen }: Found): boolean {
  const call: Call = paymentCall(order)
  const { chainId, gas } = order
  const { nonce, fees } = attempt
  const wanted = { ...call, chainId, nonce, gas, fees }
  if (!isBehind(attempt, wanted)) return false
  const events = seen.logs.flatMap((log) => decodeEvent(log) ?? [])
  return proofOf(order).every(({ by, name, args }) =>
    events.some((event) => event.address === by && event.name === name && isSame(event.args, args)),
  )
}

type Args = Readonly<Record<string, string | bigint>>

type Proof = { by: Order['contract']; name: EventName; args: Args }

/** The events that must all be there, each of its own contract. */
function proofOf(order: Order): Proof[] {
  const { route, contract: by, token = NOBODY, signer: payer, payee, amount, reference } = order
  switch (route) {
    case 'direct':
    // What an allowance is good for, the payment behind it shows.
    case 'allowance':
      return []
    case 'contract':
      return [{ by, name: 'Settled', args: { reference, payer, payee, token: NOBODY, amount } }]
    case 'token':
      return [
        { by, name: 'Settled', args: { reference, payer, payee, token, amount } },
        { by: token, name: 'Transfer', args: { from: payer, to: payee, amount } },
      ]
    case 'transfer':
      return [{ by: token, name: 'Transfer', args: { from: payer, to: payee, amount } }]
    case 'mint':
      // The token says it three times: what the minter used up, what moved, and for which order.
      return [
        { by, name: 'Mint', args: { minter: payer, to: payee, amount } },
        { by, name: 'Transfer', args: { from: NOBODY, to: payee, amount } },
        { by, name: 'TransferWithMemo', args: { from: NOBODY, to: payee, amount, reference } },
      ]
    case 'burn':
      return [
        { by, name: 'Burn', args: { burner: payer, amount } },
        { by, name: 'Transfer', args: { from: payer, to: NOBODY, amount } },
        { by, name: 'TransferWithMemo', args: { from: payer, to: NOBODY, amount, reference } },
      ]
    default:
      return route satisfies never
  }
}

function isSame(found: DecodedEvent['args'], wanted: Args): boolean {
  return Object.entries(wanted).every(([name, value]) => found[name] === value)
}
