import type { Hex } from '../chain/hex.ts'
import type { ChainTransaction } from '../chain/proof/block-transaction.ts'
import type { Receipt } from '../chain/proof/receipt.ts'
import { decodeEvent, type DecodedEvent } from '../chain/read/events.ts'

/** How money moved: coin by itself, through `Settlement`, or by which event of a token. */
export type PaymentKind = 'native' | 'settlement' | 'transfer' | 'mint' | 'burn' | 'supply'

/** How a reference is bound to the movement of money. */
export type Rail = 'settlement' | 'memo' | 'eip3009' | 'erc7699' | 'request'

/** One movement of money that a transaction shows. */
export type Payment = {
  kind: PaymentKind
  /** Whose event says so; null where the transaction itself does. */
  contract: Hex | null
  /** Null stands for native coin. */
  token: Hex | null
  payer: Hex | null
  payee: Hex | null
  amount: bigint
  reference: Hex | null
  rail: Rail | null
  /** An event next to it that shows more: Mint, SupplyIncreased, … */
  beside: string | null
  /** The minter, whom a Mint or Burn next to it names. */
  minter: Hex | null
  /** The place of its event among the logs of its receipt. */
  log: number | null
}

/**
 * Every movement that the transaction and its receipt show. This function does not decide which
 * contract may be believed: the claim names it.
 */
export function paymentsOf(facts: {
  transaction: Pick<ChainTransaction, 'from' | 'to' | 'value'>
  receipt: Pick<Receipt, 'succeeded' | 'logs'>
}): Payment[] {
  const { transaction, receipt } = facts
  if (receipt.succeeded === false) return []
  const events = receipt.logs.map((log) => {
    return log.address === NATIVE_LOGGER ? undefined : decodeEvent(log)
  })
  return [
    ...nativeOf(transaction),
    ...events.flatMap((event, log) => (event ? paymentOfEvent(event, { log, events }) : [])),
  ]
}

/** Since EIP-7708 the chain itself logs a Transfer here for native coin, which is not a token. */
const NATIVE_LOGGER = '0xfffffffffffffffffffffffffffffffffffffffe'

type Events = readonly (DecodedEvent | undefined)[]
type EventPlace = { log: number; events: Events }

function nativeOf({ from, to, value }: Pick<ChainTransaction, 'from' | 'to' | 'value'>): Payment[] {
  if (value === 0n || to === null) return []
  return [{ ...BLANK, kind: 'native', payer: from, payee: to, amount: value }]
}

/** The fields of a payment that are not known yet. */
export const BLANK: Omit<Payment, 'kind' | 'amount'> = {
  contract: null,
  token: null,
  payer: null,
  payee: null,
  reference: null,
  rail: null,
  beside: null,
  minter: null,
  log: null,
}

/** The payments that an event shows. An event that only adds to a transfer shows none itself. */
function paymentOfEvent(event: DecodedEvent, place: EventPlace): Payment[] {
  if (event.name === 'Transfer') return transferOf(event, place)
  if (event.name === 'Settled') return [settlementOf(event, place)]
  if (event.name === 'Issue' || event.name === 'Redeem') return [supplyOf(event, place)]
  const isRequest =
    event.name === 'TransferWithReference' || event.name === 'TransferWithReferenceAndFee'
  return isRequest ? requestOf(event, place) : []
}

function settlementOf(event: DecodedEvent, { log }: EventPlace): Payment {
  const token = address(event, 'token')
  return {
    ...BLANK,
    kind: 'settlement',
    contract: event.address,
    token: token === ZERO ? null : token,
    payer: address(event, 'payer'),
    payee: address(event, 'payee'),
    amount: amountOf(event),
    reference: word(event),
    rail: 'settlement',
    log,
  }
}

function supplyOf(event: DecodedEvent, { log }: EventPlace): Payment {
  const { address: contract, name } = event
  const amount = amountOf(event)
  return { ...BLANK, kind: 'supply', contract, token: contract, amount, beside: name, log }
}

function transferOf(event: DecodedEvent, place: EventPlace): Payment[] {
  const [payer, payee] = [address(event, 'from'), address(event, 'to')]
  if (payer === ZERO && payee === ZERO) return []
  const kind = payer === ZERO ? 'mint' : payee === ZERO ? 'burn' : 'transfer'
  const bound = referenceOf(event, place)
  const supply = supplyBeside(event, place)
  return [
    {
      ...BLANK,
      kind,
      contract: event.address,
      token: event.address,
      payer: payer === ZERO ? null : payer,
      payee: payee === ZERO ? null : payee,
      amount: amountOf(event),
      reference: bound?.reference ?? null,
      rail: bound?.rail ?? null,
      beside: supply?.name ?? null,
      minter: supply?.minter ?? null,
      log: place.log,
    },
  ]
}

