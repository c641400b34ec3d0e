import { execFile } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'

import { Circle } from '@circle-fin/circle-sdk'
import { expect } from 'chai'

import recorded from '../../../src/api/docs/examples.json' with { type: 'json' }
import type { Snippet } from '../../../src/api/docs/snippets.ts'
import { createPaymentsClient, createPlatformClient } from '../../../src/client/index.ts'
import { startRunningApp, type RunningApp } from '../../fixtures/api/running-app.ts'
import { fetchInTurn } from '../../fixtures/in-turn.ts'

const run = promisify(execFile)
const AsyncFunction = (async () => undefined).constructor as FunctionConstructor

type Seen = { method: string; url: string; body: unknown; credential: unknown }
type Documented = { 'x-codeSamples'?: Snippet[] }

const requests: Readonly<Record<string, { url: string; body?: string } | undefined>> =
  recorded.requests
const answers: Readonly<Record<string, Readonly<Record<string, string>>>> = recorded.operations

describe('the snippets of the documents', () => {
  let app: RunningApp
  let server: Server
  let url: string
  let operation = ''
  let seen: Seen | undefined
  const snippets: [operation: string, snippet: Snippet][] = []

  before(async () => {
    app = await startRunningApp()
    for (const group of ['a', 'b']) {
      const document = (await (
        await fetchInTurn(`${app.url}/openapi/group-${group}.json`)
      ).json()) as {
        paths: Record<string, Record<string, Documented>>
      }
      for (const [path, methods] of Object.entries(document.paths)) {
        for (const [method, { 'x-codeSamples': samples = [] }] of Object.entries(methods)) {
          for (const one of samples) snippets.push([`${method.toUpperCase()} ${path}`, one])
        }
      }
    }
    server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const { method = '', url: at = '', headers } = request
        const credential = headers['x-api-key'] ?? headers.authorization
        const body: unknown = text === '' ? undefined : JSON.parse(text)
        seen = { method, url: at, body, credential }
        response.setHeader('content-type', 'application/json').end(answers[operation]?.['ok'])
      })
    })
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(async () => {
    server.close()
    await app.stop()
  })

  const of = (label: string) => snippets.filter(([, snippet]) => snippet.label === label)
  const runs = async (key: string, work: () => Promise<unknown>): Promise<Seen> => {
    operation = key
    seen = undefined
    await work()
    expect(seen, key).to.be.an('object')
    return seen!
  }
  const evaluate = (source: string) => {
    const env = { URL: url, KEY: 'sk_sandbox_EXAMPLE' }
    const names = ['createPaymentsClient', 'createPlatformClient', 'Circle', 'process']
    const call = AsyncFunction(...names, source.replaceAll(/^import .*$/gm, '')) as (
      ...args: unknown[]
    ) => Promise<unknown>
    return call(createPaymentsClient, createPlatformClient, Circle, { env })
  }

  it('of curl send what a test sent, with the credential of its group', async () => {
    expect(of('curl')).to.have.length.above(60)
    const env = { ...process.env, URL: url, KEY: 'sk_sandbox_EXAMPLE' }
    for (const [key, { source }] of of('curl')) {
      const script = source.replace('curl ', 'curl --silent --globoff ')
      // Started by no shell, bash would read the settings of its user first.
      const sent = await runs(key, () => run('bash', ['--norc', '-c', script], { env }))
      const { url: path = '', body } = requests[key] ?? {}
      expect(`${sent.method} ${sent.url}`).to.equal(`${key.split(' ')[0]} ${path}`)
      expect(sent.body, key).to.deep.equal(body === undefined ? undefined : JSON.parse(body))
      if (key.includes('/token') || key.includes('/ping')) continue
      expect(sent.credential).to.be.oneOf(['sk_sandbox_EXAMPLE', 'Bearer sk_sandbox_EXAMPLE'])
    }
  }).timeout(60_000)

  it('of our own client send the same', async () => {
    expect(of('quittance/client')).to.have.length.above(25)
    for (const [key, { source }] of of('quittance/client')) {
      const sent = await runs(key, () => evaluate(source))
      const { url: path = '', body } = requests[key] ?? {}
      expect(`${sent.method} ${sent.url}`).to.equal(`${key.split(' ')[0]} ${path}`)
      if (body !== undefined) expect(inText(sent.body), key).to.deep.equal(inText(JSON.parse(body)))
    }
  })

  it("of Circle's SDK send the same in its own dialect", async () => {
    expect(of('Circle SDK')).to.have.length.above(5)
    for (const [key, { source }] of of('Circle SDK')) {
      const sent = await runs(key, () => evaluate(source))
      const [method, path = ''] = key.split(' ')
      expect(sent.method).to.equal(method)
      const { url: wanted = path } = requests[key] ?? {}
      expect(sent.url.split('?')[0]).to.equal(wanted.split('?')[0])
      if (method === 'GET') continue
      expect(sent.body).to.have.property('idempotencyKey')
      expect(sent.body).to.have.nested.property('amount.currency')
    }
  })

  it('send nothing that may be sent once only', () => {
    for (const [, { source, label }] of snippets) {
      const fixed = /external_id|idempotency-?key/i
      if (label !== 'Circle SDK') expect(source).not.to.match(fixed)
    }
  })
})

/** Group B takes an amount as a number and as text. */
function inText(body: unknown): unknown {
  const amounts = (name: string, one: unknown) => (name === 'amount' ? String(one) : one)
  return JSON.parse(JSON.stringify(body, amounts))
}
