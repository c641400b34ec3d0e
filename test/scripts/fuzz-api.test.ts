import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'

import { fuzz } from '../engines/fuzz/fuzz.ts'
import { readDocument } from '../fixtures/api/contract.ts'
import { echoEndpoints } from '../fixtures/api/endpoints.ts'

describe('the fuzz itself', () => {
  const servers: Server[] = []

  afterEach(() => {
    for (const server of servers.splice(0)) server.close()
  })

  /** Serves the documents as they should be, and every answer as the test has it. */
  const findingsOf = async (
    answer: { status: number; body: string } | 'never',
  ): Promise<readonly string[]> => {
    const server = createServer((request, response) => {
      const [, group] = /^\/openapi\/group-(a|b)\.json$/.exec(request.url ?? '') ?? []
      if (group === 'a' || group === 'b') {
        response.end(JSON.stringify(readDocument(group, echoEndpoints())))
      } else if (answer !== 'never') {
        const headers = { 'x-request-id': 'test', 'x-content-type-options': 'nosniff' }
        request.resume()
        response.writeHead(answer.status, { ...headers, 'content-type': 'application/json' })
        response.end(answer.body)
      }
    }).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const callers = { keys: ['key'], usernames: ['user'], password: 'password' }
    const url = `http://127.0.0.1:${port}`
    const timeoutMs = answer === 'never' ? 100 : 20_000
    return (await fuzz({ url, callers, seed: 1, requests: 20, timeoutMs })).findings
  }

  it('finds a failure', async () => {
    expect((await findingsOf({ status: 500, body: '{}' })).join()).to.include('500 {}')
  })

  it('finds an answer outside of its schema', async () => {
    const findings = await findingsOf({ status: 200, body: '{"surprise":true}' })
    expect(findings.join()).to.include('outside of its schema')
  })

  it('finds a hang', async () => {
    expect((await findingsOf('never')).join()).to.include('no answer')
  })
})
