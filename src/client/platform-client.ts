import { administrationOf, type Administration } from './admin.ts'
import { callerOf, get, transportOptions, type Call, type ClientOptions } from './calls.ts'
import { staticCredentials, tokenCredentials, type Credentials, type Token } from './credentials.ts'
import { ApiError, invalidCall } from './errors.ts'
import { decimal } from './json.ts'
import {
  followEvents,
  iteratePages,
  iterateRows,
  nextPosition,
  type FollowOptions,
} from './pages.ts'
import type {
  Balance,
  Batch,
  BatchDetail,
  BatchEstimate,
  BatchItem,
  BatchRequest,
  BlockchainPayment,
  BlockchainRequest,
  CreatedBatch,
  EventPage,
  Gateway,
  Institution,
  Payment,
  PaymentRequest,
  PaymentState,
  PlatformEvent,
  Receipt,
  Refund,
  Transaction,
  TransactionDetail,
  TransactionPage,
  TransactionQuery,
  Transfer,
  TransferRequest,
  TransferState,
} from './platform-types.ts'
import { platformRuntime, type Runtime } from './runtime.ts'
import {
  createTransport,
  pathPart,
  type CallOptions,
  type PostOptions,
  type Transport,
  type WireCall,
} from './transport.ts'

/** An API key, or a username and password for which a token is fetched and renewed. */
export type PlatformClientOptions = ClientOptions &
  ({ apiKey: string } | { username: string; password: string })

/** Every operation of Group B, and of our server beyond it. A failure is an `ApiError`. */
export type PlatformClient = {
  transactions: {
    list: (query?: TransactionQuery, options?: CallOptions) => Promise<TransactionPage>
    /** Page after page, each with the position to go on from later. */
    pages: (query?: TransactionQuery, options?: CallOptions) => AsyncGenerator<TransactionPage>
    iterate: (query?: TransactionQuery, options?: CallOptions) => AsyncGenerator<Transaction>
    get: (transactionId: string, options?: CallOptions) => Promise<TransactionDetail>
    /** A page on which the payee's browser verifies the payment; the same one each time. */
    receipt: (transactionId: string, options?: PostOptions) => Promise<Receipt>
  }
  payments: {
    create: (request: PaymentRequest, options?: PostOptions) => Promise<Payment>
    status: (transactionId: string, options?: CallOptions) => Promise<PaymentState>
    /**
     * All that has not gone back yet, or the amount that you name. What came on the chain goes to
     * the address that you name, or to the payer whose payment you name; a gateway pays its payer.
     */
    refund: (
      transactionId: string,
      options?: PostOptions & {
        amount?: string | undefined
        toAddress?: string | undefined
        payer?: string | undefined
      },
    ) => Promise<Refund>
  }
  transfers: {
    create: (request: TransferRequest, options?: PostOptions) => Promise<Transfer>
    status: (transactionId: string, options?: CallOptions) => Promise<TransferState>
  }
  blockchain: {
    send: (request: BlockchainRequest, options?: PostOptions) => Promise<BlockchainPayment>
    /** Many payments at once, accepted together or not at all. */
    batch: (request: BatchRequest, options?: PostOptions) => Promise<CreatedBatch>
    batches: {
      /** What the same batch would cost; nothing is paid. */
      estimate: (request: BatchRequest, options?: CallOptions) => Promise<BatchEstimate>
      /** The newest first; `next_after` is null on the last page. */
      list: (
        query?: { after?: string | undefined; limit?: number | undefined },
        options?: CallOptions,
      ) => Promise<{ batches: Batch[]; next_after: string | null }>
      get: (
        batchId: string,
        query?: { from?: number | undefined; limit?: number | undefined },
        options?: CallOptions,
      ) => Promise<BatchDetail>
      /** What became of each payment, in their order. */
      items: (batchId: string, options?: CallOptions) => AsyncGenerator<BatchItem>
    }
    /** On the chain of that name, or on the default one. */
    balance: (options?: CallOptions & { chain?: string | undefined }) => Promise<Balance>
  }
  events: {
    after: (
      after?: string,
      options?: CallOptions & { limit?: number | undefined },
    ) => Promise<EventPage>
    follow: (options?: FollowOptions) => AsyncGenerator<PlatformEvent>
  }
  gateways: { list: (options?: CallOptions) => Promise<Gateway[]> }
  institutions: { list: (options?: CallOptions) => Promise<Institution[]> }
  /** What our own server has for administrators; the interface names none of it. */
  admin: Administration
}

