import type { Notification } from '../../domain/notifications.ts'

/**
 * The body of a webhook. The same notification always has the same text: its signature covers it,
 * and receivers compare what comes again.
 */
export function notificationText(notification: Notification): string {
  const { userId, type, body, id, createdAt, sequence } = notification
  const clientId = String(userId)
  return JSON.stringify({
    clientId,
    notificationType: type,
    version: 1,
    customAttributes: { clientId },
    [OBJECT_FIELDS[type]]: body,
    id,
    timestamp: createdAt.toISOString(),
    ...(sequence === null ? {} : { sequence: Number(sequence) }),
  })
}

const OBJECT_FIELDS: Record<Notification['type'], string> = {
  payments: 'payment',
  transfers: 'transfer',
  chargebacks: 'chargeback',
  transactions: 'event',
  batches: 'event',
  ping: 'ping',
}
