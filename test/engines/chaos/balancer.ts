import { setTimeout as sleep } from 'node:timers/promises'

/** Sends each request to a server that says it is ready, as a load balancer does. */
export type Balancer = {
  next: () => string
  untilReady: (url: string) => Promise<void>
  stop: () => Promise<void>
}

/** How often it asks; a server has to serve on for longer than that. */
const CHECK_MS = 100

export function startBalancer(urls: readonly string[]): Balancer {
  const over = new AbortController()
  const ready = new Set(urls)
  let turn = 0
  const watch = async (url: string): Promise<void> => {
    while (!over.signal.aborted) {
      const isReady = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
        async (answer) => (await answer.text(), answer.ok),
        () => false,
      )
      if (isReady) ready.add(url)
      else ready.delete(url)
      await sleep(CHECK_MS)
    }
  }
  const watching = Promise.all(urls.map(watch))
  return {
    next() {
      const choice = urls.filter((url) => ready.has(url))
      const url = choice[turn++ % choice.length]
      if (url === undefined) throw new Error('no server is ready')
      return url
    },
    async untilReady(url) {
      while (!ready.has(url)) await sleep(CHECK_MS)
    },
    async stop() {
      over.abort()
      await watching
    },
  }
}
