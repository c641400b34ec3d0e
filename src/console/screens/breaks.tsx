import type { BreakWire } from '../../wire/group-b/reconciliation.ts'
import { useEvents, useInterval, useLoaded, useThrottled } from '../context.ts'
import { textsOf } from '../form.ts'
import { CardList, type Columns } from '../parts/cards.tsx'
import { groupDigits, plural, sentenceOf } from '../parts/format.ts'
import { Amount, Badge, Choice, Empty, Hash, Heading, Time } from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'
import { Paging, useCursor } from './paging.tsx'

export type BreakList = { breaks: BreakWire[]; total: number; next_cursor: string | null }

const AGES = ['under_1h', 'under_1d', 'under_7d', 'over_7d']
const AGE_LABELS = {
  under_1h: 'Under 1 hour',
  under_1d: '1 hour to 1 day',
  under_7d: '1 to 7 days',
  over_7d: 'Over 7 days',
}
/** A kind that is missing here does not compile. Their sentences come with each break. */
const KINDS = Object.keys({
  missing: true,
  dropped: true,
  reverted: true,
  replaced_by_ours: true,
  replaced_unknown: true,
  wrong_amount: true,
  wrong_recipient: true,
  wrong_contract: true,
  wrong_hash: true,
  wrong_reference: true,
  reorged: true,
  stale_receipt: true,
  unknown_outgoing: true,
  duplicate_payment: true,
  fee_mismatch: true,
  state_lag: true,
  supply_drift: true,
  unexplained_balance: true,
  provider_disagreement: true,
} satisfies Record<BreakWire['kind'], true>)

/** Every disagreement of records and chain; the open ones unless others are asked for. */
export function BreaksScreen({ route }: ScreenProps) {
  const { state = 'open', age, kind, min_amount } = route.query
  const query = { state, age, kind, min_amount }
  const key = JSON.stringify(query)
  const [cursor, setCursor] = useCursor(key)
  const list = useLoaded(`breaks ${key} ${cursor}`, (api, signal) =>
    api.get<BreakList>('/api/breaks', { signal, query: { ...query, cursor, limit: 50 } }),
  )
  const reloadSoon = useThrottled(list.reload, 300)
  useEvents((event) => {
    if (event.type.includes('break')) reloadSoon()
  })
  useInterval(list.reload)
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
        onSubmit={(event) => {
          event.preventDefault()
          location.hash = hashOf(['breaks'], textsOf(event.currentTarget))
        }}
      >
        <Choice name="state" title="State" options={['open', 'closed']} value={state} any={false} />
        <Choice name="kind" title="Kind" options={KINDS} value={kind} />
        <Choice name="age" title="Age" options={AGES} labels={AGE_LABELS} value={age} />
        <label>
          At risk, at least
          <input
            name="min_amount"
            inputMode="decimal"
            pattern="(0|[1-9]\d{0,12})(\.\d{1,18})?"
            size={10}
            value={min_amount ?? ''}
          />
        </label>
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
            <a href={hashOf(['runs'])}>Run a reconciliation</a> to compare again.
          </p>
        </Empty>
      </CardList>
      <Paging cursor={cursor} next={data?.next_cursor} onGo={setCursor} />
    </>
  )
}

const COLUMNS: Columns<BreakWire> = {
  Break: (one) => (
    <>
      <a href={hashOf(['breaks', one.id])}>{sentenceOf(one.kind)}</a>
      <br />
      <span class="faint">{one.meaning}</span>
    </>
  ),
  State: (one) => <Badge state={one.state} />,
  'At risk': (one) => <AtRisk of={one} />,
  Transaction: (one) => <About of={one} />,
  'First seen': (one) => <Time iso={one.first_seen_at} />,
  'Last seen': (one) => <Time iso={one.last_seen_at} />,
}

export function AtRisk({ of }: { of: BreakWire }) {
  const { at_risk_decimal: decimal, at_risk_currency: currency } = of
  if (decimal === null) return <span class="faint">none</span>
  if (currency === null) return <>{groupDigits(decimal)}</>
  return <Amount decimal={decimal} currency={currency} />
}

/** Which transaction it is about, of the record or else of the chain. */
function About({ of }: { of: BreakWire }) {
  const { transaction_id: id, eth_transaction_hash: hash } = of
  if (id !== null) {
    return (
      <a href={hashOf(['transactions', id])}>
        <code>{id}</code>
      </a>
    )
  }
  return hash === null ? <>none</> : <Hash value={hash} />
}
