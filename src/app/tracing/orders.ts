import { messageOf } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import type { Shutdown } from '../../base/shutdown.ts'
import { parseTraceparent, type Tracing } from '../../base/tracing/tracing.ts'
import type { OrderState } from '../../domain/orders.ts'
import type { OrderStep, OrderTraces } from '../../sender/context.ts'
import type { Db } from '../../store/database/database.ts'
import { findTracedOrders, type TracedOrder } from '../../store/transactions/traces.ts'

/**
 * Makes each step of an order a span, in the trace of the request that made it. What the database
 * has is enough for that, so a trace goes on in other processes, and after a restart. Undefined
 * where traces are off.
 */
export function followOrders(deps: {
  tracing: Tracing | undefined
  db: Db
  logger: Logger
  shutdown: Pick<Shutdown, 'add'>
  chainId: number
}): OrderTraces | undefined {
  const { tracing, db, logger, shutdown, chainId } = deps
  if (tracing === undefined) return undefined
  const waiting: OrderStep[] = []
  let working: Promise<void> | undefined
  const work = async (): Promise<void> => {
    while (waiting.length > 0) {
      try {
        await record(waiting.splice(0, AT_ONCE))
      } catch (error) {
        logger.debug({ reason: messageOf(error) }, 'steps of orders are in no trace')
      }
    }
    working = undefined
  }
  const record = async (steps: readonly OrderStep[]): Promise<void> => {
    const ids = new Set(steps.flatMap(({ orderId }) => orderId ?? []))
    const orders = new Map((await findTracedOrders(db, [...ids])).map((one) => [one.id, one]))
    for (const step of steps) {
      const order = step.orderId === undefined ? undefined : orders.get(step.orderId)
      if (order !== undefined) tell({ tracing, logger, chainId }, step, order)
    }
  }
  shutdown.add(`the traces of orders on ${chainId}`, () => working)
  return {
    follow(steps) {
      waiting.push(...steps.slice(0, MAX_WAITING - waiting.length))
      working ??= work()
    },
    async fieldsOf(db, orderId) {
      try {
        const [order] = orderId === undefined ? [] : await findTracedOrders(db, [orderId])
        const { traceId } = parseTraceparent(order?.traceparent) ?? {}
        return traceId === undefined ? {} : { trace_id: traceId }
      } catch (error) {
        logger.debug({ reason: messageOf(error) }, 'an order is in no trace')
        return {}
      }
    },
  }
}

const AT_ONCE = 500
/** While the database is away; what comes beyond is in no trace. */
const MAX_WAITING = 10_000

function tell(
  { tracing, logger, chainId }: { tracing: Tracing; logger: Logger; chainId: number },
  { name, hash, startedAt, endedAt, answer, block }: OrderStep,
  { subject, state, errorCode, traceparent }: TracedOrder,
): void {
  const span = tracing.start(name, {
    parent: traceparent,
    startedAt,
    attributes: {
      'quittance.subject': subject,
      'quittance.chain_id': chainId,
      'quittance.transaction.hash': hash,
      'quittance.answer': answer,
      'quittance.block.number': block && Number(block.number),
      'quittance.block.hash': block?.hash,
      'quittance.gas_used': block && Number(block.gasUsed),
    },
  })
  const isEnd = (name === 'final' || name === 'taken') && ENDS.has(state)
  if (isEnd) {
    span.set({ 'quittance.state': state })
    if (state === 'failed') span.fail(errorCode ?? 'unknown')
    const { number } = block ?? {}
    const said = { subject, hash, state, ...(number !== undefined && { block: String(number) }) }
    logger.info({ trace_id: span.traceId, ...said }, 'an order has ended')
  }
  span.end(endedAt)
}

/** An order whose nonce was taken may be paid at another one. */
const ENDS: ReadonlySet<OrderState> = new Set<OrderState>(['completed', 'failed'])
