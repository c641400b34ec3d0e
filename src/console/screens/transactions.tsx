import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'

import type {
  OwnedListWire,
  OwnedTransactionWire,
  StreamEventWire,
} from '../../wire/group-b/admin.ts'
import { useAct } from '../act.ts'
import type { Api } from '../api.ts'
import { useChains, useEvents, usePlatform, useThrottled } from '../context.ts'
import { fillIn, textsOf } from '../form.ts'
import { plural } from '../parts/format.ts'
import { userIdOf } from '../parts/names.tsx'
import { objectionsAfter } from '../parts/objections.tsx'
import { Choice, Empty, Failure, Heading, Loading } from '../parts/parts.tsx'
import { keepPlace, placeName, placeOf } from '../parts/place.ts'
import { Rows } from '../parts/rows.tsx'
import type { ScreenProps } from '../route.ts'
import { hashOf, type Route } from '../route.ts'
import { fieldsOf, foundBy, screenOf, wordOf } from '../parts/transaction-filters.ts'
import { ColumnChoice, COLUMNS, columnsOf, saveShown } from '../parts/transaction-columns.tsx'
import { OtherOrders, useView } from '../parts/transaction-view.tsx'

const TYPES = ['deposit', 'withdrawal', 'transfer', 'payment', 'settlement']
const STATUSES = ['pending', 'processing', 'completed', 'failed', 'refunded']
const CURRENCIES = ['USD', 'EUR', 'GBP', 'ETH']
const PAGE = 100

export function TransactionsScreen({ route }: ScreenProps) {
  // The same object until one goes elsewhere: with a new one the fields would be filled in anew.
  const { chosen, query, order, sorting, others } = useView(route)
  const place = useMemo(placeName, [route])
  const list = usePages(query, place)
  const { rows, total, failure, isDone, isLoading, loadMore, reload, fresh } = list
  const columns = columnsOf(chosen)
  const latest = useRef({ list, top: list.top })
  latest.current.list = list
  useEffect(() => {
    // What is left is kept, so that going back leads to the same row.
    return () => keepPlace(place, { value: latest.current.list, top: latest.current.top })
  }, [place])
  return (
    <>
      <Heading aside={<Count total={total} isExact={list.isExact} />}>
        {query['type'] === 'deposit' ? 'Deposits' : 'Transactions'}
      </Heading>
      <Filters query={query} columns={chosen} />
      <div class="filters">
        <ColumnChoice query={query} shown={columns} />
        <button type="button" onClick={() => saveShown(rows, columns)} disabled={rows.length === 0}>
          Export what is shown
        </button>
        <OtherOrders others={others} />
        {fresh > 0 && (
          <button type="button" class="primary" onClick={reload}>
            Show {plural(fresh, 'new transaction')}
          </button>
        )}
      </div>
      {failure && <Failure {...failure} />}
      {rows.length > 0 && (
        <Rows
          key={list.lists}
          label={`Transactions, ${order} first`}
          sorting={sorting}
          rows={rows}
          keyOf={(row) => row.transaction_id}
          columns={columns}
          widths={columns.map((name) => COLUMNS[name]?.width ?? '').join(' ')}
          cells={(row) => columns.map((name) => COLUMNS[name]?.cell(row))}
          hrefOf={(row) => hashOf(['transactions', row.transaction_id])}
          onEnd={loadMore}
          total={total}
          top={list.top}
          onScroll={(top) => (latest.current.top = top)}
        />
      )}
      <More isLoading={isLoading && rows.length > 0} />
      {rows.length === 0 && !isDone && !failure && <Loading what="transactions" />}
      {rows.length === 0 && isDone && <Nothing isFiltered={Object.keys(query).length > 0} />}
    </>
  )
}

function Count({ total, isExact }: { total: number | undefined; isExact: boolean }) {
  if (total === undefined) return null
  const more = isExact ? '' : ' or more'
  return (
    <p class="faint" role="status">
      {plural(total, 'transaction')}
      {more}
    </p>
  )
}

/** Always there, since a screen reader reports changes and not what is new. */
function More({ isLoading }: { isLoading: boolean }) {
  return (
    <p class="more" role="status" aria-live="polite">
      {isLoading && 'Loading more …'}
    </p>
  )
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  return isFiltered ? (
    <Empty title="No transactions match these filters">
      <p>
        <a href={hashOf(['transactions'])}>Show all transactions</a>
      </p>
    </Empty>
  ) : (
    <Empty title="There are no transactions yet">
      <p>The first one appears here automatically.</p>
    </Empty>
  )
}

