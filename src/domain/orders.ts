import type { Reference } from './reference.ts'

/**
 * How money reaches the payee: a plain transfer of ether (`direct`) or of a token (`transfer`), a
 * payment through the settlement contract in ether (`contract`) or in a token (`token`, or `permit`
 * where its transaction also carries the right to take the tokens), or dollars that are minted for
 * it. A `burn` takes dollars off the chain, for a redeem. An `allowance` pays nobody: it lets the
 * settlement contract take the tokens that the order behind it pays. A bundle pays several orders
 * in one transaction: all or none of them in ether (`bundle`) or in a token (`token_bundle`), or
 * those that can be paid (`open_bundle`, `open_token_bundle`).
 */
export type Route = (typeof ROUTES)[number]

export const ROUTES = [
  'direct',
  'transfer',
  'contract',
  'token',
  'permit',
  'allowance',
  'mint',
  'burn',
  'bundle',
  'open_bundle',
  'token_bundle',
  'open_token_bundle',
] as const

export type BundleRoute = 'bundle' | 'open_bundle' | 'token_bundle' | 'open_token_bundle'

/**
 * `accepted`: signed and stored, on its way. `mined`: in a block that is not final yet, so a reorg
 * leads back. `completed` and `failed` are final, and `failed` means: not paid, and never will be.
 */
export type OrderState = 'accepted' | 'mined' | 'completed' | 'failed'

/** `superseded`: another transaction took its nonce for good. */
export type AttemptState = 'signed' | 'mined' | 'final' | 'superseded'

/** What a transaction at a nonce is for. A filler closes a gap that has no order. */
export type AttemptKind = 'payment' | 'cancel' | 'filler'

/** The instruction to move money on chain, immutable once accepted. Addresses are lower case. */
export type Order = {
  id: bigint
  subject: string
  spender: string
  chainId: number
  signer: Hex
  reference: Reference
  counter: bigint
  route: Route
  contract: Hex | undefined
  /** What leaves the signer, where that is a token. */
  token: Hex | undefined
  payee: Hex
  amount: bigint
  gas: bigint
  /** The bundle whose transaction pays it; undefined where it has transactions of its own. */
  bundle: bigint | undefined
  /** What the contract is called with; undefined where it follows from the other fields. */
  calldata: Hex | undefined
  state: OrderState
  errorCode: string | undefined
  /** The selector of the error that stopped a payment of a bundle. */
  refusal?: Hex | undefined
  cancelCode: string | undefined
  acceptedAt: Date
  updatedAt: Date
}

/** What the signer pays in ether. Tokens cost it nothing but gas. */
export function weiOf({ route, amount }: Pick<Order, 'route' | 'amount'>): bigint {
  return isInEther(route) ? amount : 0n
}

/** Under what the chain shows it; a plain transfer has no place for a reference. */
export function referenceOf({ route, reference }: Pick<Order, 'route' | 'reference'>) {
  return route === 'direct' || route === 'transfer' ? undefined : reference
}

/** Whether the amount is in wei; else it is in the smallest unit of a token. */
export function isInEther(route: Route): boolean {
  return ETHER_ROUTES.includes(route)
}

export const ETHER_ROUTES: readonly Route[] = ['direct', 'contract', 'bundle', 'open_bundle']

/** The route that each payment of a bundle has in the contract. */
export const ROUTES_IN: Readonly<Record<BundleRoute, 'contract' | 'token'>> = {
  bundle: 'contract',
  open_bundle: 'contract',
  token_bundle: 'token',
  open_token_bundle: 'token',
}

/** Whether a payment that cannot be made leaves the others alone. */
export function isOpen(route: Route): boolean {
  return route === 'open_bundle' || route === 'open_token_bundle'
}

export function isBundle(route: Route): route is BundleRoute {
  return route in ROUTES_IN
}

/** The ids of those that are bundles. */
export function bundlesAmong(orders: Iterable<Pick<Order, 'id' | 'route'>>): bigint[] {
  return [...orders].flatMap(({ id, route }) => (isBundle(route) ? id : []))
}

/** The order that the transactions are signed for which pay this one. */
export function signedFor({ id, bundle }: Pick<Order, 'id' | 'bundle'>): bigint {
  return bundle ?? id
}

/** One signed transaction for an order; a replacement is a new attempt at the same nonce. */
export type Attempt = {
  id: bigint
  chainId: number
  signer: Hex
  nonce: bigint
  orderId: bigint | undefined
  kind: AttemptKind
  hash: Hex
  raw: Hex
  gas: bigint
  fees: Fees
  state: AttemptState
  block: AttemptBlock | undefined
  signedAt: Date
  sentAt: Date | undefined
  lastSentAt: Date | undefined
  lastAnswer: SendAnswer | undefined
  /** When the last answers, all of them `no_funds`, began. */
  noFundsSince: Date | undefined
}

/** What the receipt said of an attempt. */
export type AttemptBlock = {
  number: bigint
  hash: Hex
  succeeded: boolean
  gasUsed: bigint
  gasPrice: bigint
  /** In wei, what a rollup has charged on top of the gas. */
  rollupFee: bigint
}

/** In wei per gas. */
export type Fees = { maxFeePerGas: bigint; maxPriorityFeePerGas: bigint }

/** What providers say to a raw transaction. None of it says what becomes of the transaction. */
export type SendAnswer =
  'accepted' | 'nonce_low' | 'no_funds' | 'underpriced' | 'wrong_chain' | 'refused' | 'unreachable'

export type Hex = `0x${string}`

/** Why an order is neither completed nor failed, for the one who waits for it. */
export type PendingReason =
  | 'waiting_for_finality'
  | 'waiting_for_turn'
  | 'waiting_for_block'
  | 'cancelling'
  | 'no_funds'
  | 'fee_too_low'
  | 'providers_unreachable'
  | 'refused_by_providers'
  | 'nonce_unclear'

export function pendingReason(
  order: Pick<Order, 'state' | 'cancelCode'>,
  newest: Pick<Attempt, 'sentAt' | 'lastAnswer'>,
): PendingReason | undefined {
  if (order.state === 'completed' || order.state === 'failed') return undefined
  if (order.state === 'mined') return 'waiting_for_finality'
  if (order.cancelCode !== undefined) return 'cancelling'
  if (newest.lastAnswer === undefined) return 'waiting_for_turn'
  return REASONS[newest.lastAnswer]
}

const REASONS: Readonly<Record<SendAnswer, PendingReason>> = {
  accepted: 'waiting_for_block',
  nonce_low: 'nonce_unclear',
  no_funds: 'no_funds',
  underpriced: 'fee_too_low',
  wrong_chain: 'providers_unreachable',
  refused: 'refused_by_providers',
  unreachable: 'providers_unreachable',
}

/** An order and the hash of the transaction that pays it, or has paid it. */
export type HashedOrder = { order: Order; hash: Hex }

export const NOBODY: Hex = `0x${'0'.repeat(40)}`