/** A reference belongs to the transfer next to it. Its standard defines the exact place. */
function referenceOf(
  transfer: DecodedEvent,
  { log, events }: EventPlace,
): { reference: Hex; rail: Rail } | undefined {
  const isOwn = (event: DecodedEvent | undefined): event is DecodedEvent =>
    event?.address === transfer.address
  const after = events
    .slice(log + 1)
    .find((event) => isOwn(event) && event.name !== 'Mint' && event.name !== 'Burn')
  if (after?.name === 'TransferWithMemo' && isSameMovement(transfer, after)) {
    return { reference: word(after), rail: 'memo' }
  }
  const before = events[log - 1]
  if (!isOwn(before)) return undefined
  if (before.name === 'TransferReference') return { reference: word(before), rail: 'erc7699' }
  const isAuthorized =
    before.name === 'AuthorizationUsed' && before.args['authorizer'] === transfer.args['from']
  return isAuthorized ? { reference: word(before), rail: 'eip3009' } : undefined
}

function isSameMovement(a: DecodedEvent, b: DecodedEvent): boolean {
  return ['from', 'to', 'amount'].every((name) => a.args[name] === b.args[name])
}

/** The event that changes the issuer's supply, directly before the transfer that results. */
function supplyBeside(
  transfer: DecodedEvent,
  { log, events }: EventPlace,
): { name: string; minter: Hex | null } | undefined {
  const seizure = seizureOf(transfer, events)
  if (seizure !== undefined) return { name: seizure.name, minter: null }
  const before = events[log - 1]
  const own = before?.address === transfer.address ? before : undefined
  if (own === undefined || own.args['amount'] !== transfer.args['amount']) return undefined
  const { from, to } = transfer.args
  const { name, args } = own
  const [isMint, isBurn] = [from === ZERO, to === ZERO]
  if (name === 'Mint' && isMint && args['to'] === to)
    return { name, minter: address(own, 'minter') }
  if (name === 'Burn' && isBurn && args['burner'] === from) return { name, minter: from as Hex }
  const isSupply =
    (name === 'SupplyIncreased' && isMint && args['to'] === to) ||
    (name === 'SupplyDecreased' && isBurn && args['from'] === from)
  return isSupply ? { name, minter: null } : undefined
}

/** The event that distinguishes a burn of seized funds from a redeem, anywhere in the receipt. */
function seizureOf(transfer: DecodedEvent, events: Events): DecodedEvent | undefined {
  if (transfer.args['to'] !== ZERO) return undefined
  return events.find(
    (event) =>
      event?.address === transfer.address &&
      SEIZURES.has(event.name) &&
      event.args['wiped'] === transfer.args['from'],
  )
}

/** Burns that the holder did not order. */
export const SEIZURES: ReadonlySet<string> = new Set(['FrozenAddressWiped', 'BurnBlocked'])

/**
 * A proxy of Request logs a hash of the reference after the token's own Transfer, which must be
 * there: the proxy's word alone moves nothing.
 */
function requestOf(event: DecodedEvent, { log, events }: EventPlace): Payment[] {
  const token = address(event, 'token')
  const payee = address(event, 'to')
  const amount = amountOf(event)
  const transfer = events
    .slice(0, log)
    .findLast(
      (one) =>
        one?.name === 'Transfer' &&
        one.address === token &&
        one.args['to'] === payee &&
        one.args['amount'] === amount,
    )
  if (transfer === undefined) return []
  const [contract, payer] = [event.address, address(transfer, 'from')]
  const reference = word(event)
  const base = { ...BLANK, kind: 'transfer' as const, contract, token, payer, payee, amount }
  return [{ ...base, reference, rail: 'request', log }]
}

const ZERO = `0x${'0'.repeat(40)}`

function address(event: DecodedEvent, name: string): Hex {
  return event.args[name] as Hex
}

function word(event: DecodedEvent): Hex {
  return event.args['reference'] as Hex
}

function amountOf(event: DecodedEvent): bigint {
  return event.args['amount'] as bigint
}