async function apply(
  form: HTMLFormElement,
  { api, ...kept }: { api: Api; columns: string; sort: string },
): Promise<void> {
  const { find = '', word = '', user = '', ...filters } = textsOf(form)
  const [screen, id] = screenOf(find)
  const userId = await userIdOf(user, api)
  if (userId === undefined) {
    const field = form.querySelector<HTMLInputElement>('[name=user]')
    field?.setCustomValidity('No user has this name or number.')
    form.reportValidity()
    return
  }
  const query = { ...filters, user_id: userId, ...kept, ...foundBy(find), ...wordOf(word) }
  location.hash = id === undefined ? hashOf(['transactions'], query) : hashOf([screen, id])
}

/** The address contains the filters, so that a list can be sent to somebody. */
function Filters(props: { query: Route['query']; columns: string | undefined }) {
  const { query, columns = '' } = props
  const { api } = usePlatform()
  const act = useAct()
  const chains = useChains()
  const form = useRef<HTMLFormElement>(null)
  useLayoutEffect(() => {
    if (form.current) fillIn(form.current, fieldsOf(query))
  }, [query])
  const [isWhole, setWhole] = useState(Object.keys(query).length > 0)
  return (
    <form
      ref={form}
      class={isWhole ? 'filters' : 'filters few'}
      role="search"
      aria-label="Transactions"
      onSubmit={(event) => {
        event.preventDefault()
        const form = event.currentTarget
        act.act(() => apply(form, { api, columns, sort: query['sort'] ?? '' }))
      }}
    >
      <label class="grow">
        Find
        <input
          type="search"
          name="find"
          placeholder="TX…, BAT…, 0x… or your id"
          maxLength={128}
          title="An id of a transaction or a batch, a hash, an address, or an external id"
        />
      </label>
      <Choice name="status" title="Status" options={STATUSES} />
      <Choice name="type" title="Type" options={TYPES} />
      {chains.length > 1 && (
        <Choice
          name="chain"
          title="Chain"
          value={query['chain']}
          options={chains.map(({ chain }) => chain)}
          isCode
        />
      )}
      <UserField />
      <Choice name="currency" title="Currency" options={CURRENCIES} isCode />
      <AmountBound name="min_amount" title="At least" />
      <AmountBound name="max_amount" title="At most" />
      <WordField />
      <label>
        From
        <input type="date" name="start_date" />
      </label>
      <label>
        To
        <input type="date" name="end_date" />
      </label>
      <button type="submit">Apply</button>
      {!isWhole && (
        <button type="button" class="narrow-only" onClick={() => setWhole(true)}>
          More filters
        </button>
      )}
      {act.error !== undefined && <Failure error={act.error} />}
      {Object.keys(query).length > 0 && <a href={hashOf(['transactions'])}>Clear</a>}
    </form>
  )
}

function WordField() {
  return (
    <label>
      Metadata
      <input
        name="word"
        placeholder="order_id=42"
        pattern="\s*[A-Za-z0-9_.\-]{1,40}=.{1,500}"
        title="Metadata such as order_id=42"
        size={14}
      />
    </label>
  )
}

function UserField() {
  return (
    <label>
      User
      <input
        name="user"
        maxLength={64}
        size={10}
        title="The name or the number of a user"
        onInput={(event) => event.currentTarget.setCustomValidity('')}
      />
    </label>
  )
}

function AmountBound({ name, title }: { name: string; title: string }) {
  return (
    <label>
      {title}
      <input
        name={name}
        inputMode="decimal"
        pattern="(0|[1-9]\d{0,12})(\.\d{1,18})?"
        title="An amount of the currency that is chosen"
        size={8}
      />
    </label>
  )
}

type Pages = Loading & {
  /** How far down one was. */
  top: number
  failure: Failed | undefined
  isDone: boolean
  isLoading: boolean
  /** How many were made since the list was loaded. */
  fresh: number
  loadMore: () => void
  reload: () => void
}

type Loading = {
  /** The filters that the rows pass. */
  key: string
  rows: OwnedTransactionWire[]
  next: string | null | undefined
  total: number | undefined
  isExact: boolean
  /** Whether the search stopped before the page was full, and goes on. */
  isShort: boolean
  /** How often a list was begun: a new one is read from its top. */
  lists: number
}

type Failed = { error: unknown; retry: () => void }

