import { isExactNumber, parseJson, type JsonValue } from '../../wire/json.ts'
import type { Endpoint } from '../admission/endpoint.ts'
import recorded from './examples.json' with { type: 'json' }

/** As Scalar and other pages show them next to an operation. */
export type Snippet = { lang: string; label: string; source: string }

type Sent = { url: string; body?: string }

const requests: Readonly<Record<string, Sent | undefined>> = recorded.requests

/** What a test sent to this operation, in the words of each client that has it. */
export function snippetsOf(endpoint: Endpoint): Snippet[] {
  const operation = `${endpoint.method} ${endpoint.path}`
  const sent = requests[operation]
  if (sent === undefined) return []
  const client = CLIENT_CALLS[operation]
  const circle = CIRCLE_CALLS[operation]
  return [
    { lang: 'shell', label: 'curl', source: curlOf(endpoint, sent) },
    ...(client === undefined
      ? []
      : [{ lang: 'ts', label: 'quittance/client', source: clientOf(endpoint, sent, client) }]),
    ...(circle === undefined
      ? []
      : [{ lang: 'js', label: 'Circle SDK', source: circleOf(endpoint, sent, circle) }]),
  ]
}

/** The body that a test sent to it. */
export function exampleOfRequest({ method, path }: Endpoint): JsonValue | undefined {
  const body = requests[`${method} ${path}`]?.body
  return body === undefined ? undefined : parseJson(body)
}

function curlOf({ method, group, access }: Endpoint, { url, body }: Sent): string {
  const credential = group === 'a' ? 'Authorization: Bearer $KEY' : 'X-API-Key: $KEY'
  const parts = [
    `curl ${body === undefined && method !== 'GET' ? `-X ${method} ` : ''}"$URL${url}"`,
    ...(access === 'public' ? [] : [`-H "${credential}"`]),
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d '${body.replaceAll("'", `'\\''`)}'`]),
  ]
  return parts.join(' \\\n  ')
}

/** It takes the parts of its body as options. */
const REFUND = 'payments.refund'

/** By operation: the call of `quittance/client`, which takes the parts of the path, then others. */
const CLIENT_CALLS: Readonly<Record<string, string>> = {
  'GET /api/transactions': 'transactions.list',
  'GET /api/transactions/{transaction_id}': 'transactions.get',
  'POST /api/transactions/{transaction_id}/receipt': 'transactions.receipt',
  'POST /api/payments': 'payments.create',
  'GET /api/payments/{transaction_id}/status': 'payments.status',
  'POST /api/payments/{transaction_id}/refund': REFUND,
  'POST /api/transfers': 'transfers.create',
  'GET /api/transfers/{transaction_id}/status': 'transfers.status',
  'POST /api/blockchain/transactions': 'blockchain.send',
  'POST /api/blockchain/batches': 'blockchain.batch',
  'POST /api/blockchain/batches/estimate': 'blockchain.batches.estimate',
  'GET /api/blockchain/batches': 'blockchain.batches.list',
  'GET /api/blockchain/batches/{batch_id}': 'blockchain.batches.get',
  'GET /api/blockchain/balance': 'blockchain.balance',
  'GET /api/gateways': 'gateways.list',
  'GET /api/institutions': 'institutions.list',
  'POST /v1/payments': 'payments.create',
  'GET /v1/payments': 'payments.list',
  'GET /v1/payments/{payment_id}': 'payments.get',
  'GET /v1/wallets': 'wallets.list',
  'POST /v1/wallets': 'wallets.create',
  'GET /v1/wallets/{walletId}': 'wallets.get',
  'POST /v1/transfers': 'transfers.create',
  'GET /v1/transfers': 'transfers.list',
  'GET /v1/transfers/{id}': 'transfers.get',
  'POST /v1/businessAccount/transfers': 'mints.create',
  'GET /v1/businessAccount/transfers': 'mints.list',
  'GET /v1/businessAccount/transfers/{id}': 'mints.get',
  'POST /v1/notifications/subscriptions': 'subscriptions.create',
  'GET /v1/notifications/subscriptions': 'subscriptions.list',
  'GET /v1/notifications/subscriptions/{id}': 'subscriptions.get',
  'DELETE /v1/notifications/subscriptions/{id}': 'subscriptions.delete',
  'POST /v1/notifications/subscriptions/{id}/secret': 'subscriptions.rotateSecret',
  'GET /v1/notifications/subscriptions/{id}/deliveries': 'subscriptions.deliveries',
  'POST /v1/notifications/deliveries/{id}/replay': 'subscriptions.replay',
}

