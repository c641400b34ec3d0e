import type { IncomingHttpHeaders } from 'node:http'

import type { TransactionStatus } from '../domain/states.ts'
import type { Charge, ChargeFacts } from '../store/rails/charges.ts'
import type { Refund } from '../store/rails/refunds.ts'

/** What a gateway says of a charge, checked against what was asked for, in our words. */
export type ChargeView = ChargeFacts & {
  status: Exclude<TransactionStatus, 'refunded'>
}

export type RefundView = {
  state: Refund['state']
  externalId: string | undefined
  errorCode: string | undefined
}

/** How a dispute of a payer stands. */
export type DisputeView = {
  /** A word of the gateway, in lower case. */
  status: string
  reason: string
  /** In the smallest unit of the currency. */
  amountMinor: bigint
  /** Nothing more will become of it. */
  isClosed: boolean
}

/** A message that says it is from a gateway, with its bytes as they arrived. */
export type Webhook = { headers: IncomingHttpHeaders; body: Buffer }

/**
 * What a webhook is about, once its signature is checked. It is a wake-up and no more: whatever it
 * says is asked for again, so one that is doubled, late or out of order does no harm.
 */
export type GatewayNews = {
  externalId: string | undefined
  transactionId: string | undefined
  disputeId: string | undefined
}

/** A way for money in. Each call may be repeated without a second effect; rejects: RailError. */
export type GatewayAdapter = {
  kind: string
  create: (charge: Charge, signal: AbortSignal) => Promise<ChargeView>
  /** Reads how it stands, and does what is ours to do next. */
  read: (charge: Charge & { externalId: string }, signal: AbortSignal) => Promise<ChargeView>
  refund: (
    charge: Charge & { externalId: string },
    refund: Refund,
    signal: AbortSignal,
  ) => Promise<RefundView>
  readDispute?: (
    charge: Charge & { externalId: string },
    disputeId: string,
    signal: AbortSignal,
  ) => Promise<DisputeView>
  /** Undefined: a forgery, or too old. */
  verify?: (webhook: Webhook, checking: Checking) => Promise<GatewayNews | undefined>
}

/** For a gateway that is asked whether a message is its own: only about what we expect. */
export type Checking = {
  signal: AbortSignal
  isExpected: (news: GatewayNews) => Promise<boolean>
}
