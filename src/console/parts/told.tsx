import type { AnyDeliveryWire } from '../../wire/group-b/deliveries.ts'
import { useLoaded } from '../context.ts'
import { hashOf } from '../route.ts'
import { plural, sentenceOf } from './format.ts'
import { Badge, Foreign, LoadState, Panel, Time } from './parts.tsx'

type DeliveryList = { deliveries: AnyDeliveryWire[]; next_after: string | null }

/** The newest webhooks about one thing, and whether each arrived. */
export function Told({ about }: { about: string }) {
  const list = useLoaded(`told ${about}`, (api, signal) =>
    api.get<DeliveryList>('/api/deliveries', { signal, query: { about, limit: 20 } }),
  )
  const { data } = list
  if (data ? data.deliveries.length === 0 : list.error === undefined) return null
  return (
    <Panel title="Webhooks">
      <LoadState of={list} what="webhooks" />
      <ul class="list">
        {data?.deliveries.map((delivery) => (
          <li key={delivery.id}>
            <Badge state={delivery.status} />{' '}
            <a href={hashOf(['deliveries', delivery.id])}>
              {sentenceOf(delivery.notification_type)}
            </a>{' '}
            to <Foreign text={delivery.url} />
            <span class="faint">
              {' '}
              {plural(delivery.tries, 'try', 'tries')}, written <Time iso={delivery.created_at} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
