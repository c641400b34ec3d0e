import { randomUUID } from 'node:crypto'

import type { ValidateFunction } from 'ajv/dist/2020.js'
import { expect } from 'chai'

import recorded from '../../../src/api/docs/examples.json' with { type: 'json' }
import type { OpenApiDocument } from '../../../src/api/docs/openapi.ts'
import { startRunningApp, type RunningApp } from '../../fixtures/api/running-app.ts'
import { contractOf, createAjv, responseOf, type Contract } from '../../fixtures/api/contract.ts'
import { fetchInTurn } from '../../fixtures/in-turn.ts'

const RECIPIENT = {
  address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  chain: 'ETH',
  currency: 'USD',
  description: 'Treasury',
}

type Asked = { key?: string; body?: string; headers?: Record<string, string> }

describe('the examples of the documents', () => {
  let app: RunningApp
  let documents: OpenApiDocument[]
  let expectContract: Contract

  before(async () => {
    app = await startRunningApp()
    const [a, b] = await Promise.all([read('a'), read('b')])
    documents = [a, b]
    expectContract = contractOf({ a, b })
  })
  after(() => app.stop())

  const read = async (group: 'a' | 'b') =>
    (await (await fetchInTurn(`${app.url}/openapi/group-${group}.json`)).json()) as OpenApiDocument
  const ask = async (operation: string, init: Asked = {}) => {
    const [method = '', url = ''] = operation.split(' ')
    const { key = app.facts.admin?.apiKey ?? '', ...rest } = init
    const type = { 'content-type': 'application/json' }
    const known = url.startsWith('/v1') ? { authorization: `Bearer ${key}` } : { 'x-api-key': key }
    const headers = { ...known, ...(rest.body ? type : {}), ...rest.headers }
    const answer = await fetchInTurn(`${app.url}${url}`, { method, ...rest, headers })
    const [status, text] = [answer.status, await answer.text()]
    expectContract({
      method,
      url,
      sent: rest.body,
      status,
      headers: Object.fromEntries(answer.headers),
      text,
    })
    return { status, body: JSON.parse(text) as Record<string, string> }
  }

  it('are of a platform that runs, which refuses each group for its form', async () => {
    const { username, password } = app.groupB
    const login = JSON.stringify({ username, password })
    expect((await ask('POST /api/token', { body: login })).status).to.equal(200)
    expect((await ask('GET /api/solvency')).status).to.equal(200)
    const recipient = JSON.stringify({ ...RECIPIENT, idempotencyKey: randomUUID() })
    const recipients = '/v1/businessAccount/wallets/addresses/recipient'
    const { apiKey } = app.groupA
    const added = await ask(`POST ${recipients}`, { body: recipient, key: apiKey })
    expect(added.status, JSON.stringify(added.body)).to.equal(201)
    expect((await ask(`GET ${recipients}`, { key: apiKey })).status).to.equal(200)
    const moved = await ask('GET /v1/businessAccount/transfers', { key: apiKey })
    expect(moved.status).to.equal(200)
    const { body } = await ask('GET /api/admin/wallets')
    const [wallet] = body['wallets'] as unknown as Array<{ wallet_id: string }>
    const line = JSON.stringify({ credit_line: '500.00' })
    const path = `/api/admin/wallets/${wallet?.wallet_id}/credit-line`
    expect((await ask(`POST ${path}`, { body: line })).status).to.equal(200)
    const order = { user_id: 1, name: 'reports', scopes: ['transactions:read'] }
    const made = await ask('POST /api/admin/keys', { body: JSON.stringify(order) })
    const key = made.body['api_key'] ?? ''
    for (const [list, change] of [
      ['GET /api/gateways', 'POST /api/transfers'],
      ['GET /v1/wallets', 'POST /v1/transfers'],
    ] as const) {
      expect((await ask(list, { key: 'sk_sandbox_wrong' })).status).to.equal(401)
      expect((await ask(list, { key })).status).to.equal(403)
      const xml = { body: '<a/>', headers: { 'content-type': 'application/xml' } }
      expect((await ask(change, xml)).status).to.equal(415)
      expect((await ask(change, { body: `"${'a'.repeat(70_000)}"` })).status).to.equal(413)
    }
    for (const list of ['GET /api/gateways', 'GET /v1/wallets']) {
      const statuses = new Set<number>()
      const few = () =>
        Promise.all(Array.from({ length: 50 }, () => ask(list, { key: app.groupB.apiKey })))
      while (!statuses.has(429)) for (const { status } of await few()) statuses.add(status)
      expect([...statuses]).to.have.members([200, 429])
    }
  })

  const answersOf = (document: OpenApiDocument) =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) =>
        Object.entries(responses).flatMap(([status, response]) => {
          const json = responseOf(document, response)?.content['application/json']
          const operation = `${method.toUpperCase()} ${path}`
          return json ? [{ operation, status, ...json }] : []
        }),
      ),
    )

  it('fit what they are examples of', () => {
    let count = 0
    for (const document of documents) {
      const ajv = createAjv()
      const validators = new Map<string, ValidateFunction>()
      const { schemas } = document.components
      for (const { operation, status, schema, examples = {} } of answersOf(document)) {
        const name = JSON.stringify(schema)
        const fits = validators.get(name) ?? ajv.compile({ ...schema, components: { schemas } })
        validators.set(name, fits)
        for (const { value } of Object.values(examples)) {
          expect(fits(value), `${operation} ${status} ${JSON.stringify(fits.errors)}`).to.equal(
            true,
          )
          count += 1
        }
      }
    }
    expect(count).to.be.above(500)
  })

  it('are there for each operation and each failure, and stand for no other', () => {
    const answers = documents
      .flatMap(answersOf)
      .filter(({ operation }) => !/(?:z|\/ping)$/.test(operation))
    const lacking = answers
      // Group A tells a failure of the chain's node, which no test of a mint has.
      .filter(({ examples, status }) => examples === undefined && status !== '502')
      .map(({ operation, status }) => `${operation} ${status}`)
    expect(lacking).to.deep.equal([])
    const served = new Set(answers.map(({ operation }) => operation))
    expect(Object.keys(recorded.operations).filter((name) => !served.has(name))).to.deep.equal([])
  })
})