/** Page after page by cursor: whatever is added meanwhile, no row is shown twice or left out. */
function usePages(query: Route['query'], place: string): Pages {
  const { api } = usePlatform()
  const key = JSON.stringify(query)
  const [left] = useState(() => placeOf<Loading>(place))
  const isBack = left !== undefined && left.value.key === key
  const [loaded, setLoaded] = useState<Loading>(() => (isBack ? left.value : nothingOf(key)))
  const [failure, setFailure] = useState<Failed>()
  const [round, setRound] = useState(0)
  const [isLoading, setIsLoading] = useState(false)
  const abort = useRef<AbortController>(undefined)
  const isBusy = useRef(false)
  // What was loaded for other filters is not shown; loaded once more, the list stays till then.
  const list = loaded.key === key ? loaded : nothingOf(key)
  const latest = useRef(list)
  latest.current = list
  const [fresh, setFresh] = useFresh((event) => {
    setLoaded((before) => ({ ...before, rows: withStatus(before.rows, event) }))
  })
  const load = useCallback(
    (cursor?: string) => {
      const controller = abort.current
      if (isBusy.current || !controller) return
      isBusy.current = true
      setIsLoading(true)
      setFailure(undefined)
      const { signal } = controller
      const page = { ...query, limit: PAGE, cursor }
      const ask = async (): Promise<void> => {
        try {
          const answer = await api.get<OwnedListWire>('/api/admin/transactions', {
            query: page,
            signal,
          })
          if (signal.aborted) return
          setLoaded((before) =>
            cursor === undefined ? firstPage(before, key, answer) : nextPage(before, answer),
          )
        } catch (error) {
          if (!signal.aborted) setFailure({ error, retry: () => load(cursor) })
        }
        if (signal.aborted) return
        isBusy.current = false
        setIsLoading(false)
      }
      void ask()
    },
    [api, key],
  )
  const loadMore = useCallback(() => {
    const { next } = latest.current
    if (typeof next === 'string') load(next)
  }, [load])
  // Before the paint, so that the rows are on their way a frame earlier.
  useLayoutEffect(() => {
    abort.current = new AbortController()
    isBusy.current = false
    setFresh(0)
    if (!isBack || round > 0) load()
    return () => abort.current?.abort()
  }, [load, round])
  useLayoutEffect(() => {
    if (list.isShort) loadMore()
  }, [list.isShort, list.next, loadMore])
  const reload = useCallback(() => setRound((before) => before + 1), [])
  const isDone = list.next === null
  const top = isBack && round === 0 ? left.top : 0
  return { ...list, top, failure, isDone, isLoading, fresh, loadMore, reload }
}

/** How many transactions are new since the list was loaded, and what else happens. */
function useFresh(onOther: Parameters<typeof useEvents>[0]) {
  const [fresh, setFresh] = useState(0)
  const waiting = useRef(0)
  const show = useThrottled(() => setFresh((before) => before + take(waiting)), 500)
  useEvents((event) => {
    if (event.type !== 'transaction.created') return onOther(event)
    waiting.current += 1
    show()
  })
  return [fresh, setFresh] as const
}

function nothingOf(key: string): Loading {
  const list = { key, rows: [], next: undefined, total: undefined }
  return { ...list, isExact: true, isShort: false, lists: 0 }
}

function firstPage({ lists }: Loading, key: string, answer: OwnedListWire): Loading {
  const { transactions: rows, next_cursor: next, total, total_is_exact: isExact = true } = answer
  return { key, rows, next, total, isExact, isShort: isShort(answer), lists: lists + 1 }
}

function nextPage(before: Loading, answer: OwnedListWire): Loading {
  const { transactions, next_cursor: next } = answer
  const rows = [...before.rows, ...transactions]
  return { ...before, rows, next, isShort: isShort(answer) }
}

function isShort({ transactions, next_cursor: next }: OwnedListWire): boolean {
  return next !== null && transactions.length < PAGE
}

function take(counter: { current: number }): number {
  const { current } = counter
  counter.current = 0
  return current
}

function withStatus(rows: OwnedTransactionWire[], event: StreamEventWire): OwnedTransactionWire[] {
  const place = rows.findIndex((row) => row.transaction_id === event.transaction_id)
  const row = rows[place]
  if (row === undefined) return rows
  const disputed = objectionsAfter(row.disputed_by, event)
  return rows.with(place, { ...row, status: event.status, disputed_by: disputed })
}
