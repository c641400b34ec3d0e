import { expect } from 'chai'

import recorded from '../../../src/api/docs/examples.json' with { type: 'json' }
import type { OpenApiDocument } from '../../../src/api/docs/openapi.ts'
import { toQuantity } from '../../../src/chain/answers.ts'
import { callRpc } from '../../../src/chain/rpc/rpc.ts'
import { createAjv, keepDelivered } from '../../fixtures/api/contract.ts'
import { startReceiver, type Receiver } from '../../fixtures/api/receiver.ts'
import { startRunningApp, type RunningApp } from '../../fixtures/api/running-app.ts'
import { fetchInTurn } from '../../fixtures/in-turn.ts'
import { until } from '../../fixtures/until.ts'

const TYPES = ['payments', 'transfers', 'chargebacks', 'transactions', 'batches']
const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
/** Where there is code that refuses every payment. */
const REFUSES = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

/** What this platform does once, in the words of the keys of the examples. */
const HAPPENS = [
  'ping ping',
  'payments paid',
  'transfers complete',
  'chargebacks needs_response',
  'transactions transaction.created',
  'transactions transaction.processing',
  'transactions transaction.completed',
  'transactions transaction.failed',
  'transactions transaction.partly_refunded',
  'transactions transaction.refunded',
  'batches batch.completed',
  'batches batch.partly_completed',
  'batches batch.failed',
  'transactions transaction.alert_opened',
  'transactions transaction.break_opened',
  'transactions transaction.alert_closed',
  'transactions transaction.break_closed',
]

type Body = {
  notificationType: string
  [field: string]: unknown
}

