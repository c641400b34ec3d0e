import { validate } from '@scalar/openapi-parser'
import { expect } from 'chai'
import { Type } from 'typebox'

import type { Endpoint } from '../../../src/api/admission/endpoint.ts'
import { documentGroup } from '../../../src/api/docs/openapi.ts'
import * as events from '../../../src/wire/group-b/events.ts'
import * as token from '../../../src/wire/group-b/token.ts'
import * as transactions from '../../../src/wire/group-b/transactions.ts'
import { named } from '../../../src/wire/shapes.ts'
import { startApi } from '../../fixtures/api/api.ts'
import { createAjv, readDocument } from '../../fixtures/api/contract.ts'
import { echoEndpoints } from '../../fixtures/api/endpoints.ts'
import { routesOf } from '../../fixtures/api/routes.ts'
import { failureOf } from '../../fixtures/errors.ts'

const endpoints = [...echoEndpoints(), ...wireEndpoints()]

describe('the documents', () => {
  for (const group of ['a', 'b'] as const) {
    it(`are valid OpenAPI 3.1 for group ${group}`, async () => {
      const { valid, errors, version } = await validate(readDocument(group, endpoints))
      expect(errors ?? []).to.deep.equal([])
      expect(valid).to.equal(true)
      expect(version).to.equal('3.1')
    })

    it(`give examples that fit their schemas in group ${group}`, () => {
      const document = readDocument(group, endpoints)
      const examples = examplesOf(document)
      const ajv = createAjv()
      expect(examples.length).to.be.greaterThan(5)
      for (const { schema, example } of examples) {
        const { components } = document
        const fits = ajv.compile({ ...schema, components })(example)
        expect(fits, JSON.stringify({ schema, example })).to.equal(true)
      }
    })
  }

  it('have every route that is served, and no other', async () => {
    const api = await startApi({ endpoints })
    const served = routesOf(api.server.printRoutes({ commonPrefix: false })).filter((route) =>
      /^\w+ \/(api\/|v1\/|healthz|readyz)/.test(route),
    )
    const documented = (['a', 'b'] as const).flatMap((group) =>
      Object.entries(documentGroup(group, endpoints).paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
      ),
    )
    expect(served).to.have.length(endpoints.length + 2)
    expect(documented.toSorted()).to.deep.equal(served.toSorted())
    await api.close()
  })

  it('are served as they are made', async () => {
    const api = await startApi({ endpoints })
    for (const group of ['a', 'b'] as const) {
      const answer = await api.send({ url: `/openapi/group-${group}.json` })
      expect(answer.status).to.equal(200)
      expect(JSON.parse(answer.text)).to.deep.equal(readDocument(group, endpoints))
    }
    await api.close()
  })

  it("carry Group A's version and the ways to prove who one is", () => {
    expect(readDocument('a', endpoints).info['version']).to.equal('v1.2.0')
    const { securitySchemes } = readDocument('b', endpoints).components
    expect(securitySchemes).to.have.all.keys('apiKey', 'accessToken')
  })

  it('document what the wire carries, not what a check sees of it', () => {
    const text = JSON.stringify(readDocument('b', endpoints))
    expect(text).to.include('"type":["number","string"]')
    expect(text).not.to.match(/"x-(?!codeSamples")|~refine|~unsafe/)
  })

  it('say which failures each operation has', () => {
    const { paths } = readDocument('b', endpoints)
    const statuses = (path: string, method: string): string[] =>
      Object.keys(paths[path]?.[method]?.responses ?? {})
    expect(statuses('/api/echo', 'post')).to.have.members([
      '201',
      '400',
      '401',
      '403',
      '409',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ])
    expect(statuses('/api/echo/{transaction_id}', 'get')).to.include('404')
    expect(statuses('/api/greeting', 'post')).not.to.include('401')
  })

  it('refuse two schemas of one name', async () => {
    const answer = named('Error', Type.Object({ other: Type.String() }))
    const clash = echoEndpoints().map((endpoint) => ({ ...endpoint, answer }))
    const failure = await failureOf(() => documentGroup('b', clash))
    expect(failure.code).to.equal('schema_name_taken')
  })
})

describe('the pages of the documents', () => {
  for (const [path, policy] of [
    ['/docs', "default-src 'none'"],
    ['/docs/explorer', "default-src 'self'"],
  ] as const) {
    it(`load nothing from elsewhere at ${path}`, async () => {
      const api = await startApi({ endpoints })
      const page = await api.send({ url: path })
      expect(page.headers['content-type']).to.equal('text/html; charset=utf-8')
      expect(page.text).to.include(`rel="icon" href="data:`)
      expect(String(page.headers['content-security-policy']).split(';')[0]).to.equal(policy)
      const loads = [...page.text.matchAll(/<(?:script|link|img)\b[^>]*(?:src|href)="([^"]+)"/g)]
        .map(([, url = '']) => url)
        .filter((url) => !url.startsWith('data:'))
      expect(loads.length).to.equal(path === '/docs' ? 0 : 2)
      for (const url of loads) {
        expect(url).to.match(/^\/(?:docs|openapi)\//)
        expect((await api.send({ url })).status, url).to.equal(200)
      }
      await api.close()
    })
  }
})

async function handle(): Promise<[]> {
  return []
}

/** The schemas of the real operations in the document, whoever serves them. */
function wireEndpoints(): Endpoint[] {
  const common = {
    group: 'b',
    tag: 'Wire',
    summary: 'A shape.',
    status: 200,
    isShared: false,
  } as const
  return [
    {
      ...common,
      method: 'POST',
      path: '/api/token',
      operationId: 'createToken',
      access: 'public',
      body: token.TokenRequestSchema,
      answer: token.TokenAnswerSchema,
      handle,
    },
    {
      ...common,
      method: 'GET',
      path: '/api/transactions',
      operationId: 'listTransactions',
      access: 'transactions:read',
      query: transactions.TransactionListQuerySchema,
      answer: transactions.TransactionListSchema,
      handle,
    },
    {
      ...common,
      method: 'GET',
      path: '/api/transactions/{transaction_id}',
      operationId: 'readTransaction',
      access: 'transactions:read',
      params: transactions.TransactionParamsSchema,
      answer: transactions.TransactionDetailSchema,
      handle,
    },
    {
      ...common,
      method: 'GET',
      path: '/api/events',
      operationId: 'listEvents',
      access: 'transactions:read',
      query: events.EventListQuerySchema,
      answer: events.EventListSchema,
      handle,
    },
  ]
}

type Example = { schema: Record<string, unknown>; example: unknown }

function examplesOf(value: unknown): Example[] {
  if (typeof value !== 'object' || value === null) return []
  const schema = value as Record<string, unknown>
  const own = Array.isArray(schema['examples'])
    ? schema['examples'].map((example: unknown) => ({ schema, example }))
    : []
  return [...own, ...Object.values(schema).flatMap(examplesOf)]
}
