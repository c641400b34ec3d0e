import type {
  Alerts,
  BreakCheck,
  BreakDetail,
  BreakPage,
  BreakQuery,
  CreditLine,
  Decision,
  Delivery,
  DeliveryDetail,
  DeliveryPage,
  DeliveryQuery,
  DisputeQuery,
  Disputes,
  FoundThings,
  Key,
  KeyPage,
  KeyQuery,
  KeyRequest,
  LimitPage,
  LimitQuery,
  LimitRequest,
  Limits,
  MovementPage,
  MovementQuery,
  NewKey,
  NotedAlert,
  OfChain,
  OwnedBatch,
  OwnedBatchPage,
  OwnedBatchQuery,
  OwnedTransactionPage,
  OwnedTransactionQuery,
  Overview,
  PostingPage,
  PostingQuery,
  Run,
  RunPage,
  RunQuery,
  RunRequest,
  Samples,
  SignerPage,
  SignerQuery,
  Solvency,
  Statistics,
  StatisticsQuery,
  TransactionLife,
  UndecidedPayment,
  UndecidedPayments,
  User,
  UserPage,
  UserQuery,
  UserRequest,
  WalletPage,
  WalletQuery,
  WebhookEndpointPage,
  WebhookEndpointQuery,
} from './admin-types.ts'
import { get, type Call } from './calls.ts'
import { pathPart, type CallOptions, type PostOptions, type WireCall } from './transport.ts'

/** The operations that our platform has beyond the interface, for credentials of administrators. */
export type Administration = {
  overview: (options?: CallOptions) => Promise<Overview>
  /** The overview of the past; 24 hours of it by default. */
  samples: (query?: { hours?: number | undefined }, options?: CallOptions) => Promise<Samples>
  solvency: (options?: CallOptions) => Promise<Solvency>
  /** What a hash, an id in any case, an address, an amount or a name leads to. */
  search: (text: string, options?: CallOptions) => Promise<FoundThings>
  /** By day; 30 of them by default. */
  statistics: (query?: StatisticsQuery, options?: CallOptions) => Promise<Statistics>
  movements: { list: (query: MovementQuery, options?: CallOptions) => Promise<MovementPage> }
  disputes: { list: (query?: DisputeQuery, options?: CallOptions) => Promise<Disputes> }
  webhookEndpoints: {
    list: (query?: WebhookEndpointQuery, options?: CallOptions) => Promise<WebhookEndpointPage>
  }
  alerts: {
    list: (query?: OfChain, options?: CallOptions) => Promise<Alerts>
    /** Notes that somebody knows of it. It stays open until the chain shows that it is over. */
    acknowledge: (alertId: string, note: string, options?: PostOptions) => Promise<NotedAlert>
  }
  /** The addresses that sign: the platform's own, and a page of the users'. */
  signers: (query?: SignerQuery, options?: CallOptions) => Promise<SignerPage>
  runs: {
    list: (query?: RunQuery, options?: CallOptions) => Promise<RunPage>
    get: (runId: string, options?: CallOptions) => Promise<Run>
    start: (request?: RunRequest, options?: PostOptions) => Promise<Run>
  }
  breaks: {
    list: (query?: BreakQuery, options?: CallOptions) => Promise<BreakPage>
    get: (breakId: string, options?: CallOptions) => Promise<BreakDetail>
    close: (breakId: string, note: string, options?: PostOptions) => Promise<BreakDetail>
    /** Looks at it again, now. */
    verify: (breakId: string, options?: PostOptions) => Promise<BreakCheck>
  }
  deliveries: {
    list: (query?: DeliveryQuery, options?: CallOptions) => Promise<DeliveryPage>
    get: (deliveryId: string, options?: CallOptions) => Promise<DeliveryDetail>
    replay: (deliveryId: string, options?: PostOptions) => Promise<Delivery>
  }
  transactions: {
    list: (query?: OwnedTransactionQuery, options?: CallOptions) => Promise<OwnedTransactionPage>
    get: (transactionId: string, options?: CallOptions) => Promise<TransactionLife>
  }
  batches: {
    list: (query?: OwnedBatchQuery, options?: CallOptions) => Promise<OwnedBatchPage>
    get: (
      batchId: string,
      query?: { from?: number | undefined; limit?: number | undefined },
      options?: CallOptions,
    ) => Promise<OwnedBatch>
  }
  payments: {
    list: (
      query?: { limit?: number | undefined },
      options?: CallOptions,
    ) => Promise<UndecidedPayments>
    decide: (
      transactionId: string,
      decision: Decision,
      options?: PostOptions,
    ) => Promise<UndecidedPayment>
  }
  wallets: {
    list: (query?: WalletQuery, options?: CallOptions) => Promise<WalletPage>
    /** In dollars; "0" ends it. */
    setCreditLine: (
      walletId: string,
      creditLine: string,
      options?: PostOptions,
    ) => Promise<CreditLine>
  }
  postings: { list: (query?: PostingQuery, options?: CallOptions) => Promise<PostingPage> }
  users: {
    list: (query?: UserQuery, options?: CallOptions) => Promise<UserPage>
    /** Takes no idempotency key, and is not repeated: `mayHaveHappened` says when to look. */
    create: (request: UserRequest, options?: CallOptions) => Promise<User>
    /** Ends the user's tokens, and keeps the keys out until it is enabled. */
    disable: (userId: number, options?: PostOptions) => Promise<User>
    enable: (userId: number, options?: PostOptions) => Promise<User>
  }
  keys: {
    list: (query?: KeyQuery, options?: CallOptions) => Promise<KeyPage>
    /** As with users; a key whose answer was lost is in the list, and nobody knows its text. */
    create: (request: KeyRequest, options?: CallOptions) => Promise<NewKey>
    revoke: (keyId: number, options?: PostOptions) => Promise<Key>
  }
  limits: {
    /** Those of everybody, or of one user with what is used today. */
    list: (query?: LimitQuery, options?: CallOptions) => Promise<LimitPage>
    set: (request: LimitRequest, options?: PostOptions) => Promise<Limits>
  }
}