describe('the payloads of webhooks in the documents', () => {
  let app: RunningApp
  let receiver: Receiver
  let document: OpenApiDocument
  const delivered = new Map<string, { text: string; body: Body }>()

  before(async () => {
    ;[app, receiver] = await Promise.all([startRunningApp(), startReceiver()])
    const answer = await fetchInTurn(`${app.url}/openapi/group-a.json`)
    document = (await answer.json()) as OpenApiDocument
  })
  after(async () => {
    await receiver.close()
    await app.stop()
  })

  const rpc = (method: string, ...params: unknown[]) =>
    callRpc({ url: app.facts.rpcUrl, method, params })
  const ask = async (path: string, body: object, by?: string) => {
    const key = by ?? (path.startsWith('/v1') ? app.groupA.apiKey : app.groupB.apiKey)
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const answer = await fetchInTurn(`${app.url}${path}`, init)
    const text = await answer.text()
    expect(answer.status, text).to.be.below(300)
    return JSON.parse(text) as Record<string, string>
  }
  const mint = () =>
    ask('/v1/businessAccount/transfers', {
      amount: '5.00',
      currency: 'USD',
      destination: { type: 'blockchain', chain: 'ETH', address: PAYEE },
    })
  const payByCard = async (method: string) => {
    const order = { gateway_id: 1, amount: 20, currency: 'USD', description: 'A chair' }
    const made = await ask('/api/payments', order)
    const { client_secret = '', payment_intent_id: intent, transaction_id: id = '' } = made
    await fetch(`${app.facts.simulators?.['card']}/v1/payment_intents/${intent}/confirm`, {
      method: 'POST',
      body: new URLSearchParams({ client_secret, payment_method: method }),
    })
    return id
  }
  const collect = (): void => {
    for (const { body: text } of receiver.received) {
      const body = JSON.parse(text) as Body
      const [object] = ['payment', 'transfer', 'chargeback', 'event', 'ping']
        .map((field) => body[field] as { type?: string; status?: string } | undefined)
        .filter((one) => one !== undefined)
      const isEvent = /^(?:transactions|batches)$/.test(body.notificationType)
      const what = isEvent ? object?.type : (object?.status ?? 'ping')
      delivered.set(`${body.notificationType} ${what}`, { text, body })
    }
  }
  const sees = (key: string) =>
    until(async () => {
      collect()
      return delivered.has(key)
    })

  it('are delivered of each type by a platform that runs', async () => {
    const { url } = receiver
    const details = TYPES.map((notificationType) => ({ url, notificationType }))
    await ask('/v1/notifications/subscriptions', { url, subscriptionDetails: details })
    await sees('ping ping')
    const amount = { amount: 0.01, to_address: PAYEE }
    await ask('/api/blockchain/batches', { currency: 'ETH', items: [amount, amount] })
    await ask('/v1/payments', {
      amount: '10.00',
      currency: 'USD',
      destination: { type: 'wire', name: 'Ada Lovelace', addressLine1: '1 Main Street' },
      metadata: { beneficiaryEmail: 'ada@example.com' },
    })
    await mint()
    await ask('/api/transfers', {
      institution_id: 1,
      amount: 12.5,
      currency: 'USD',
      description: 'To an account that the bank refuses',
      recipient_info: { account_number: '1000000004', routing_number: '021000021' },
    })
    await payByCard('pm_card_createDispute')
    const paid = await payByCard('pm_card_visa')
    await until(async () => {
      const path = `${app.url}/api/payments/${paid}/status`
      const answer = await fetchInTurn(path, { headers: { 'x-api-key': app.groupB.apiKey } })
      return ((await answer.json()) as { status: string }).status === 'completed'
    })
    await ask(`/api/payments/${paid}/refund`, { amount: 5 })
    await sees('transactions transaction.partly_refunded')
    await ask(`/api/payments/${paid}/refund`, {})
    await failBatches()
    await takeAway()
    for (const key of HAPPENS) await sees(key)
    for (const [key, { text }] of delivered) keepDelivered(key, text)
  })

  const failBatches = async (): Promise<void> => {
    await rpc('anvil_setCode', REFUSES, '0x5f5ffd')
    const good = { amount: 0.01, to_address: PAYEE }
    const bad = { amount: 0.01, to_address: REFUSES }
    const each = { currency: 'ETH', on_failure: 'each' }
    await ask('/api/blockchain/batches', { ...each, items: [good, bad] })
    await ask('/api/blockchain/batches', { ...each, items: [bad, bad] })
    await sees('batches batch.failed')
  }

  /** A reorg takes a final payment away, and its nonce is used until it is let in again. */
  const takeAway = async (): Promise<void> => {
    const admin = app.facts.admin?.apiKey ?? ''
    const order = { to_address: PAYEE, amount: 0.02, description: 'Rent', use_contract: true }
    await rpc('evm_setIntervalMining', 0)
    const { transaction_id: id = '' } = await ask('/api/blockchain/transactions', order)
    const eventOf = (type: string): Record<string, string> | undefined => {
      collect()
      const told = delivered.get(`transactions transaction.${type}`)?.body
      const event = told?.['event'] as Record<string, string> | undefined
      return event?.['transaction_id'] === id ? event : undefined
    }
    const minesUntil = (type: string) =>
      until(async () => {
        await rpc('evm_mine')
        return eventOf(type) !== undefined
      })
    await minesUntil('completed')
    const hash = eventOf('completed')?.['eth_transaction_hash']
    const raw = await rpc('eth_getRawTransactionByHash', hash)
    const mined = (await rpc('eth_getTransactionByHash', hash)) as { blockNumber: string }
    // Not a block more, so that what was paid before it stays paid.
    const depth = Number(await rpc('eth_blockNumber')) - Number(mined.blockNumber) + 1
    const signer = app.groupB.address
    const nonce = Number(await rpc('eth_getTransactionCount', signer, 'latest'))
    await rpc('anvil_reorg', depth, [])
    await rpc('anvil_setNonce', signer, toQuantity(nonce))
    await rpc('anvil_mine', toQuantity(depth + 4))
    // While the sender has something to do, it need not be waited for.
    await mint()
    await until(async () => eventOf('alert_opened') !== undefined)
    await ask('/api/runs', {}, admin)
    await until(async () => eventOf('break_opened') !== undefined)
    await rpc('anvil_setNonce', signer, toQuantity(nonce - 1))
    // One that was sent again before its nonce was used would stay in the pool, never to be mined.
    await rpc('anvil_dropAllTransactions')
    // Somebody who saw it sends it again before the sender does.
    await rpc('eth_sendRawTransaction', raw)
    await rpc('anvil_mine', toQuantity(4))
    await mint()
    await until(async () => eventOf('alert_closed') !== undefined)
    const list = await fetchInTurn(`${app.url}/api/breaks?state=open`, {
      headers: { 'x-api-key': admin },
    })
    const { breaks } = (await list.json()) as { breaks: { id: string; transaction_id: string }[] }
    const found = breaks.find((one) => one.transaction_id === id)
    const note = { note: 'The payment is in a block again.' }
    if (found) await ask(`/api/breaks/${found.id}/close`, note, admin)
  }

  it('fit their schemas, those delivered and those shown', () => {
    const ajv = createAjv()
    const { components, webhooks = {} } = document
    const fitsOf = (type: string) => {
      const { schema, examples } = webhooks[type]!.post.requestBody.content['application/json']
      return { fits: ajv.compile({ ...schema, components }), examples }
    }
    for (const [type] of Object.entries(webhooks)) {
      const { fits, examples } = fitsOf(type)
      const bodies = [...delivered.values()].map(({ body }) => body)
      const own = bodies.filter((body) => body.notificationType === type)
      for (const body of [...own, ...Object.values(examples).map(({ value }) => value)]) {
        expect(fits(body), JSON.stringify([body, fits.errors])).to.equal(true)
      }
    }
  })

  it('are shown for all that happens, with the fields that were delivered', () => {
    const shown: Record<string, string> = recorded.webhooks
    expect(Object.keys(shown)).to.include.members(HAPPENS)
    for (const key of HAPPENS) {
      expect(fieldsOf(JSON.parse(shown[key] ?? '{}')), key).to.deep.equal(
        fieldsOf(delivered.get(key)?.body),
      )
    }
  })
})

function fieldsOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fieldsOf(one)]))
}
