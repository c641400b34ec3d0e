import { decodeEvent, type DecodedEvent, type EventName } from '../chain/read/events.ts'
import { isOpen, NOBODY, type Attempt, type Hex, type Order } from '../domain/orders.ts'
import type { CanonicalReceipt, Taker } from './chain-view.ts'
import { isBehind, paymentCall } from './sign.ts'

/** What a final transaction at the nonce of an order means for the order. */
export type OrderOutcome =
  | { state: 'completed' }
  | { state: 'failed'; errorCode: string; isMismatch: boolean; refusal?: Hex }

type Found = {
  /** What was signed for the order. */
  attempt: Attempt
  seen: CanonicalReceipt
}

export type DecidedOrder = { order: Order; outcome: OrderOutcome }

/**
 * What became of an order, and of those that it pays where it is a bundle.
 *
 * An order is completed by a payment that succeeded AND whose payee and amount are proven: by the
 * signed bytes on the direct route, by the contract's events on the others. Status 1 alone is not
 * it.
 */
export function outcomesOf(
  order: Order,
  { bundled, attempt, seen }: Found & { bundled: readonly Order[] },
): DecidedOrder[] {
  const all = [order, ...bundled]
  const failed = common(order, { attempt, seen })
  if (failed !== undefined) return all.map((one) => ({ order: one, outcome: failed }))
  const events = seen.logs.flatMap((log) => decodeEvent(log) ?? [])
  // A bundle has as many events as payments, and each is looked for among those that name it.
  const byName = Map.groupBy(events, ({ args }) => args['reference'] ?? args['to'])
  return all.map((one) => ({ order: one, outcome: outcomeOf(one, { order, byName }) }))
}

/** Why nothing is paid by the transaction, where that is so. */
function common(order: Order, { attempt, seen }: Found): OrderOutcome | undefined {
  if (attempt.kind !== 'payment') return failedFor(order.cancelCode ?? 'cancelled')
  if (!seen.block.succeeded) return failedFor('reverted')
  const { chainId, gas } = order
  const { nonce, fees } = attempt
  return isBehind(attempt, { ...paymentCall(order), chainId, nonce, gas, fees })
    ? undefined
    : MISMATCH
}

function outcomeOf(
  one: Order,
  { order, byName }: { order: Order; byName: ReadonlyMap<unknown, DecodedEvent[]> },
): OrderOutcome {
  const find = ({ by, name, args }: Proof): DecodedEvent | undefined =>
    (byName.get(args['reference'] ?? args['to']) ?? []).find(
      (event) => event.address === by && event.name === name && isSame(event.args, args),
    )
  if (proofOf(one).every(find)) return { state: 'completed' }
  const refused = isOpen(order.route) ? find(failureOf(one)) : undefined
  if (refused === undefined) return MISMATCH
  // Four bytes in a word of 32.
  const refusal = String(refused.args['reason']).slice(0, 10) as Hex
  return { state: 'failed', errorCode: 'payee_refused', isMismatch: false, refusal }
}

function failedFor(errorCode: string): OrderOutcome {
  return { state: 'failed', errorCode, isMismatch: false }
}

const MISMATCH: OrderOutcome = {
  state: 'failed',
  errorCode: 'settlement_mismatch',
  isMismatch: true,
}

/** Whether somebody else's transaction did what the order asks for. */
export function isLikePayment(order: Order, taker: Taker): boolean {
  const { to, value, data } = paymentCall(order)
  return taker.to === to && taker.value === value && taker.input === data
}

type Args = Readonly<Record<string, string | bigint>>

type Proof = { by: Order['contract']; name: EventName; args: Args }

/** The events that must all be there, each of its own contract. */
function proofOf(order: Order): Proof[] {
  const { route, contract: by, token = NOBODY, signer: payer, payee, amount, reference } = order
  const { calldata } = order
  switch (route) {
    case 'direct':
    // What an allowance is good for, the payment behind it shows, and a bundle what it pays.
    case 'allowance':
    case 'bundle':
    case 'open_bundle':
    case 'token_bundle':
    case 'open_token_bundle':
      return []
    case 'contract':
      return [{ by, name: 'Settled', args: { reference, payer, payee, token: NOBODY, amount } }]
    case 'token':
    case 'permit':
      return [
        { by, name: 'Settled', args: { reference, payer, payee, token, amount } },
        { by: token, name: 'Transfer', args: { from: payer, to: payee, amount } },
      ]
    case 'transfer':
      return [{ by: token, name: 'Transfer', args: { from: payer, to: payee, amount } }]
    case 'mint': {
      // The token says what the minter used up, what moved and, where it has memos, for which
      // order. Without them the order is known by its transaction.
      const minted: Proof[] = [
        { by, name: 'Mint', args: { minter: payer, to: payee, amount } },
        { by, name: 'Transfer', args: { from: NOBODY, to: payee, amount } },
      ]
      if (calldata !== undefined) return minted
      const memo = { from: NOBODY, to: payee, amount, reference }
      return [...minted, { by, name: 'TransferWithMemo', args: memo }]
    }
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

/** What the contract logs of a payment of an open bundle that it could not make. */
function failureOf({ contract: by, signer: payer, payee, amount, reference }: Order): Proof {
  return { by, name: 'SettlementFailed', args: { reference, payer, payee, amount } }
}

function isSame(found: DecodedEvent['args'], wanted: Args): boolean {
  return Object.entries(wanted).every(([name, value]) => found[name] === value)
}
