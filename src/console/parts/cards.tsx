import type { ComponentChildren } from 'preact'

import type { Loaded } from '../context.ts'
import { ForeignLength, IN_A_LIST, LoadState } from './parts.tsx'

/** What stands for a column in a row; the first column is the row's name. */
export type Columns<T> = Readonly<Record<string, (row: T) => ComponentChildren>>

type CardsProps<T> = {
  rows: readonly T[]
  keyOf: (row: T) => string | number
  columns: Columns<T>
}

/** What is loaded of a list: its table, or `children` where nothing is in it. */
export function CardList<T>(
  props: Omit<CardsProps<T>, 'rows'> & {
    of: Loaded<unknown>
    what: string
    rows: readonly T[] | undefined
    children?: ComponentChildren
  },
) {
  const { of, what, rows, children, ...cards } = props
  return (
    <>
      <LoadState of={of} what={what} />
      {rows?.length === 0 ? children : rows && <Cards {...cards} rows={rows} />}
    </>
  )
}

/** A table that becomes a card for each row where the screen is narrow. */
export function Cards<T>(props: CardsProps<T>) {
  const { rows, keyOf, columns } = props
  const [[, first] = [], ...others] = Object.entries(columns)
  return (
    <table class="cards">
      <thead>
        <tr>
          {Object.keys(columns).map((name) => (
            <th scope="col" key={name} class={classOf(name)}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        <ForeignLength.Provider value={IN_A_LIST}>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              <th scope="row">{first?.(row)}</th>
              {others.map(([name, cell]) => (
                // A button says itself what it does.
                <td key={name} class={classOf(name)} data-column={name === 'Do' ? undefined : name}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </ForeignLength.Provider>
      </tbody>
    </table>
  )
}

/** Figures stand one below the other, their units in one line. */
const FIGURES: ReadonlySet<string> = new Set([
  'Amount',
  'At risk',
  'Balance',
  'Calls answered',
  'Expected',
  'Failures in a row',
  'Gas today',
  'Held',
  'In progress',
  'Latency',
  'Length',
  'Next nonce',
  'Received',
  'Score',
  'Took',
])

function classOf(column: string): string | undefined {
  return FIGURES.has(column) ? 'number' : undefined
}
