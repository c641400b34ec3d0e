import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

export type RowsProps<T> = {
  label: string
  rows: readonly T[]
  keyOf: (row: T) => string
  /** The columns' names; each row is shown with as many cells. */
  columns: readonly string[]
  cells: (row: T) => readonly ComponentChildren[]
  hrefOf: (row: T) => string
  /** Called when the end of what is loaded comes near. */
  onEnd: () => void
  /** Of all rows, also those that are not loaded; undefined while nobody knows. */
  total: number | undefined
  /** How wide each column is in a wide window. */
  widths: string
  sorting?: Sorting
  /** How far down one was when one left. */
  top?: number
  onScroll?: (top: number) => void
}

/** How the rows are sorted, and the links that sort them in another way. */
export type Sorting = {
  /** Undefined where there is one order only. */
  column: string | undefined
  isAscending: boolean
  links: readonly SortLinkProps[]
  /** By column: why it cannot be sorted by now. */
  hints: Readonly<Record<string, string>>
  /** The column whose link was followed: a link of the new list has the focus then. */
  turned: { current: string | undefined }
}

type SortLinkProps = { column: string; title: string; href: string }

const WIDE = { row: 44, query: '(min-width: 1000px)' }
const NARROW_ROW = 76
const BEYOND = 10

/** A list of any length. The document contains only the rows in sight, and a few beyond. */
export function Rows<T>(props: RowsProps<T>) {
  const { rows, columns, onEnd, sorting } = props
  const region = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(props.top ?? 0)
  const [height, setHeight] = useState(600)
  const isWide = useMedia(WIDE.query)
  const rowHeight = isWide ? WIDE.row : NARROW_ROW
  const first = Math.max(0, Math.floor(top / rowHeight) - BEYOND)
  const count = Math.ceil(height / rowHeight) + 2 * BEYOND
  const shown = rows.slice(first, first + count)
  // Before anything is painted: a tall window would show a gap for a frame.
  useLayoutEffect(() => {
    const element = region.current
    if (!element) return undefined
    const measure = (): void => setHeight(element.clientHeight)
    measure()
    element.scrollTop = props.top ?? 0
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  // Two windows ahead, so that who goes on quickly meets rows that are there; and before the paint,
  // so that the next page is on its way a frame earlier.
  useLayoutEffect(() => {
    if (first + 3 * count >= rows.length) onEnd()
  }, [first, count, rows.length, onEnd])
  return (
    <div
      ref={region}
      class="rows"
      role="region"
      aria-label={props.label}
      tabIndex={0}
      onScroll={(event) => {
        setTop(event.currentTarget.scrollTop)
        props.onScroll?.(event.currentTarget.scrollTop)
      }}
    >
      {/* The row of the columns' names is counted, too. */}
      <div
        role="table"
        aria-label={props.label}
        aria-rowcount={props.total === undefined ? -1 : props.total + 1}
        class={isWide ? 'wide' : 'narrow'}
        style={{ '--columns': props.widths }}
      >
        <Head columns={columns} {...(sorting && { sorting })} isWide={isWide} />
        <div role="rowgroup" class="body" style={{ height: `${rows.length * rowHeight}px` }}>
          {shown.map((row, index) => (
            <Row
              key={props.keyOf(row)}
              {...props}
              row={row}
              index={first + index}
              height={rowHeight}
            />
          ))}
        </div>
      </div>
    </div>
  )
}

function Head(props: Pick<RowsProps<unknown>, 'columns' | 'sorting'> & { isWide: boolean }) {
  const { columns, sorting, isWide } = props
  const row = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const turned = sorting?.turned.current
    if (turned === undefined) return
    const own = row.current?.querySelector<HTMLElement>(`[data-column="${turned}"] a`)
    const link = own ?? row.current?.querySelector<HTMLElement>('a')
    link?.focus()
    sorting!.turned.current = undefined
  }, [])
  return (
    <div role="rowgroup" class="head">
      <div role="row" aria-rowindex={1} class="row" ref={row}>
        {columns.map((name) => (
          <span
            role="columnheader"
            key={name}
            data-column={name}
            title={sorting?.hints[name]}
            aria-sort={sorting?.column === name ? directionOf(sorting) : undefined}
          >
            {sorting && isWide ? <HeadName name={name} sorting={sorting} /> : name}
          </span>
        ))}
      </div>
    </div>
  )
}

function directionOf({ isAscending }: Sorting): 'ascending' | 'descending' {
  return isAscending ? 'ascending' : 'descending'
}

function HeadName({ name, sorting }: { name: string; sorting: Sorting }) {
  const { column, isAscending, links, turned } = sorting
  const link = links.find((one) => one.column === name)
  const arrow = column === name && <span aria-hidden="true">{isAscending ? '↑' : '↓'}</span>
  if (!link)
    return (
      <>
        {name} {arrow}
      </>
    )
  return (
    <a href={link.href} title={link.title} onClick={() => (turned.current = name)}>
      {name} {arrow}
    </a>
  )
}

function Row<T>(props: RowsProps<T> & { row: T; index: number; height: number }) {
  const { row, index, height, cells, columns, hrefOf } = props
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      class="row"
      style={{ height: `${height}px`, transform: `translateY(${index * height}px)` }}
    >
      {/* Each has the direction of its text, so that foreign text needs no element in it. */}
      {cells(row).map((cell, place) => (
        <span role="cell" key={columns[place]} data-column={columns[place]} dir="auto">
          {place === 0 ? <a href={hrefOf(row)}>{cell}</a> : cell}
        </span>
      ))}
    </div>
  )
}

export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const media = matchMedia(query)
    const change = (): void => setMatches(media.matches)
    media.addEventListener('change', change)
    return () => media.removeEventListener('change', change)
  }, [query])
  return matches
}
