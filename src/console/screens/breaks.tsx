import type { BreakWire } from '../../wire/group-b/reconciliation.ts'
import { useInterval, useLoaded } from '../context.ts'
import { textsOf } from '../form.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { plural, sentenceOf } from '../parts/format.ts'
import { Badge, Choice, Empty, Hash, Heading, Time } from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'
import { Paging, useCursor } from './paging.tsx'

export type BreakList = { breaks: BreakWire[]; total: number; next_cursor: string | null }

const REFRESH_MS = 5000
const AGES = ['under_1h', 'under_1d', 'under_7d', 'over_7d']

/** Every disagreement of records and chain; the open ones unless others are asked for. */
export function BreaksScreen({ route }: ScreenProps) {
  const { state = 'open', age } = route.query
  const [cursor, setCursor] = useCursor(`${state} ${age}`)
  const list = useLoaded(`breaks ${state} ${age} ${cursor}`, (api, signal) =>
    api.get<BreakList>('/api/breaks', { signal, query: { state, age, cursor, limit: 50 } }),
  )
  useInterval(list.reload, REFRESH_MS)
  const { data } = list
  const count = data && (
    <p class="faint" role="status">
      {plural(data.total, `${state} break`)}
    </p>
  )
  return (
    <>
      <Heading aside={count}>Breaks</Heading>
      <form
        class="filters"
        onChange={(event) => {
          location.hash = hashOf(['breaks'], textsOf(event.currentTarget))
        }}
      >
        <Choice name="state" title="State" options={['open', 'closed']} value={state} any={false} />
        <Choice name="age" title="Age" options={AGES} value={age} />
      </form>
      <CardList
        of={list}
        what="breaks"
        rows={data?.breaks}
        keyOf={(one) => one.id}
        columns={COLUMNS}
      >
        <Empty title={`No break is ${state}`}>
          <p>
            <a href={hashOf(['runs'])}>Run a reconciliation</a> to look again.
          </p>
        </Empty>
      </CardList>
      <Paging cursor={cursor} next={data?.next_cursor} onGo={setCursor} />
    </>
  )
}

const COLUMNS: Columns<BreakWire> = {
  Break: (one) => <a href={hashOf(['breaks', one.id])}>{sentenceOf(one.kind)}</a>,
  State: (one) => <Badge state={one.state} />,
  Transaction: (one) => (one.transaction_id === null ? 'none' : <code>{one.transaction_id}</code>),
  Hash: (one) =>
    one.eth_transaction_hash === null ? 'none' : <Hash value={one.eth_transaction_hash} />,
  'First seen': (one) => <Time iso={one.first_seen_at} />,
  'Last seen': (one) => <Time iso={one.last_seen_at} />,
}
