import { useState } from 'preact/hooks'

/** Where one is in a list. A cursor is of one list: with other filters it begins anew. */
export function useCursor(list: string) {
  const [place, setPlace] = useState<{ list: string; cursor?: string }>({ list })
  if (place.list !== list) setPlace({ list })
  const cursor = place.list === list ? place.cursor : undefined
  const go = (next: string | undefined): void =>
    setPlace({ list, ...(next !== undefined && { cursor: next }) })
  return [cursor, go] as const
}

export const FORWARD = ['First', 'Next'] as const

/** The way through a list page by page; `undefined` is the first one. */
export function Paging<C extends string | number>(props: {
  cursor: C | undefined
  next: C | null | undefined
  onGo: (cursor: C | undefined) => void
  /** Where a list does not go from the newest to the oldest: to its start, and on. */
  words?: readonly [string, string]
}) {
  const { cursor, next, onGo, words: [first, more] = ['Newest', 'Older'] } = props
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
