import type { WebhookEndpointListWire, WebhookEndpointWire } from '../../wire/group-b/console.ts'
import { useInterval, useLoaded } from '../context.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { plural, sentenceOf } from '../parts/format.ts'
import { Badge, Empty, Foreign, Heading, Time } from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'
import { Paging, useCursor } from './paging.tsx'

/** Where webhooks go, what each address receives, and whether it answers. */
export function EndpointsScreen({ route }: ScreenProps) {
  const { user_id: userId } = route.query
  const [after, setAfter] = useCursor(`endpoints ${userId}`)
  const list = useLoaded(`endpoints ${userId} ${after}`, (api, signal) =>
    api.get<WebhookEndpointListWire>('/api/admin/webhook-endpoints', {
      signal,
      query: { user_id: userId, after, limit: 50 },
    }),
  )
  useInterval(list.reload)
  const { data } = list
  return (
    <>
      <Heading>Webhook endpoints</Heading>
      <CardList
        of={list}
        what="webhook endpoints"
        rows={data?.endpoints}
        keyOf={(endpoint) => endpoint.id}
        columns={COLUMNS}
      >
        <Empty title="No webhook endpoints">
          <p>A user adds one with a subscription to notifications.</p>
        </Empty>
      </CardList>
      <Paging cursor={after} next={data?.next_after} onGo={setAfter} />
    </>
  )
}

const COLUMNS: Columns<WebhookEndpointWire> = {
  Endpoint: (endpoint) => <Foreign text={endpoint.url} />,
  Status: (endpoint) => (
    <>
      <Badge state={endpoint.status} />{' '}
      {endpoint.disabled_code !== null && (
        <span class="faint">{sentenceOf(endpoint.disabled_code)}</span>
      )}
      {endpoint.failing_since !== null && (
        <p class="faint">
          Failing since <Time iso={endpoint.failing_since} />
        </p>
      )}
    </>
  ),
  User: (endpoint) => <Foreign text={endpoint.username} />,
  Types: (endpoint) => sentenceOf(endpoint.types.join(', ')),
  Waiting: (endpoint) => (
    <a href={hashOf(['deliveries'], { status: 'pending', user_id: String(endpoint.user_id) })}>
      {plural(endpoint.waiting, 'delivery', 'deliveries')}
    </a>
  ),
  Added: (endpoint) => <Time iso={endpoint.created_at} />,
}