function listsOf(call: Call) {
  return <Page>(path: string, field: string) =>
    (query?: WireCall['query'], options?: CallOptions): Promise<Page> =>
      call(get(path, [field], query), options)
}

type Around = 'search' | 'statistics' | 'movements' | 'disputes' | 'webhookEndpoints' | 'alerts'

/** What an operator looks at in addition to the lists of one thing. */
function lookingAround(call: Call): Pick<Administration, Around> {
  const list = listsOf(call)
  return {
    search: (text, options) => call(get(admin('search'), ['found'], { q: text }), options),
    statistics: list(admin('statistics'), 'days'),
    movements: { list: list(admin('movements'), 'movements') },
    disputes: { list: list(admin('disputes'), 'disputes') },
    webhookEndpoints: { list: list(admin('webhook-endpoints'), 'endpoints') },
    alerts: {
      list: list(admin('alerts'), 'alerts'),
      acknowledge: (id, note, options) =>
        call(post(at(admin('alerts'), id, '/acknowledge'), { note }, ['alert_id']), options),
    },
  }
}

export function administrationOf(call: Call): Administration {
  const list = listsOf(call)
  const [runs, breaks, deliveries] = ['/api/runs', '/api/breaks', '/api/deliveries']
  const [users, keys] = [admin('users'), admin('keys')]
  return {
    overview: (options) => call(get(admin('overview'), ['claimed', 'settled']), options),
    samples: list(admin('samples'), 'samples'),
    ...lookingAround(call),
    signers: list(admin('signers'), 'platform'),
    solvency: (options) => call(get('/api/solvency', ['findings']), options),
    runs: {
      list: list(runs, 'runs'),
      get: async (id, options) => runOf(await call(get(at(runs, id), ['run']), options)),
      start: async (query = {}, options) => runOf(await call(post(runs, query, ['run']), options)),
    },
    breaks: {
      list: list(breaks, 'breaks'),
      get: (id, options) => call(get(at(breaks, id), ['break']), options),
      close: (id, note, options) =>
        call(post(at(breaks, id, '/close'), { note }, ['break']), options),
      verify: (id, options) => call(post(at(breaks, id, '/verify'), {}, ['result']), options),
    },
    deliveries: {
      list: list(deliveries, 'deliveries'),
      get: (id, options) => call(get(at(deliveries, id), ['delivery', 'payload']), options),
      replay: async (id, options) => {
        const wire = post(at(deliveries, id, '/replay'), {}, ['delivery'])
        return (await call<{ delivery: Delivery }>(wire, options)).delivery
      },
    },
    transactions: {
      list: list(admin('transactions'), 'transactions'),
      get: (id, options) => call(get(at(admin('transactions'), id), ['transaction_id']), options),
    },
    batches: {
      list: list(admin('batches'), 'batches'),
      get: (id, query, options) =>
        call(get(at(admin('batches'), id), ['batch_id', 'items'], query), options),
    },
    payments: {
      list: list(admin('payments'), 'payments'),
      decide: (id, decision, options) =>
        call(post(at(admin('payments'), id, '/decide'), decision, ['status']), options),
    },
    wallets: {
      list: list(admin('wallets'), 'wallets'),
      setCreditLine: (id, creditLine, options) => {
        const path = at(admin('wallets'), id, '/credit-line')
        return call(post(path, { credit_line: creditLine }, ['credit_line']), options)
      },
    },
    postings: { list: list(admin('postings'), 'postings') },
    users: {
      list: list(users, 'users'),
      create: (request, options) => call(postOnce(users, request, ['id']), options),
      disable: (id, options) => call(post(at(users, id, '/disable'), {}, ['id']), options),
      enable: (id, options) => call(post(at(users, id, '/enable'), {}, ['id']), options),
    },
    keys: {
      list: list(keys, 'api_keys'),
      create: (request, options) => call(postOnce(keys, request, ['api_key']), options),
      revoke: (id, options) => call(post(at(keys, id, '/revoke'), {}, ['id']), options),
    },
    limits: {
      list: list(admin('limits'), 'limits'),
      set: (request, options) => call(post(admin('limits'), request, ['way']), options),
    },
  }
}

function admin(part: string): string {
  return `/api/admin/${part}`
}

function at(path: string, id: string | number, then = ''): string {
  return `${path}/${pathPart(String(id))}${then}`
}

function runOf({ run }: { run: Run }): Run {
  return run
}

function post(path: string, body: object, requires: readonly string[]): WireCall {
  return { method: 'POST', path, body, requires }
}

/** What has a secret in it; no server keeps the answer for a repeat. */
function postOnce(path: string, body: object, requires: readonly string[]): WireCall {
  return { ...post(path, body, requires), takesNoKey: true }
}
