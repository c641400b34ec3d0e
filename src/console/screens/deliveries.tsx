import type { AnyDeliveryWire } from '../../wire/group-b/deliveries.ts'
import { useAct } from '../act.ts'
import { useInterval, useLoaded, usePlatform } from '../context.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { sentenceOf } from '../parts/format.ts'
import { Badge, Choice, Empty, Failure, Foreign, Heading, Time } from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'
import { Paging, useCursor } from './paging.tsx'

type DeliveryList = { deliveries: AnyDeliveryWire[]; next_after: string | null }

const REFRESH_MS = 3000
const STATES = ['pending', 'delivered', 'failed', 'canceled']

/** What users are told by webhooks, what came of it, and the means to tell it again. */
export function DeliveriesScreen({ route }: ScreenProps) {
  const { api } = usePlatform()
  const { status } = route.query
  const [cursor, setCursor] = useCursor(`${status}`)
  const { act, error } = useAct()
  const list = useLoaded(`deliveries ${status} ${cursor}`, (api, signal) =>
    api.get<DeliveryList>('/api/deliveries', {
      signal,
      query: { status, after: cursor, limit: 50 },
    }),
  )
  useInterval(list.reload, REFRESH_MS)
  const replay = async (id: string): Promise<void> => {
    await api.post(`/api/deliveries/${encodeURIComponent(id)}/replay`)
    list.reload()
  }
  const { data } = list
  return (
    <>
      <Heading>Webhook deliveries</Heading>
      <div class="filters">
        <Choice
          name="status"
          title="Status"
          options={STATES}
          value={status}
          onChange={(chosen) => {
            location.hash = hashOf(['deliveries'], { status: chosen })
          }}
        />
      </div>
      {error !== undefined && <Failure error={error} />}
      <CardList
        of={list}
        what="deliveries"
        rows={data?.deliveries}
        keyOf={(delivery) => delivery.id}
        columns={columnsOf((id) => act(() => replay(id)))}
      >
        <Empty title="Nobody was told anything">
          <p>A user who subscribes to notifications is told of each change, and it appears here.</p>
        </Empty>
      </CardList>
      <Paging cursor={cursor} next={data?.next_after} onGo={setCursor} />
    </>
  )
}

function columnsOf(onReplay: (id: string) => void): Columns<AnyDeliveryWire> {
  return {
    Told: (delivery) => (
      <>
        {sentenceOf(delivery.notification_type)}{' '}
        <span class="faint">{String(delivery.sequence ?? '')}</span>
        <br />
        <span class="faint">
          <Time iso={delivery.created_at} />
        </span>
      </>
    ),
    Status: (delivery) => <Badge state={delivery.status} />,
    User: (delivery) => <Foreign text={delivery.username} />,
    To: (delivery) => <Foreign text={delivery.url} />,
    'Latest try': (delivery) => <Latest delivery={delivery} />,
    Do: (delivery) => (
      <button type="button" onClick={() => onReplay(delivery.id)}>
        Replay
        <span class="hidden"> {delivery.id}</span>
      </button>
    ),
  }
}

function Latest({ delivery }: { delivery: AnyDeliveryWire }) {
  const latest = delivery.latest_tries.toSorted((a, b) => (a.created_at < b.created_at ? 1 : -1))[0]
  if (!latest) return <>None yet</>
  const { status_code: code, answer_bytes: bytes } = latest
  const answer = code === null ? '' : ` (${code}, ${bytes ?? 0} bytes)`
  return (
    <>
      {sentenceOf(latest.outcome)}
      {answer} after {latest.duration_ms} ms
      <br />
      <span class="faint">
        <Time iso={latest.created_at} />
      </span>
    </>
  )
}
