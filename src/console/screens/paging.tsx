/** The way through a list page by page; `undefined` is the first one. */
export function Paging(props: {
  cursor: string | undefined
  next: string | null | undefined
  onGo: (cursor: string | undefined) => void
}) {
  const { cursor, next, onGo } = props
  if (cursor === undefined && (next === null || next === undefined)) return null
  return (
    <p class="buttons">
      {cursor !== undefined && (
        <button type="button" onClick={() => onGo(undefined)}>
          Newest
        </button>
      )}
      {typeof next === 'string' && (
        <button type="button" onClick={() => onGo(next)}>
          Older
        </button>
      )}
    </p>
  )
}
