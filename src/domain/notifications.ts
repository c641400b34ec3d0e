/** The changes in Group A, which a subscription that names no type receives. */
export const LEDGER_NOTIFICATIONS = ['payments', 'transfers', 'chargebacks'] as const

/** The events of Group B. */
export const EVENT_NOTIFICATIONS = ['transactions', 'batches'] as const

/** The types that a user can receive, as the notifications name them. */
export const NOTIFICATION_TYPES = [...LEDGER_NOTIFICATIONS, ...EVENT_NOTIFICATIONS] as const

export type NotificationType = (typeof NOTIFICATION_TYPES)[number]

/** A ping asks an endpoint whether it listens. It reports no change and has no sequence. */
export type Notification = {
  id: string
  userId: number
  type: NotificationType | 'ping'
  sequence: bigint | null
  body: Readonly<Record<string, unknown>>
  createdAt: Date
}

/** Pending until it has answered a ping. Only a confirmed endpoint receives anything else. */
export const ENDPOINT_STATES = ['pending', 'confirmed', 'disabled'] as const

export type EndpointState = (typeof ENDPOINT_STATES)[number]

/**
 * Why an endpoint no longer receives anything: it answered 410, it failed for days, it never
 * answered its ping, or its subscription was deleted.
 */
export type DisabledCode = 'gone' | 'failing' | 'unconfirmed' | 'deleted'

/** Failed: every try of the schedule failed. Canceled: its endpoint was disabled meanwhile. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'canceled'] as const

export type DeliveryState = (typeof DELIVERY_STATES)[number]

/**
 * What came of one request. Refused is an answer other than 2xx; forbidden is an address that is
 * not public, so that no request was made.
 */
export const TRY_OUTCOMES = [
  'delivered',
  'refused',
  'gone',
  'redirected',
  'timed_out',
  'unreachable',
  'forbidden',
] as const

export type TryOutcome = (typeof TRY_OUTCOMES)[number]

/** One request to an endpoint, for the log that the user reads. */
export type DeliveryTry = {
  startedAt: Date
  durationMs: number
  outcome: TryOutcome
  status: number | null
  /** How long the answer's body was, as far as it was read. Its content is not kept. */
  answerBytes: number | null
  /** A code, where there was no answer. */
  error: string | null
}