/**
 * Makes a client of Group B. Sends nothing yet; throws `invalid_call` for an invalid base address,
 * and where there is neither a key nor a username with its password.
 *
 * @example
 *   ```ts
 *   import { createPlatformClient } from 'quittance/client'
 *
 *   const platform = createPlatformClient({ baseUrl: 'https://pay.example', apiKey: 'sk_live_…' })
 *   for await (const row of platform.transactions.iterate({ status: 'completed' })) {
 *     console.log(row.transaction_id, row.amount)
 *   }
 *   ```
 */
export function createPlatformClient(options: PlatformClientOptions): PlatformClient {
  const runtime = { ...platformRuntime, ...options.runtime }
  const transport = createTransport({
    ...transportOptions(options, runtime),
    credentials: credentialsOf(options, runtime),
    probe: { method: 'GET', path: '/api/transactions', query: { limit: 1 }, requires: [] },
  })
  const call = callerOf(transport)
  return {
    transactions: transactionsOf(transport),
    payments: {
      create: (request, options) => call(post('/api/payments', request), options),
      status: (id, options) => call(get(`/api/payments/${pathPart(id)}/status`, STATUS), options),
      refund: (id, options = {}) => {
        const { amount, toAddress, payer, ...rest } = options
        const wire = post(
          `/api/payments/${pathPart(id)}/refund`,
          amount === undefined ? undefined : { amount },
        )
        const body = {
          ...(amount !== undefined && { amount: decimal(amount) }),
          ...(toAddress !== undefined && { to_address: toAddress }),
          ...(payer !== undefined && { payer }),
        }
        return call({ ...wire, body, requires: ['refund_id'] }, rest)
      },
    },
    transfers: {
      create: (request, options) => call(post('/api/transfers', request), options),
      status: (id, options) => call(get(`/api/transfers/${pathPart(id)}/status`, STATUS), options),
    },
    blockchain: {
      send: (request, options) => {
        const { requires, ...wire } = post('/api/blockchain/transactions', request)
        return call({ ...wire, requires: [...requires, 'eth_transaction_hash'] }, options)
      },
      ...batchesOf(call),
      balance: ({ chain, ...options } = {}) =>
        call(get('/api/blockchain/balance', ['balance_wei'], { chain }), options),
    },
    events: eventsOf(transport, runtime),
    gateways: {
      list: async (options) =>
        (await call<{ gateways: Gateway[] }>(get('/api/gateways', ['gateways']), options)).gateways,
    },
    institutions: {
      list: async (options) => {
        const wire = get('/api/institutions', ['institutions'])
        return (await call<{ institutions: Institution[] }>(wire, options)).institutions
      },
    },
    admin: administrationOf(call),
  }
}

const STATUS = ['transaction_id', 'status']

function credentialsOf(options: PlatformClientOptions, runtime: Runtime): Credentials {
  if ('apiKey' in options) return staticCredentials({ 'x-api-key': options.apiKey })
  const { username, password } = options
  if (!username || !password) throw invalidCall('Pass an apiKey, or a username and a password.')
  const path = '/api/token'
  const requires = ['access_token']
  const wire: WireCall = {
    method: 'POST',
    path,
    body: { username, password },
    requires,
    isRead: true,
  }
  const transport = createTransport({
    ...transportOptions(options, runtime),
    credentials: staticCredentials({}),
    probe: wire,
  })
  return tokenCredentials(runtime, () => callerOf(transport)<Token>(wire))
}

