import type { Clock } from '../../../../base/clock.ts'
import { listSamples } from '../../../../store/transactions/overview.ts'
import { decimalOf } from '../../../../wire/group-a/money.ts'
import { SampleListQuerySchema, SampleListSchema } from '../../../../wire/group-b/admin.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { chainNamed, type Chains } from '../../../chains.ts'
import { fieldsOf } from '../fields.ts'
import { ADMINISTRATION } from './administration.ts'

export function sampleListEndpoint(deps: { clock: Clock; chains: Chains }): Endpoint {
  const { clock, chains } = deps
  return defineEndpoint({
    ...ADMINISTRATION,
    route: 'GET /api/admin/samples',
    operationId: 'listOverviewSamples',
    summary: 'List the overview of each minute, oldest first',
    query: SampleListQuerySchema,
    answer: SampleListSchema,
    handle: async ({ query, db }) => {
      const { chainId } = chainNamed(chains, query.chain, 'query.chain')
      const since = new Date(clock.now().getTime() - query.hours * 3_600_000)
      const samples = await listSamples(db, { chainId, since, limit: MAX_POINTS })
      return {
        success: true as const,
        samples: samples.map((sample) => ({
          ...fieldsOf(sample, 'at', 'inFlight', 'oldestSeconds', 'providersWell', 'openBreaks'),
          claimed_wei: String(sample.claimedWei),
          settled_wei: String(sample.settledWei),
          supply: sample.supply === undefined ? null : decimalOf(sample.supply),
          liability: sample.liability === undefined ? null : decimalOf(sample.liability),
        })),
      }
    },
  })
}

/** A plot has no more room. */
const MAX_POINTS = 300