/** By operation: the call of Circle's SDK, which speaks the `nested` dialect. */
const CIRCLE_CALLS: Readonly<Record<string, string>> = {
  'GET /ping': 'health.ping',
  'GET /v1/configuration': 'management.getAccountConfig',
  'GET /v1/wallets': 'wallets.listWallets',
  'GET /v1/wallets/{walletId}': 'wallets.getWallet',
  'GET /v1/payments/{payment_id}': 'payments.getPayment',
  'POST /v1/transfers': 'transfers.createTransfer',
  'GET /v1/transfers/{id}': 'transfers.getTransfer',
  'POST /v1/businessAccount/transfers': 'transfers.createBusinessTransfer',
  'GET /v1/businessAccount/transfers/{id}': 'transfers.getBusinessTransfer',
  'GET /v1/businessAccount/transfers': 'transfers.listBusinessTransfers',
}

function clientOf({ group, path }: Endpoint, sent: Sent, call: string): string {
  const [create, name] =
    group === 'a' ? ['createPaymentsClient', 'payments'] : ['createPlatformClient', 'platform']
  const body = sent.body === undefined ? queryOf(sent.url) : inText(parseJson(sent.body))
  const args = [
    ...partsOf(path, sent.url).map((part) => `'${part}'`),
    ...(body ? [literal(body).replace('to_address:', call === REFUND ? 'toAddress:' : '$&')] : []),
  ]
  return [
    `import { ${create} } from 'quittance/client'`,
    '',
    `const ${name} = ${create}({ baseUrl: process.env.URL, apiKey: process.env.KEY })`,
    `const answer = await ${name}.${call}(${args.join(', ')})`,
  ].join('\n')
}

function circleOf({ path }: Endpoint, sent: Sent, call: string): string {
  const body = sent.body === undefined ? undefined : nested(parseJson(sent.body))
  const parts = partsOf(path, sent.url).map((part) => `'${part}'`)
  const fields = body && literal(body).replace('{', '{\n  idempotencyKey: crypto.randomUUID(),')
  return [
    "import { Circle } from '@circle-fin/circle-sdk'",
    '',
    'const circle = new Circle(process.env.KEY, process.env.URL)',
    `const { data } = await circle.${call}(${[...parts, ...(fields ? [fields] : [])].join(', ')})`,
  ].join('\n')
}

/** The parts of the address that the path has in braces. */
function partsOf(path: string, url: string): string[] {
  const [pathname = ''] = url.split('?')
  const given = pathname.split('/')
  return path
    .split('/')
    .flatMap((part, place) => (part.startsWith('{') ? (given[place] ?? []) : []))
}

function queryOf(url: string): JsonValue | undefined {
  const query = Object.fromEntries(new URL(url, 'http://localhost').searchParams)
  return Object.keys(query).length === 0 ? undefined : query
}

/** Our client takes amounts as text, so that no digit is lost. */
function inText(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(inText)
  if (typeof value !== 'object' || value === null || isExactNumber(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      name === 'amount' ? textOf(one) : inText(one),
    ]),
  )
}

function textOf(amount: JsonValue): string {
  return typeof amount === 'string' ? amount : JSON.stringify(amount)
}

/** An amount with its currency, where a `flat` key has two fields. */
function nested(value: JsonValue): JsonValue {
  const { amount, currency = 'USD', ...rest } = value as Record<string, JsonValue>
  return amount === undefined ? rest : { ...rest, amount: { amount, currency } }
}

function literal(value: JsonValue): string {
  return JSON.stringify(value, null, 2).replaceAll(/^( *)"(\w+)":/gm, '$1$2:')
}
