/** Ends long work when a person has had enough of it. */
export function untilSignal(): { signal: AbortSignal; stop: () => void } {
  const controller = new AbortController()
  const end = (): void => controller.abort()
  process.once('SIGINT', end)
  process.once('SIGTERM', end)
  return {
    signal: controller.signal,
    stop() {
      process.off('SIGINT', end)
      process.off('SIGTERM', end)
    },
  }
}
