import type { AnyDeliveryWire } from '../../wire/group-b/deliveries.ts'
import { useLoaded } from '../context.ts'
import { plural, sentenceOf } from './format.ts'
import { Badge, Empty, Foreign, LoadState, Time } from './parts.tsx'

type DeliveryList = { deliveries: AnyDeliveryWire[]; next_after: string | null }

/** Whom the platform told of one thing, and whether it arrived; the newest of them. */
export function Told({ about }: { about: string }) {
  const list = useLoaded(`told ${about}`, (api, signal) =>
    api.get<DeliveryList>('/api/deliveries', { signal, query: { about, limit: 20 } }),
  )
  const { data } = list
  return (
    <>
      <LoadState of={list} what="webhooks" />
      {data?.deliveries.length === 0 && <Empty title="Nobody was told of it by a webhook" />}
      <ul class="list">
        {data?.deliveries.map((delivery) => (
          <li key={delivery.id}>
            <Badge state={delivery.status} /> {sentenceOf(delivery.notification_type)} to{' '}
            <Foreign text={delivery.url} />
            <span class="faint">
              {' '}
              {plural(delivery.tries, 'try', 'tries')}, written <Time iso={delivery.created_at} />
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}
