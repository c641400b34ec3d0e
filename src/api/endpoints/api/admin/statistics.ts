import type { Clock } from '../../../../base/clock.ts'
import type { Db } from '../../../../store/database/database.ts'
import { readStatistics, type StatisticsDay } from '../../../../store/transactions/statistics.ts'
import {
  StatisticsQuerySchema,
  StatisticsSchema,
  type StatisticsWire,
} from '../../../../wire/group-b/console.ts'
import { chainNamed, type Chains } from '../../../chains.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { fieldsOf } from '../fields.ts'
import { ADMINISTRATION } from './administration.ts'

const DAY_MS = 86_400_000
const KEPT_MS = 60_000

/** What the charts of the console show. Days are summed at most once a minute. */
export function statisticsEndpoint({ clock, chains }: { clock: Clock; chains: Chains }): Endpoint {
  const read = async (
    db: Db,
    { chainId, days }: { chainId: number; days: number },
  ): Promise<StatisticsWire> => {
    const now = clock.now()
    const midnight = Math.floor(now.getTime() / DAY_MS) * DAY_MS
    const until = new Date(midnight + DAY_MS)
    const since = new Date(until.getTime() - days * DAY_MS)
    const found = await readStatistics(db, { chainId, since, until })
    const first = found.findIndex((day) => day.transactions > 0 || day.breaksOpened > 0)
    const shown = first === -1 ? [] : found.slice(first)
    return { success: true, at: now.toISOString(), days: shown.map(toDayWire) }
  }
  const kept = new Map<string, { at: number; value: StatisticsWire }>()
  return defineEndpoint({
    ...ADMINISTRATION,
    route: 'GET /api/admin/statistics',
    operationId: 'readStatistics',
    summary: 'Read volume, failures, time to finality, fees and breaks by day',
    query: StatisticsQuerySchema,
    answer: StatisticsSchema,
    handle: async ({ query: { days, chain }, db }) => {
      const { chainId } = chainNamed(chains, chain, 'query.chain')
      const now = clock.now().getTime()
      const key = `${chainId} ${days}`
      const known = kept.get(key)
      if (known && now - known.at < KEPT_MS) return known.value
      const value = await read(db, { chainId, days })
      kept.set(key, { at: now, value })
      return value
    },
  })
}

function toDayWire(day: StatisticsDay): StatisticsWire['days'][number] {
  const { volume, finalP50, finalP95, feesWei } = day
  return {
    ...fieldsOf(day, 'day', 'transactions', 'failed', 'breaksOpened', 'breaksClosed'),
    volume: volume.map(({ currency, amount }) => ({ currency, amount_decimal: amount })),
    final_p50_ms: msOf(finalP50),
    final_p95_ms: msOf(finalP95),
    fees_wei: String(feesWei),
  }
}

function msOf(seconds: number | null): number | null {
  return seconds === null ? null : Math.round(seconds * 1000)
}
