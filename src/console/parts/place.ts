/** What a list had when one left it, by the entry of the history that one may come back to. */
export type Kept<T> = { value: T; top: number }

const MOST_KEPT = 20
const kept = new Map<string, Kept<unknown>>()

/** Names the entry of the history that one is at; going back leads to the same name. */
export function placeName(): string {
  const state = history.state as { place?: string } | null
  if (state?.place !== undefined) return state.place
  const place = crypto.randomUUID()
  history.replaceState({ ...state, place }, '')
  return place
}

export function keepPlace<T>(name: string, left: Kept<T>): void {
  kept.delete(name)
  kept.set(name, left)
  for (const oldest of kept.keys()) {
    if (kept.size <= MOST_KEPT) break
    kept.delete(oldest)
  }
}

export function placeOf<T>(name: string): Kept<T> | undefined {
  return kept.get(name) as Kept<T> | undefined
}
