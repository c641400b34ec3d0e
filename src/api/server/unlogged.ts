/**
 * Requests of which there can be very many, by anybody: they are counted, and the log gets no line
 * for each.
 */
const unlogged = new WeakSet<object>()

export function leaveUnlogged(request: object): void {
  unlogged.add(request)
}

export function isUnlogged(request: object): boolean {
  return unlogged.has(request)
}
