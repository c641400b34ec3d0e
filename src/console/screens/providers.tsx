import type { OverviewWire } from '../../wire/group-b/admin.ts'
import type { BreakWire } from '../../wire/group-b/reconciliation.ts'
import { useInterval, useLoaded } from '../context.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { useChainChoice } from '../parts/chain-choice.tsx'
import { groupDigits } from '../parts/format.ts'
import { Badge, Empty, Heading, Panel, Time } from '../parts/parts.tsx'
import { hashOf } from '../route.ts'

const REFRESH_MS = 3000

type Provider = OverviewWire['providers'][number]

/** The nodes that are asked: how fast each answers, how far behind it is, and what fails. */
export function ProvidersScreen() {
  const { chain, choice } = useChainChoice()
  const list = useLoaded(`overview ${chain}`, (api, signal) =>
    api.get<OverviewWire>('/api/admin/overview', { signal, query: { chain } }),
  )
  const disagreements = useLoaded('disagreements', (api, signal) =>
    api.get<{ breaks: BreakWire[] }>('/api/breaks', {
      signal,
      query: { kind: 'provider_disagreement', limit: 10 },
    }),
  )
  useInterval(list.reload, REFRESH_MS)
  const { data } = list
  const found = disagreements.data?.breaks ?? []
  return (
    <>
      <Heading>Providers</Heading>
      {choice && <div class="filters">{choice}</div>}
      <CardList
        of={list}
        what="providers"
        rows={data?.providers}
        keyOf={(provider) => provider.name}
        columns={COLUMNS}
      >
        <Empty title="No provider is configured" />
      </CardList>
      <div class="panels">
        {data?.head && (
          <Panel
            title="Position of the reader"
            facts={[
              ['Last block read', groupDigits(data.head.block_number)],
              ['Last final block', groupDigits(data.head.final_number ?? 'none yet')],
              ['Read at', <Time iso={data.head.updated_at} />],
            ]}
          />
        )}
        <Panel title="Who disagreed">
          {found.length === 0 ? (
            <Empty title="No provider has contradicted another" />
          ) : (
            <ul class="list">
              {found.map((one) => (
                <li key={one.id}>
                  <a href={hashOf(['breaks', one.id])}>
                    <code>{one.transaction_id ?? one.eth_transaction_hash ?? one.id}</code>
                  </a>{' '}
                  <Badge state={one.state} /> <Time iso={one.first_seen_at} />
                </li>
              ))}
            </ul>
          )}
        </Panel>
      </div>
    </>
  )
}

const COLUMNS: Columns<Provider> = {
  Provider: (provider) => <code>{provider.name}</code>,
  State: (provider) => <Badge state={provider.state} />,
  Latency: (provider) => `${groupDigits(provider.latency_ms)} ms`,
  'Calls answered': (provider) => `${provider.answered_percent} %`,
  'Failures in a row': (provider) => String(provider.failures),
  Score: (provider) => `${provider.score} of 100`,
}
