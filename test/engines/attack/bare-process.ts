import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { limits } from '../../../src/base/limits.ts'

/** Refuses whatever comes, as soon as Node can: nobody who runs on it is faster. */
const server = createServer((_request, response) => {
  const headers = { 'retry-after': '1', 'request-not-processed': 'true', 'content-length': '0' }
  response.writeHead(503, headers).end()
})
server.listen({ host: '127.0.0.1', port: 0, backlog: limits.waitingConnections }, () => {
  const { port } = server.address() as AddressInfo
  process.send?.(`http://127.0.0.1:${port}`)
})
// Whoever started it is gone.
process.once('disconnect', () => process.exit(0))
