/** The items in their order, in groups of that size; the last one may be smaller. */
export function groupsOf<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, at) => items.slice(at * size, (at + 1) * size))
}

/**
 * Does the work for each of the items, in their order, for so many of them at a time. None is begun
 * after one has failed.
 */
export async function forEachAtOnce<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values()
  let isFailed = false
  const worker = async (): Promise<void> => {
    // The workers share one iterator, so each item is taken once.
    for (const item of left) {
      if (isFailed) return
      try {
        await work(item)
      } catch (error) {
        isFailed = true
        throw error
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}
