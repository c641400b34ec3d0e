import type { AnswerFields } from './answer.ts'
import { transportOptions, type ClientOptions } from './calls.ts'
import { staticCredentials } from './credentials.ts'
import { ApiError, invalidCall } from './errors.ts'
import { decimal } from './json.ts'
import type {
  Delivery,
  MintOrder,
  PageQuery,
  PaymentMade,
  PaymentOrder,
  Subscription,
  SubscriptionOrder,
  SubscriptionSecret,
  TransferMade,
  TransferOrder,
  Wallet,
} from './payments-types.ts'
import { platformRuntime } from './runtime.ts'
import {
  createTransport,
  pathPart,
  type CallOptions,
  type PostOptions,
  type Transport,
  type WireCall,
} from './transport.ts'

/** Where Group A is served, and the API key, of either dialect. */
export type PaymentsClientOptions = ClientOptions & { apiKey: string }

type Lists<Row> = {
  list: (query?: PageQuery, options?: CallOptions) => Promise<Row[]>
  /** Goes from the newest to the oldest, so that `pageAfter` alone says where to begin. */
  iterate: (query?: Omit<PageQuery, 'pageBefore'>, options?: CallOptions) => AsyncGenerator<Row>
  get: (id: string, options?: CallOptions) => Promise<Row>
}

type Creates<Order, Row> = { create: (order: Order, options?: PostOptions) => Promise<Row> }

/** Every operation of Group A, whichever dialect the key speaks. A failure is an `ApiError`. */
export type PaymentsClient = {
  payments: Lists<PaymentMade> & Creates<PaymentOrder, PaymentMade>
  wallets: Lists<Wallet> & Creates<{ description?: string | undefined }, Wallet>
  /** Between wallets, and redeems. */
  transfers: Lists<TransferMade> & Creates<TransferOrder, TransferMade>
  mints: Lists<TransferMade> & Creates<MintOrder, TransferMade>
  subscriptions: Omit<Lists<Subscription>, 'iterate'> &
    Creates<SubscriptionOrder, Subscription> & {
      delete: (id: string, options?: CallOptions) => Promise<void>
      /** A new secret; both sign for a while. */
      rotateSecret: (id: string, options?: PostOptions) => Promise<SubscriptionSecret>
      deliveries: (id: string, query?: PageQuery, options?: CallOptions) => Promise<Delivery[]>
      replay: (deliveryId: string, options?: PostOptions) => Promise<Delivery>
    }
}

/**
 * Makes a client of Group A. Sends nothing yet; throws `invalid_call` for an invalid base address,
 * and without a key.
 *
 * @example
 *   ```ts
 *   import { createPaymentsClient } from 'quittance/client'
 *
 *   const payments = createPaymentsClient({ baseUrl: 'https://pay.example', apiKey: 'sk_live_…' })
 *   for (const wallet of await payments.wallets.list()) console.log(wallet.balance)
 *   ```
 */
export function createPaymentsClient(options: PaymentsClientOptions): PaymentsClient {
  const runtime = { ...platformRuntime, ...options.runtime }
  if (!options.apiKey) throw invalidCall('Pass an apiKey.')
  const transport = createTransport({
    ...transportOptions(options, runtime),
    credentials: staticCredentials({ authorization: `Bearer ${options.apiKey}` }),
    probe: { method: 'GET', path: '/v1/wallets', requires: [] },
  })
  return {
    payments: {
      ...listsOf(transport, '/v1/payments', 'id'),
      ...createsOf(transport, '/v1/payments'),
    },
    wallets: {
      ...listsOf(transport, '/v1/wallets', 'walletId'),
      create: (order, options) => one(transport, post('/v1/wallets', order), options),
    },
    transfers: {
      ...listsOf(transport, '/v1/transfers', 'id'),
      ...createsOf(transport, '/v1/transfers'),
    },
    mints: {
      ...listsOf(transport, '/v1/businessAccount/transfers', 'id'),
      ...createsOf(transport, '/v1/businessAccount/transfers'),
    },
    subscriptions: subscriptionsOf(transport),
  }
}

