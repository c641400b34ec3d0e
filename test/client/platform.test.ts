import { expect } from 'chai'

import { createPlatformClient, type PlatformClient } from '../../src/client/platform.ts'
import { expectFailure, failureOf } from '../support/errors.ts'
import { startRunningApp, type RunningApp } from '../support/running-app.ts'

describe('the platform client at our own server', () => {
  let app: RunningApp
  let platform: PlatformClient

  before(async () => {
    app = await startRunningApp()
    const { username, password } = app.groupB
    platform = createPlatformClient({ baseUrl: app.url, username, password })
  })
  after(() => app.stop())

  const request = (amount: string) => ({ to_address: PAYEE, amount, description: 'invoice 7' })

  it('sends and reads exact amounts, by token and by key', async () => {
    const amount = '0.100000000000000001'
    const sent = await platform.blockchain.send(request(amount))
    expect(sent).to.include({ to_address: PAYEE, amount, amount_wei: '100000000000000001' })
    const { apiKey } = app.groupB
    for (const client of [platform, createPlatformClient({ baseUrl: app.url, apiKey })]) {
      const { transactions } = await client.transactions.list({ type: 'settlement' })
      const { transaction_id, eth_transaction_hash } = sent
      expect(transactions[0]).to.include({ transaction_id, eth_transaction_hash, amount })
    }
    const detail = await platform.transactions.get(sent.transaction_id)
    expect(detail.blockchain_transaction).to.include({ to_address: PAYEE, amount })
    const balance = await platform.blockchain.balance()
    expect(balance.address).to.equal(sent.from_address)
    expect(balance.balance_eth).to.match(/^\d+(\.\d+)?$/)
  })

  it('pays once for one key, and refuses the key for another payment', async () => {
    const options = { idempotencyKey: 'invoice-8' }
    const [first, second] = [
      await platform.blockchain.send(request('0.01'), options),
      await platform.blockchain.send(request('0.01'), options),
    ]
    expect(second).to.deep.equal(first)
    const other = (): Promise<unknown> => platform.blockchain.send(request('0.02'), options)
    const error = await expectFailure(other, 'idempotency_key_reused')
    expect(error).to.include({ status: 422, idempotencyKey: 'invoice-8', mayHaveHappened: false })
  })

  it('pays through each gateway, and to an institution', async () => {
    const invoice = { amount: '10.50', currency: 'USD', description: 'invoice 9' }
    for (const { gateway_id } of await platform.gateways.list()) {
      const { transaction_id } = await platform.payments.create({ ...invoice, gateway_id })
      const state = await platform.payments.status(transaction_id)
      expect(state).to.include({ transaction_id, amount: '10.5', currency: 'USD' })
    }
    const [institution] = await platform.institutions.list()
    const { transaction_id } = await platform.transfers.create({
      ...invoice,
      institution_id: institution?.institution_id ?? 0,
      recipient_info: { account_number: '987654321', routing_number: '101050001' },
    })
    const state = await platform.transfers.status(transaction_id)
    expect(state).to.include({ transaction_id, amount: '10.5', currency: 'USD' })
    const early = (): Promise<unknown> => platform.payments.refund(transaction_id)
    expect((await failureOf(early)).code).to.be.oneOf(['not_found', 'conflict', 'invalid_request'])
  })

  it('iterates over every row once by cursors, and goes on from a page that was kept', async () => {
    for (let n = 0; n < 5; n++) await platform.blockchain.send(request('0.001'))
    const ids = await idsOf(platform, { limit: 3 })
    const { total, next } = await platform.transactions.list({ limit: 3 })
    expect(new Set(ids).size).to.equal(total)
    expect(next).to.have.property('cursor')
    expect(await idsOf(platform, { limit: 3, ...next })).to.deep.equal(ids.slice(3))
  })

  it('reads events after one that it saw, and follows those to come', async () => {
    const page = await platform.events.after('', { limit: 1 })
    expect(page.events).to.have.length(1)
    const ending = new AbortController()
    const { signal } = ending
    const sent = await platform.blockchain.send(request('0.002'))
    const seen: string[] = []
    const follow = async (): Promise<void> => {
      for await (const event of platform.events.follow({
        after: page.next_after,
        pollMs: 20,
        signal,
      })) {
        if (event.transaction_id !== sent.transaction_id) continue
        seen.push(event.status)
        if (event.status === 'completed') ending.abort()
      }
    }
    await expectFailure(follow, 'aborted')
    expect(seen.at(0)).to.equal('pending')
    expect(seen.at(-1)).to.equal('completed')
  })

  it('gives the code, the status, the request and the fields of a refusal', async () => {
    const unknown = await expectFailure(() => platform.transactions.get('TX1'), 'not_found')
    expect(unknown).to.include({ status: 404, retryable: false, tries: 1 })
    expect(unknown)
      .to.have.property('requestId')
      .that.matches(/^[0-9a-f]{32}-1$/)
    const list = (): Promise<unknown> => platform.transactions.list({ start_date: '2025-02-30' })
    const refused = await expectFailure(list, 'invalid_request')
    expect(refused).to.have.nested.property('fields[0].field', 'query.start_date')
    const { username } = app.groupB
    const wrong = createPlatformClient({ baseUrl: app.url, username, password: 'wrong' })
    await expectFailure(() => wrong.transactions.list(), 'unauthorized')
  })

  it('learns from any answer that keys are honoured', async () => {
    const { headers } = await fetch(`${app.url}/api/transactions`)
    expect(headers.get('accept-idempotency-key')).to.equal('POST')
  })
})

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

async function idsOf(
  platform: PlatformClient,
  query: Parameters<PlatformClient['transactions']['iterate']>[0],
): Promise<string[]> {
  const ids: string[] = []
  for await (const row of platform.transactions.iterate(query)) ids.push(row.transaction_id)
  return ids
}
