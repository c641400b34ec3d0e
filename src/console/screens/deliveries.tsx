import { useState } from 'preact/hooks'

import type { AnyDeliveryDetailWire, AnyDeliveryWire } from '../../wire/group-b/deliveries.ts'
import { useAct } from '../act.ts'
import { useInterval, useLoaded, usePlatform } from '../context.ts'
import { CardList, Cards, type Columns } from '../parts/cards.tsx'
import { plural, sentenceOf } from '../parts/format.ts'
import {
  Back,
  Badge,
  Choice,
  Copy,
  Empty,
  Failure,
  Foreign,
  Heading,
  LoadState,
  Panel,
  Time,
} from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'
import { Paging, useCursor } from './paging.tsx'

type DeliveryList = { deliveries: AnyDeliveryWire[]; next_after: string | null }

const REFRESH_MS = 3000
const STATES = ['pending', 'delivered', 'failed', 'canceled']

/** What webhooks report to users, whether it arrived, and the means to send it again. */
export function DeliveriesScreen({ route }: ScreenProps) {
  const { api } = usePlatform()
  const { status, user_id: userId } = route.query
  const [cursor, setCursor] = useCursor(`${status} ${userId}`)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const { act, isBusy, error } = useAct()
  const list = useLoaded(`deliveries ${status} ${userId} ${cursor}`, (api, signal) =>
    api.get<DeliveryList>('/api/deliveries', {
      signal,
      query: { status, user_id: userId, after: cursor, limit: 50 },
    }),
  )
  useInterval(list.reload, REFRESH_MS)
  const replay = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) await api.post(`/api/deliveries/${encodeURIComponent(id)}/replay`)
    setChosen(new Set())
    list.reload()
  }
  const choose = (id: string, isChosen: boolean): void => {
    const others = [...chosen].filter((one) => one !== id)
    setChosen(new Set(isChosen ? [...others, id] : others))
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
          onChange={(picked) => {
            location.hash = hashOf(['deliveries'], { ...route.query, status: picked })
          }}
        />
        <button
          type="button"
          onClick={() => setChosen(new Set(data?.deliveries.map(({ id }) => id)))}
        >
          Choose all on this page
        </button>
        <button
          type="button"
          class="primary"
          disabled={chosen.size === 0 || isBusy}
          onClick={() => act(() => replay([...chosen]))}
        >
          Replay {plural(chosen.size, 'delivery', 'deliveries')}
        </button>
      </div>
      {error !== undefined && <Failure error={error} />}
      <CardList
        of={list}
        what="deliveries"
        rows={data?.deliveries}
        keyOf={(delivery) => delivery.id}
        columns={columnsOf({ chosen, choose, replay: (id) => act(() => replay([id])) })}
      >
        <Empty title="No webhooks sent">
          <p>Webhooks go to users who subscribe to notifications, and appear here.</p>
        </Empty>
      </CardList>
      <Paging cursor={cursor} next={data?.next_after} onGo={setCursor} />
    </>
  )
}

type Choosing = {
  chosen: ReadonlySet<string>
  choose: (id: string, isChosen: boolean) => void
  replay: (id: string) => void
}

function columnsOf({ chosen, choose, replay }: Choosing): Columns<AnyDeliveryWire> {
  return {
    Webhook: (delivery) => (
      <>
        <a href={hashOf(['deliveries', delivery.id])}>
          {sentenceOf(delivery.notification_type)}
          <span class="faint"> {String(delivery.sequence ?? '')}</span>
        </a>
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
      <span class="inline">
        <label class="check">
          <input
            type="checkbox"
            checked={chosen.has(delivery.id)}
            onChange={(event) => choose(delivery.id, event.currentTarget.checked)}
          />
          <span class="hidden">Choose {delivery.id}</span>
        </label>
        <button type="button" onClick={() => replay(delivery.id)}>
          Replay
          <span class="hidden"> {delivery.id}</span>
        </button>
      </span>
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
      {answer} after {latest.duration_ms}&nbsp;ms
      <br />
      <span class="faint">
        <Time iso={latest.created_at} />
      </span>
    </>
  )
}

/** One webhook: what is sent, and what came of each try. */
export function DeliveryScreen({ route }: ScreenProps) {
  const id = route.path[1] ?? ''
  const { api } = usePlatform()
  const { act, isBusy, error } = useAct()
  const loaded = useLoaded(`delivery ${id}`, (api, signal) =>
    api.get<AnyDeliveryDetailWire>(`/api/deliveries/${encodeURIComponent(id)}`, { signal }),
  )
  useInterval(loaded.reload, REFRESH_MS)
  const replay = async (): Promise<void> => {
    await api.post(`/api/deliveries/${encodeURIComponent(id)}/replay`)
    loaded.reload()
  }
  const { data } = loaded
  const button = (
    <button type="button" class="primary" disabled={isBusy} onClick={() => act(replay)}>
      Replay
    </button>
  )
  return (
    <>
      <Back to="deliveries">All webhooks</Back>
      <Heading aside={button}>
        {data ? `Webhook: ${sentenceOf(data.delivery.notification_type)}` : 'Webhook'}
      </Heading>
      {error !== undefined && <Failure error={error} />}
      <LoadState of={loaded} what="the webhook" />
      {data && <Delivered {...data} />}
    </>
  )
}

function Delivered({ delivery, headers, payload }: AnyDeliveryDetailWire) {
  return (
    <>
      <div class="panels two">
        <Panel
          title="Delivery"
          facts={[
            ['Status', <Badge state={delivery.status} />],
            ['To', <Foreign text={delivery.url} />],
            ['Address is', <Badge state={delivery.url_status} />],
            ['User', <Foreign text={delivery.username} />],
            ['Written', <Time iso={delivery.created_at} />],
            ...(delivery.next_try_at === null
              ? []
              : [['Next try', <Time iso={delivery.next_try_at} />] as const]),
          ]}
        />
        <Panel
          title="Headers"
          facts={[
            ...Object.entries(headers).map(
              ([name, value]) => [name, <Foreign text={value} />] as const,
            ),
            ['webhook-timestamp', 'made at each try'],
            ['webhook-signature', 'made at each try'],
          ]}
        />
      </div>
      <h2 class="part">Tries</h2>
      <Cards
        rows={delivery.latest_tries}
        keyOf={(made) => made.created_at}
        columns={{
          At: (made) => <Time iso={made.created_at} />,
          Outcome: (made) => sentenceOf(made.outcome),
          Answer: (made) => (made.status_code === null ? made.error : String(made.status_code)),
          Length: (made) =>
            made.answer_bytes === null ? 'no answer' : plural(made.answer_bytes, 'byte'),
          Took: (made) => `${made.duration_ms} ms`,
        }}
      />
      <p class="faint">
        The content of an answer is not stored, because it can be a secret of another program.
      </p>
      <h2 class="part">Payload</h2>
      <Payload text={payload} />
    </>
  )
}

function Payload({ text }: { text: string }) {
  return (
    <div class="panel">
      <Copy value={text}>the payload</Copy>
      <pre tabIndex={0} class="foreign" dir="auto">
        {indented(text)}
      </pre>
    </div>
  )
}

/** For reading; what is sent, and signed, has no spaces. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
