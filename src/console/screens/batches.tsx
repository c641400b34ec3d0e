import { useState } from 'preact/hooks'

import type { OwnedBatchDetailWire, OwnedBatchListWire } from '../../wire/group-b/admin.ts'
import { useEvents, useInterval, useLoaded, useThrottled } from '../context.ts'
import { CardList, Cards, type Columns } from '../parts/cards.tsx'
import { plural, sentenceOf } from '../parts/format.ts'
import { UserLink } from '../parts/names.tsx'
import {
  Amount,
  Back,
  Badge,
  Empty,
  Foreign,
  Hash,
  Heading,
  LoadState,
  Panel,
  Time,
} from '../parts/parts.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf } from '../route.ts'
import { Paging, useCursor } from './paging.tsx'

const PAGE = 50
const STATES = ['pending', 'processing', 'completed', 'failed'] as const

type Batch = OwnedBatchListWire['batches'][number]
type Item = OwnedBatchDetailWire['items'][number]

/** What was paid together, of all users, and how far each of it is. */
export function BatchesScreen({ route }: ScreenProps) {
  const { user_id: userId } = route.query
  const [after, setAfter] = useCursor(`batches ${userId}`)
  const list = useLoaded(`batches ${userId} ${after}`, (api, signal) =>
    api.get<OwnedBatchListWire>('/api/admin/batches', {
      signal,
      query: { user_id: userId, after, limit: PAGE },
    }),
  )
  useInterval(list.reload)
  const { data } = list
  return (
    <>
      <Heading>Batches</Heading>
      <CardList
        of={list}
        what="batches"
        rows={data?.batches}
        keyOf={(batch) => batch.batch_id}
        columns={COLUMNS}
      >
        <Empty title="There are no batches yet">
          <p>Payments that are sent together appear here.</p>
        </Empty>
      </CardList>
      <Paging cursor={after} next={data?.next_after} onGo={setAfter} />
    </>
  )
}

const COLUMNS: Columns<Batch> = {
  Batch: (batch) => (
    <a href={hashOf(['batches', batch.batch_id])}>
      <code>{batch.batch_id}</code>
    </a>
  ),
  Status: (batch) => <Badge state={batch.status} />,
  Amount: (batch) => <Sum of={batch} currency={batch.currency} />,
  Payments: (batch) => <States batch={batch} />,
  User: (batch) => <Foreign text={batch.username} />,
  Created: (batch) => <Time iso={batch.created_at} />,
}

function Sum({ of, currency }: { of: { amount_decimal: string }; currency: string }) {
  return <Amount decimal={of.amount_decimal} currency={currency} />
}

/** How many are in each state, those of none left out. */
function States({ batch }: { batch: Batch }) {
  const some = STATES.filter((state) => batch.sums[state].count > 0)
  return <>{some.map((state) => `${batch.sums[state].count} ${state}`).join(', ')}</>
}

/** One batch with its payments, updated until they end. */
export function BatchScreen({ route }: ScreenProps) {
  const id = route.path[1] ?? ''
  const [from, setFrom] = useState<number>()
  const loaded = useLoaded(`${id} ${from}`, (api, signal) =>
    api.get<OwnedBatchDetailWire>(`/api/admin/batches/${encodeURIComponent(id)}`, {
      signal,
      query: { from, limit: PAGE },
    }),
  )
  const { data, reload } = loaded
  const refresh = useThrottled(reload, 500)
  useEvents(({ batch_id: batchId, transaction_id: transactionId }) => {
    const isShown = data?.items.some((item) => item.transaction_id === transactionId)
    if (batchId === id || isShown === true) refresh()
  })
  useInterval(() => {
    if (data?.status === 'pending') reload()
  })
  return (
    <>
      <Back to="batches">All batches</Back>
      <Heading>{id}</Heading>
      <LoadState of={loaded} what="the batch" />
      {data && (
        <>
          <div class="panels">
            <Panel title="Batch" facts={factsOf(data)} />
            <Panel title="By state" facts={sumsOf(data)} />
          </div>
          <Items items={data.items} />
          <Paging
            cursor={from}
            next={data.next_from}
            onGo={setFrom}
            words={['First payments', 'Next payments']}
          />
        </>
      )}
    </>
  )
}

function factsOf(batch: OwnedBatchDetailWire) {
  const { completed_at: doneAt } = batch
  return [
    ['Status', <Badge state={batch.status} />],
    ['Amount', <Sum of={batch} currency={batch.currency} />],
    ['Payments', plural(batch.count, 'payment')],
    ['If one fails', batch.on_failure === 'each' ? 'the others are paid' : 'none is paid'],
    ['User', <UserLink id={batch.user_id} name={batch.username} />],
    ['Created', <Time iso={batch.created_at} />],
    ['Done', doneAt === null ? 'not yet' : <Time iso={doneAt} />],
  ] as const
}

function sumsOf({ sums, currency }: OwnedBatchDetailWire) {
  return STATES.map((state) => {
    const { count } = sums[state]
    const sum = <Sum of={sums[state]} currency={currency} />
    const shown =
      count === 0 ? (
        'none'
      ) : (
        <>
          {plural(count, 'payment')}, {sum}
        </>
      )
    return [sentenceOf(state), shown] as const
  })
}

function Items({ items }: { items: readonly Item[] }) {
  return (
    <Cards
      rows={items}
      keyOf={(item) => item.index}
      columns={{
        Payment: (item) => (
          <a href={hashOf(['transactions', item.transaction_id])}>
            <code>{item.transaction_id}</code>
          </a>
        ),
        Status: (item) => <ItemState item={item} />,
        Amount: (item) => <Sum of={item} currency={item.currency} />,
        To: (item) => <Hash value={item.to_address} />,
        Hash: (item) =>
          item.eth_transaction_hash === null ? 'none' : <Hash value={item.eth_transaction_hash} />,
        'External id': (item) =>
          item.external_id === null ? 'none' : <Foreign text={item.external_id} />,
      }}
    />
  )
}

function ItemState({ item }: { item: Item }) {
  const reason = item.error_reason ?? (item.error_code && sentenceOf(item.error_code))
  return (
    <>
      <Badge state={item.status} /> {reason && <span class="faint">{reason}</span>}
    </>
  )
}
