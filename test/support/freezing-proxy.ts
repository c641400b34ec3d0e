import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** Stands before a server, and can leave both sides of a connection without a word. */
export type FreezingProxy = {
  /** The address of the server, through the proxy. */
  url: string
  /**
   * From now on nothing passes on the connections that are open, and neither side learns that the
   * other one is gone. New connections pass.
   */
  freeze: () => void
  /** How many connections pass at this moment. */
  open: () => number
  stop: () => Promise<void>
}

type Pair = { near: Socket; far: Socket }

export async function startFreezingProxy(target: string): Promise<FreezingProxy> {
  const { hostname, port } = new URL(target)
  const passing = new Set<Pair>()
  const frozen = new Set<Pair>()
  const server = createServer((near) => {
    const pair: Pair = { near, far: connect(Number(port || 5432), hostname) }
    passing.add(pair)
    near.pipe(pair.far)
    pair.far.pipe(near)
    const end = (): void => {
      // What is frozen tells nobody that a side has ended.
      if (!passing.delete(pair)) return
      near.destroy()
      pair.far.destroy()
    }
    for (const socket of [near, pair.far]) {
      socket.on('error', () => undefined)
      socket.once('close', end)
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    freeze() {
      for (const pair of passing) {
        const { near, far } = pair
        near.unpipe(far).pause()
        far.unpipe(near).pause()
        frozen.add(pair)
      }
      passing.clear()
    },
    open: () => passing.size,
    async stop() {
      const closed = new Promise((done) => server.close(done))
      for (const { near, far } of [...passing, ...frozen]) {
        near.destroy()
        far.destroy()
      }
      await closed
    },
  }
}
