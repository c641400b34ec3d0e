import type { ComponentChildren } from 'preact'

/** What stands for a column in a row; the first column is the row's name. */
export type Columns<T> = Readonly<Record<string, (row: T) => ComponentChildren>>

/** A table that becomes a card for each row where the screen is narrow. */
export function Cards<T>(props: {
  rows: readonly T[]
  keyOf: (row: T) => string | number
  columns: Columns<T>
}) {
  const { rows, keyOf, columns } = props
  const [[, first] = [], ...others] = Object.entries(columns)
  return (
    <table class="cards">
      <thead>
        <tr>
          {Object.keys(columns).map((name) => (
            <th scope="col" key={name}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            <th scope="row">{first?.(row)}</th>
            {others.map(([name, cell]) => (
              // A button says itself what it does.
              <td key={name} data-column={name === 'Do' ? undefined : name}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
