import { messageOf } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import type { Span, Tracing } from '../../base/tracing/tracing.ts'
import type { Db } from '../../store/database/database.ts'
import { findNotifiedTrace } from '../../store/transactions/traces.ts'
import type { DeliveryLease } from '../../store/webhooks/deliveries.ts'

/** Begins a span for each try to deliver a webhook, in the trace of what it is about. */
export function traceDeliveries(deps: {
  tracing?: Tracing | undefined
  db: Db
  logger: Logger
}): ((lease: DeliveryLease) => Promise<Span | undefined>) | undefined {
  const { tracing, db, logger } = deps
  if (tracing === undefined) return undefined
  return async ({ notification, url, tries }) => {
    try {
      const found = await findNotifiedTrace(db, notification.id)
      if (found === undefined) return undefined
      const attributes = {
        'http.request.method': 'POST',
        'server.address': new URL(url).hostname,
        'http.request.resend_count': tries,
        'quittance.subject': found.subject,
        'quittance.notification': notification.id,
      }
      return tracing.start('deliver webhook', {
        kind: 'client',
        parent: found.traceparent,
        attributes,
      })
    } catch (error) {
      logger.debug({ reason: messageOf(error) }, 'a webhook is in no trace')
      return undefined
    }
  }
}
