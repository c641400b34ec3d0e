import { createServer, type AddressInfo } from 'node:net'

/** Speaks as much of PostgreSQL's protocol as it takes to let nobody in. */
export type RefusingServer = {
  url: string
  /** How many came. */
  tries: () => number
  stop: () => Promise<void>
}

/** Whoever comes gets the next of the SQLSTATEs, and in the end always the last. */
export async function startRefusingServer(codes: readonly string[]): Promise<RefusingServer> {
  let tries = 0
  const server = createServer((socket) => {
    socket.once('data', () => {
      const code = codes[Math.min(tries, codes.length - 1)] ?? ''
      tries += 1
      socket.end(errorResponse(code))
    })
    socket.on('error', () => undefined)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    url: `postgres://me@127.0.0.1:${port}/x`,
    tries: () => tries,
    stop: async () => {
      await new Promise((closed) => server.close(closed))
    },
  }
}

/** An E, the length of the rest, and fields that a letter names and a zero ends. */
function errorResponse(code: string): Buffer {
  const fields = `SFATAL\0VFATAL\0C${code}\0Mthe server says no\0\0`
  const length = Buffer.alloc(4)
  length.writeUInt32BE(4 + Buffer.byteLength(fields))
  return Buffer.concat([Buffer.from('E'), length, Buffer.from(fields)])
}
