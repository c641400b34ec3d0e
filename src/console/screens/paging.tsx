/** The way through a list page by page; `undefined` is the first one. */
export function Paging<C extends string | number>(props: {
  cursor: C | undefined
  next: C | null | undefined
  onGo: (cursor: C | undefined) => void
  /** Of a list that does not go from the newest to the oldest. */
  first?: string
  more?: string
}) {
  const { cursor, next, onGo, first = 'Newest', more = 'Older' } = props
  if (cursor === undefined && (next === null || next === undefined)) return null
  return (
    <p class="buttons">
      {cursor !== undefined && (
        <button type="button" onClick={() => onGo(undefined)}>
          {first}
        </button>
      )}
      {next !== null && next !== undefined && (
        <button type="button" onClick={() => onGo(next)}>
          {more}
        </button>
      )}
    </p>
  )
}
