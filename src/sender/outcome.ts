import type { OwnSignatures } from '../chain/own-signature.ts'
import { decodeEvent, type DecodedEvent, type EventName } from '../chain/events.ts'
import type { Attempt, Order } from '../domain/orders.ts'
import type { Seen, Taker } from './chain-view.ts'
import { isSigned, paymentCall, type Call } from './sign.ts'

/** What a final transaction at the nonce of an order means for the order. */
export type Outcome =
  { state: 'completed' } | { state: 'failed'; errorCode: string; isMismatch: boolean }

type Found = { attempt: Attempt; seen: Seen; own: OwnSignatures | undefined }

/**
 * An order is completed by a payment that succeeded AND whose payee and amount are proven: by the
 * signed bytes on the direct route, by the contract's events on the others. Status 1 alone is not
 * it.
 */
export async function outcomeOf(order: Order, found: Found): Promise<Outcome> {
  const { attempt, seen } = found
  if (attempt.kind !== 'payment') {
    return { state: 'failed', errorCode: order.cancelCode ?? 'cancelled', isMismatch: false }
  }
  if (!seen.block.succeeded) return { state: 'failed', errorCode: 'reverted', isMismatch: false }
  if (await isPaid(order, found)) return { state: 'completed' }
  return { state: 'failed', errorCode: 'settlement_mismatch', isMismatch: true }
}

/** Whether somebody else's transaction did what the order asks for. */
export function isLikePayment(order: Order, taker: Taker): boolean {
  const { to, value, data } = paymentCall(order)
  return taker.to === to && taker.value === value && taker.input === data
}

async function isPaid(order: Order, { attempt, seen, own }: Found): Promise<boolean> {
  const call: Call = paymentCall(order)
  const { chainId, gas, signer } = order
  const { nonce, fees } = attempt
  const wanted = { ...call, chainId, nonce, gas, fees }
  const isOurs = await isSigned(attempt.raw, { signer, wanted, own })
  if (!isOurs) return false
  const events = seen.logs.flatMap((log) =>
    log.address === order.contract ? (decodeEvent(log) ?? []) : [],
  )
  return Object.entries(proofOf(order)).every(([name, args]) =>
    events.some((event) => event.name === name && isSame(event.args, args)),
  )
}

type Args = Readonly<Record<string, string | bigint>>

/** The events of the contract that must all be there. */
function proofOf(order: Order): Partial<Record<EventName, Args>> {
  const { route, signer: payer, payee, amount, reference } = order
  switch (route) {
    case 'direct':
      return {}
    case 'contract':
      return { Settled: { reference, payer, payee, token: NOBODY, amount } }
    case 'mint':
      // The token says it three times: what the minter used up, what moved, and for which order.
      return {
        Mint: { minter: payer, to: payee, amount },
        Transfer: { from: NOBODY, to: payee, amount },
        TransferWithMemo: { from: NOBODY, to: payee, amount, reference },
      }
    default:
      return route satisfies never
  }
}

const NOBODY = `0x${'0'.repeat(40)}`

function isSame(found: DecodedEvent['args'], wanted: Args): boolean {
  return Object.entries(wanted).every(([name, value]) => found[name] === value)
}
