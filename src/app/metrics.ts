import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

import type { Clock } from '../base/clock.ts'
import type { SpanNews } from '../base/tracing/open-tracing.ts'
import type { ProviderEvent } from '../chain/rpc/http-provider.ts'
import type { ChainNames } from '../domain/chains.ts'
import { TRY_OUTCOMES, type TryOutcome } from '../domain/notifications.ts'
import type { SenderEvent } from '../sender/context.ts'
import type { Db } from '../store/database/database.ts'
import { readOpenOrders } from '../store/orders/orders.ts'
import { countOpenAlerts } from '../store/orders/sender-alerts.ts'
import { readOldestDueMs } from '../store/webhooks/deliveries.ts'

/** Counts what providers answered, by what became of the call. */
export function countProviders(
  registry: Registry,
): (chain: string) => (event: ProviderEvent) => void {
  const registers = [registry]
  const calls = new Histogram({
    name: 'quittance_provider_call_seconds',
    help: 'Time until a provider answered or failed',
    labelNames: ['chain', 'provider', 'outcome'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers,
  })
  const circuits = new Counter({
    name: 'quittance_provider_circuit_changes_total',
    help: 'How often a provider was set aside after failures, or used again',
    labelNames: ['chain', 'provider', 'circuit'],
    registers,
  })
  const strangers = new Counter({
    name: 'quittance_provider_wrong_chain_total',
    help: 'How often a provider started to serve another chain',
    labelNames: ['chain', 'provider'],
    registers,
  })
  return (chain) => (event) => {
    const { provider } = event
    switch (event.kind) {
      case 'call':
        calls.observe({ chain, provider, outcome: event.outcome }, event.tookMs / 1000)
        return
      case 'circuit':
        circuits.inc({ chain, provider, circuit: event.circuit })
        return
      case 'wrong_chain':
        strangers.inc({ chain, provider })
        return
      default:
        event satisfies never
    }
  }
}

/** Counts the spans that went to the collector, and those that did not. */
export function countSpans(registry: Registry): (news: SpanNews) => void {
  const spans = new Counter({
    name: 'quittance_trace_spans_total',
    help: 'Spans that the collector has taken, or that were dropped',
    labelNames: ['outcome'],
    registers: [registry],
  })
  spans.inc({ outcome: 'dropped' }, 0)
  return ({ kind, count }) => spans.inc({ outcome: kind }, count)
}

/** Counts what this process did for orders. */
export function countSender(registry: Registry): (chain: string) => (event: SenderEvent) => void {
  const registers = [registry]
  const replacements = new Counter({
    name: 'quittance_replacements_total',
    help: 'Transactions that replace another one at its nonce: at a higher fee, or to cancel',
    labelNames: ['chain', 'by'],
    registers,
  })
  const reorgs = new Counter({
    name: 'quittance_reorged_transactions_total',
    help: 'Transactions whose block left the chain before it was final',
    labelNames: ['chain'],
    registers,
  })
  const finals = new Counter({
    name: 'quittance_final_transactions_total',
    help: 'Transactions that are final at their nonce',
    labelNames: ['chain'],
    registers,
  })
  const spent = new Counter({
    name: 'quittance_gas_spent_gwei_total',
    help: 'Gas cost of final transactions',
    labelNames: ['chain'],
    registers,
  })
  return (chain) => {
    // A counter that is there from the start shows a rate at its first step.
    for (const counter of [reorgs, finals, spent]) counter.inc({ chain }, 0)
    return (event) => {
      switch (event.kind) {
        case 'replaced':
          replacements.inc({ chain, by: event.by })
          return
        case 'reorged':
          reorgs.inc({ chain })
          return
        case 'final':
          finals.inc({ chain })
          spent.inc({ chain }, Number(event.gasWei) / 1e9)
          return
        default:
          event satisfies never
      }
    }
  }
}

/**
 * Asked of the database at each scrape, so every process tells the same. Each gauge asks for
 * itself: one that another sets would be written out before that has its answer.
 */
export function measureOrders(deps: {
  registry: Registry
  db: Db
  chains: MeasuredChains
  clock: Clock
}): void {
  const { registry, db, chains, clock } = deps
  const registers = [registry]
  const oldest = new Gauge({
    name: 'quittance_oldest_open_order_seconds',
    help: 'Age of the oldest open order',
    labelNames: ['chain'],
    registers,
    async collect() {
      for (const { name: chain, chainId } of chains()) {
        const { since } = await readOpenOrders(db, chainId)
        oldest.set({ chain }, since ? (clock.now().getTime() - since.getTime()) / 1000 : 0)
      }
    },
  })
  const open = new Gauge({
    name: 'quittance_open_orders',
    help: 'Orders that are neither completed nor failed',
    labelNames: ['chain'],
    registers,
    async collect() {
      for (const { name: chain, chainId } of chains()) {
        open.set({ chain }, (await readOpenOrders(db, chainId)).count)
      }
    },
  })
  const alerts = new Gauge({
    name: 'quittance_sender_alerts',
    help: 'Open alerts: what should not happen, and nobody has closed',
    labelNames: ['chain', 'kind'],
    registers,
    async collect() {
      alerts.reset()
      for (const { name: chain, chainId } of chains()) {
        const counts = await countOpenAlerts(db, chainId)
        for (const [kind, count] of counts) alerts.set({ chain, kind }, count)
      }
    },
  })
}

/** Those that are open or wait for their providers. The database has the data of both. */
export type MeasuredChains = () => readonly ChainNames[]

/** How far behind the webhooks are, asked of the database at each scrape. */
export function measureWebhooks(registry: Registry, db: Db): void {
  const oldest = new Gauge({
    name: 'quittance_webhook_oldest_due_seconds',
    help: 'Age of the oldest webhook that is due',
    registers: [registry],
    async collect() {
      oldest.set((await readOldestDueMs(db)) / 1000)
    },
  })
}

/** Counts what came of the webhooks that this process sent. */
export function countWebhooks(
  registry: Registry,
): (made: { outcome: TryOutcome; durationMs: number }) => void {
  const registers = [registry]
  const tries = new Counter({
    name: 'quittance_webhook_tries_total',
    help: 'Requests to webhook endpoints, by result',
    labelNames: ['outcome'],
    registers,
  })
  // A rate needs a series that begins at 0.
  for (const outcome of TRY_OUTCOMES) tries.inc({ outcome }, 0)
  const seconds = new Histogram({
    name: 'quittance_webhook_try_seconds',
    help: 'Time until a request to a webhook endpoint was answered or failed',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  })
  return ({ outcome, durationMs }) => {
    tries.inc({ outcome })
    seconds.observe(durationMs / 1000)
  }
}
