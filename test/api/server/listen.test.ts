import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

import { expect } from 'chai'
import { fastify, type FastifyInstance } from 'fastify'

import { addListeners, listen } from '../../../src/api/server/listen.ts'
import { codeOf } from '../../../src/base/errors.ts'
import { until } from '../../fixtures/until.ts'

const WHERE = { host: '127.0.0.1', port: 0, variable: 'PORT' }

describe('a server that listens', () => {
  let server: FastifyInstance
  let url: URL
  const sockets: Socket[] = []

  beforeEach(async () => {
    server = fastify({ forceCloseConnections: 'idle' })
    server.get('/', async () => 'here')
    addListeners(server)
    url = new URL(await listen(server, WHERE))
  })

  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await server.close()
  })

  const openMany = (): Socket[] => {
    const opened = Array.from({ length: 64 }, () => connect(Number(url.port), url.hostname))
    sockets.push(...opened)
    return opened
  }

  const ask = async (socket: Socket): Promise<string> => {
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    return answer.toString()
  }

  it('accepts a flood of connections several at a time', async function () {
    if (process.platform !== 'linux') this.skip()
    let [inTurn, most] = [0, 0]
    const forms = new Set<boolean>()
    server.server.on('connection', (socket) => {
      forms.add(socket.allowHalfOpen)
      if (inTurn === 0) setImmediate(() => (inTurn = 0))
      inTurn += 1
      most = Math.max(most, inTurn)
    })
    await Promise.all(openMany().map(ask))
    expect(most).to.be.above(1)
    // Each has what Node sets for HTTP, whichever listener it came by.
    expect([...forms]).to.deep.equal([true])
  })

  it('stops while connections are open that ask for nothing', async () => {
    for (const answer of await Promise.all(openMany().map(ask))) expect(answer).to.match(/here$/)
    const startedAt = performance.now()
    await server.close()
    expect(performance.now() - startedAt).to.be.below(2_000)
    const [error] = (await once(connect(Number(url.port), url.hostname), 'error')) as [Error]
    expect(codeOf(error)).to.equal('ECONNREFUSED')
  })

  it('answers what is at work before it has stopped', async () => {
    const slow = fastify({ forceCloseConnections: 'idle' })
    const held = Promise.withResolvers<string>()
    let began = 0
    slow.get('/', async () => {
      began += 1
      return held.promise
    })
    addListeners(slow)
    url = new URL(await listen(slow, WHERE))
    const answers = openMany().map(ask)
    await until(async () => began === 64)
    const closing = slow.close()
    held.resolve('done')
    for (const answer of await Promise.all(answers)) expect(answer).to.match(/done$/)
    for (const socket of sockets) socket.destroy()
    await closing
  })

  it('never shares its port with another program', async () => {
    const other = fastify()
    const error = await listen(other, { ...WHERE, port: Number(url.port) }).catch(
      (thrown: unknown) => thrown,
    )
    await other.close()
    expect(codeOf(error)).to.equal('cannot_listen')
  })
})