function post(path: string, request?: { amount: string }): WireCall {
  const body = request === undefined ? {} : { ...request, amount: decimal(request.amount) }
  return { method: 'POST', path, body, requires: ['transaction_id'] }
}

function batchesOf(call: Call): Pick<PlatformClient['blockchain'], 'batch' | 'batches'> {
  const path = '/api/blockchain/batches'
  const read: PlatformClient['blockchain']['batches']['get'] = (id, query, options) =>
    call(get(`${path}/${pathPart(id)}`, ['batch_id', 'items'], query), options)
  return {
    batch: (request, options) => {
      const body = bodyOf(request)
      return call({ method: 'POST', path, body, requires: ['batch_id', 'transactions'] }, options)
    },
    batches: {
      estimate: (request, options) => {
        const wire = { method: 'POST', path: `${path}/estimate`, body: bodyOf(request) } as const
        return call({ ...wire, requires: ['fee_wei', 'contracts'], isRead: true }, options)
      },
      list: (query, options) => call(get(path, ['batches'], query), options),
      get: read,
      async *items(id, options) {
        for (let from: number | null = 0; from !== null;) {
          const page: BatchDetail = await read(id, { from, limit: 100 }, options)
          yield* page.items
          from = page.next_from
        }
      },
    },
  }
}

function bodyOf({ items, ...request }: BatchRequest) {
  return { ...request, items: items.map((one) => ({ ...one, amount: decimal(one.amount) })) }
}

function transactionsOf(transport: Transport): PlatformClient['transactions'] {
  const list = async (query: TransactionQuery = {}, options?: CallOptions) => {
    const wire = get('/api/transactions', ['transactions'], query)
    const body = await transport.send(wire, options)
    return readPage(body, query)
  }
  const pages = (query: TransactionQuery = {}, options?: CallOptions) =>
    iteratePages((at) => list(at, options), query)
  return {
    list,
    pages,
    iterate: (query, options) => iterateRows(pages(query, options)),
    get: (id, options) =>
      callerOf(transport)(get(`/api/transactions/${pathPart(id)}`, STATUS), options),
    receipt: (id, options) => {
      const path = `/api/transactions/${pathPart(id)}/receipt`
      const wire: WireCall = { method: 'POST', path, body: {}, requires: ['token'] }
      return callerOf(transport)(wire, options)
    },
  }
}

function readPage(body: Record<string, unknown>, query: TransactionQuery): TransactionPage {
  const { transactions, next_cursor: nextCursor } = body
  if (!Array.isArray(transactions) || !transactions.every(isObject)) throw notAList('transactions')
  const limit = Number(body['limit'] ?? query.limit ?? 50)
  const offset = Number(body['offset'] ?? query.offset ?? 0)
  const total = Number(body['total'] ?? 0)
  // The rows are those behind the offset that was asked for, whatever the answer repeats of it.
  const from = query.offset ?? offset
  const next = nextPosition({
    rows: transactions.length,
    offset: from,
    limit,
    total,
    nextCursor,
  })
  const isExact = body['total_is_exact'] !== false
  return { transactions: transactions as Transaction[], total, isExact, limit, offset, next }
}

function eventsOf(transport: Transport, runtime: Runtime): PlatformClient['events'] {
  const after: PlatformClient['events']['after'] = async (after = '', options = {}) => {
    const { limit, ...call } = options
    const wire = get('/api/events', ['events', 'next_after'], { after: after || undefined, limit })
    const body = await transport.send(wire, call)
    if (!Array.isArray(body['events'])) throw notAList('events')
    return {
      events: body['events'] as PlatformEvent[],
      next_after: String(body['next_after']),
      has_more: body['has_more'] === true,
    }
  }
  return {
    after,
    follow: (options = {}) => followEvents(runtime, (from) => after(from, options), options),
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function notAList(field: string): ApiError {
  return new ApiError(`${field} is not a list of objects.`, { code: 'answer_unexpected' })
}