function createsOf<Order extends { amount: string }, Row>(
  transport: Transport,
  path: string,
): Creates<Order, Row> {
  return {
    create: (order, options) => {
      // Group A takes amounts as text. Text that is not decimal is refused before it is sent.
      decimal(order.amount)
      return one(transport, post(path, order), options)
    },
  }
}

function listsOf<Row>(transport: Transport, path: string, id: 'id' | 'walletId'): Lists<Row> {
  const list: Lists<Row>['list'] = (query = {}, options) => many(transport, path, query, options)
  return {
    list,
    iterate: (query = {}, options) => {
      // A type keeps nobody from more fields, and no server takes both ends of a page.
      const read = (pageAfter: string | undefined) =>
        list({ ...query, pageAfter, pageBefore: undefined }, options)
      return iterate(read, { pageAfter: query.pageAfter, id })
    },
    get: (name, options) => one(transport, get(`${path}/${pathPart(name)}`), options),
  }
}

/**
 * Page after page, by the id of the last row. A server without pages gives the same rows again,
 * which is the end.
 */
async function* iterate<Row>(
  read: (pageAfter: string | undefined) => Promise<Row[]>,
  from: { pageAfter: string | undefined; id: 'id' | 'walletId' },
): AsyncGenerator<Row, void, undefined> {
  let seen = new Set<string>()
  let { pageAfter } = from
  for (;;) {
    const rows = await read(pageAfter)
    const idOf = (row: Row): string => String((row as AnswerFields)[from.id])
    const fresh = rows.filter((row) => !seen.has(idOf(row)))
    const last = fresh.at(-1)
    if (last === undefined) return
    yield* fresh
    pageAfter = idOf(last)
    seen = new Set(rows.map(idOf))
  }
}

function subscriptionsOf(transport: Transport): PaymentsClient['subscriptions'] {
  const path = '/v1/notifications/subscriptions'
  const at = (id: string): string => `${path}/${pathPart(id)}`
  return {
    create: (order, options) => one(transport, post(path, order), options),
    list: (query = {}, options) => many(transport, path, query, options),
    get: (id, options) => one(transport, get(at(id)), options),
    delete: async (id, options) => {
      await transport.send({ method: 'DELETE', path: at(id), requires: [] }, options)
    },
    rotateSecret: (id, options) => one(transport, post(`${at(id)}/secret`), options),
    deliveries: (id, query = {}, options) =>
      many(transport, `${at(id)}/deliveries`, query, options),
    replay: (id, options) =>
      one(transport, post(`/v1/notifications/deliveries/${pathPart(id)}/replay`), options),
  }
}

function get(path: string, query?: WireCall['query']): WireCall {
  return { method: 'GET', path, query, requires: [] }
}

function post(path: string, body: object = {}): WireCall {
  return { method: 'POST', path, body, requires: [] }
}

/** The content of `data`; some servers have that envelope for wallets only. */
async function one<Row>(
  transport: Transport,
  wire: WireCall,
  options: PostOptions | undefined,
): Promise<Row> {
  const body = await transport.send(wire, options)
  const data = body['data'] ?? body
  if (!isObject(data)) throw unexpected('data is not an object')
  return flat(data) as Row
}

async function many<Row>(
  transport: Transport,
  path: string,
  query: PageQuery,
  options: CallOptions | undefined,
): Promise<Row[]> {
  const { data } = await transport.send(get(path, query), options)
  if (!Array.isArray(data) || !data.every(isObject)) throw unexpected('data is not a list')
  return data.map(flat) as Row[]
}

/** A `nested` key receives `{amount, currency}` where a `flat` one receives two fields. */
export function flat(data: AnswerFields): AnswerFields {
  const { amount, fees } = data
  return {
    ...data,
    ...(isObject(amount) && { amount: amount['amount'], currency: amount['currency'] }),
    ...(isObject(fees) && { fees: fees['amount'] }),
  }
}

export function isObject(value: unknown): value is AnswerFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unexpected(what: string): ApiError {
  return new ApiError(`The answer cannot be read: ${what}. Check the base address.`, {
    code: 'answer_unexpected',
  })
}
