import type { Clock } from '../../../../base/clock.ts'
import type { Environment } from '../../../../base/config.ts'
import { formatAmount } from '../../../../domain/money.ts'
import {
  readOverview,
  type Overview,
  type Totals,
} from '../../../../store/transactions/overview.ts'
import {
  OfChainQuerySchema,
  OverviewSchema,
  type OverviewWire,
} from '../../../../wire/group-b/admin.ts'
import { chainNamed, type Chains } from '../../../chains.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { ADMINISTRATION } from './administration.ts'

export type OverviewDeps = {
  clock: Clock
  environment: Environment
  chains: Chains<{ providers: () => OverviewWire['providers'] }>
}

/** Whether the books and the chain agree, on one page. */
export function overviewEndpoint(deps: OverviewDeps): Endpoint {
  const { clock, environment, chains } = deps
  return defineEndpoint({
    ...ADMINISTRATION,
    route: 'GET /api/admin/overview',
    operationId: 'readOverview',
    summary: 'Read the state of the platform: records compared with the chain, and what waits',
    query: OfChainQuerySchema,
    answer: OverviewSchema,
    handle: async ({ query, db }) => {
      const { chainId, name, coin, providers } = chainNamed(chains, query.chain, 'query.chain')
      const now = clock.now()
      const overview = await readOverview(db, { chainId, now })
      return {
        success: true as const,
        at: now.toISOString(),
        environment,
        chain_id: chainId,
        chain: name,
        coin,
        chains: chains.all().map((one) => {
          return { chain: one.name, chain_id: one.chainId, code: one.code, coin: one.coin }
        }),
        since: overview.since.toISOString(),
        claimed: toTotals(overview.claimed),
        settled: toTotals(overview.settled),
        in_flight: {
          count: overview.inFlight.count,
          oldest_seconds: overview.inFlight.oldestSeconds,
          by_age: overview.inFlight.byAge.map(({ underSeconds, count }) => ({
            under_seconds: underSeconds ?? null,
            count,
          })),
        },
        head: toHead(overview.head),
        alerts: overview.alerts.map(({ since, ...alert }) => ({
          ...alert,
          since: since.toISOString(),
        })),
        providers: providers(),
      }
    },
  })
}

function toTotals({ count, amountWei }: Totals): OverviewWire['claimed'] {
  return {
    count,
    amount_wei: String(amountWei),
    amount_decimal: formatAmount({ amount: amountWei, decimals: 18 }),
  }
}

function toHead(head: Overview['head']): OverviewWire['head'] {
  return (
    head && {
      block_number: head.number,
      final_number: head.finalNumber,
      updated_at: head.updatedAt.toISOString(),
    }
  )
}
