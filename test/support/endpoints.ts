import { Type } from 'typebox'

import { defineEndpoint, type Endpoint } from '../../src/api/endpoint.ts'
import {
  AMOUNT_FIELDS,
  amountFields,
  AmountInputSchema,
  CurrencySchema,
  readAmount,
} from '../../src/wire/amounts.ts'
import { effectiveLimit, requestObject } from '../../src/wire/shapes.ts'
import {
  TransactionListQuerySchema,
  TransactionParamsSchema,
} from '../../src/wire/group-b/transactions.ts'

const PaymentSchema = requestObject({
  amount: AmountInputSchema,
  currency: CurrencySchema,
  description: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  metadata: Type.Optional(Type.Record(Type.String(), Type.String(), { maxProperties: 50 })),
  idempotencyKey: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
})

const EchoSchema = Type.Object({ success: Type.Literal(true), ...AMOUNT_FIELDS })

/** Small operations that have every form which the core knows, and no database behind them. */
export function echoEndpoints(calls: unknown[] = []): Endpoint[] {
  const pay = (group: 'a' | 'b', path: string): Endpoint =>
    defineEndpoint({
      group,
      method: 'POST',
      path,
      operationId: `pay${group}`,
      summary: 'Answers with the amount that came.',
      tag: 'Echo',
      access: 'payments:write',
      body: PaymentSchema,
      status: 201,
      answer: EchoSchema,
      async handle({ body }) {
        calls.push(body)
        const amount = readAmount(body)
        return { success: true as const, ...amountFields({ amount, currency: body.currency }) }
      },
    })
  return [pay('b', '/api/echo'), pay('a', '/v1/echo'), list(calls), detail(calls), greet(), fail()]
}

function list(calls: unknown[]): Endpoint {
  return defineEndpoint({
    group: 'b',
    method: 'GET',
    path: '/api/echo',
    operationId: 'listEcho',
    summary: 'Answers with the limit that was taken.',
    tag: 'Echo',
    access: 'payments:read',
    query: TransactionListQuerySchema,
    status: 200,
    answer: Type.Object({ limit: Type.Integer(), offset: Type.Integer() }),
    async handle({ query }) {
      calls.push(query)
      return { limit: effectiveLimit(query.limit), offset: query.offset }
    },
  })
}

function detail(calls: unknown[]): Endpoint {
  return defineEndpoint({
    group: 'b',
    method: 'GET',
    path: '/api/echo/{transaction_id}',
    operationId: 'readEcho',
    summary: 'Answers with the id that came.',
    tag: 'Echo',
    access: 'payments:read',
    params: TransactionParamsSchema,
    status: 200,
    answer: Type.Object({ id: Type.String() }),
    async handle({ params }) {
      calls.push(params)
      return { id: params.transaction_id }
    },
  })
}

function greet(): Endpoint {
  return defineEndpoint({
    group: 'b',
    method: 'POST',
    path: '/api/greeting',
    operationId: 'greet',
    summary: 'Answers anyone, with the caller that the core stands in.',
    tag: 'Echo',
    access: 'public',
    body: requestObject({ name: Type.String() }),
    status: 200,
    answer: Type.Object({ name: Type.String(), userId: Type.Integer() }),
    handle: async ({ body, caller }) => ({ name: body.name, userId: caller.userId }),
  })
}

function fail(): Endpoint {
  return defineEndpoint({
    group: 'a',
    method: 'GET',
    path: '/v1/failure',
    operationId: 'fail',
    summary: 'Fails in a way that nobody foresaw.',
    tag: 'Echo',
    access: 'payments:read',
    status: 200,
    answer: Type.Object({}),
    handle: () => Promise.reject(new TypeError('x is not a function')),
  })
}
