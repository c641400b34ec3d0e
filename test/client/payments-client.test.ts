import { expect } from 'chai'

import { createPaymentsClient, type PaymentsClient } from '../../src/client/payments-client.ts'
import type { PageQuery } from '../../src/client/payments-types.ts'
import { faults, startBarePlatform, type BarePlatform } from '../fixtures/api/bare-platform.ts'
import { startRunningApp, type RunningApp } from '../fixtures/api/running-app.ts'
import { expectFailure } from '../fixtures/errors.ts'

const PAYEE = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

describe('the payments client at our own server', () => {
  let app: RunningApp
  /** One of each dialect. */
  let clients: PaymentsClient[]

  before(async () => {
    app = await startRunningApp()
    const { apiKey, nestedApiKey } = app.groupA
    clients = [apiKey, nestedApiKey].map((key) =>
      createPaymentsClient({ baseUrl: app.url, apiKey: key }),
    )
  })
  after(() => app.stop())

  const order = {
    amount: '1.50',
    destination: { type: 'wire', name: 'Ada', addressLine1: '12 St James Square' },
  } as const

  it('pays, moves and mints, and reads both dialects alike', async () => {
    for (const client of clients) {
      const paid = await client.payments.create(order)
      expect(paid).to.include({ amount: '1.50', currency: 'USD', status: 'pending' })
      expect(await client.payments.get(paid.id)).to.include({ id: paid.id, amount: '1.50' })

      const [main] = await client.wallets.list()
      const savings = await client.wallets.create({ description: 'Savings' })
      const moved = await client.transfers.create({
        amount: '0.25',
        source: { type: 'wallet', id: main?.walletId ?? '' },
        destination: { type: 'wallet', id: savings.walletId },
      })
      expect(moved).to.include({ amount: '0.25', currency: 'USD' })
      expect(await client.wallets.get(savings.walletId)).to.include({ balance: '0.25' })

      const destination = { type: 'blockchain', chain: 'ETH', address: PAYEE } as const
      const mint = await client.mints.create({ amount: '2.000001', destination })
      expect(await client.mints.get(mint.id)).to.include({ amount: '2.000001' })
    }
  })

  it('iterates over pages to their end', async () => {
    for (const client of clients) {
      for (let n = 0; n < 3; n++) await client.payments.create(order)
      const ids: string[] = []
      for await (const { id } of client.payments.iterate({ pageSize: 2 })) ids.push(id)
      expect(ids).to.deep.equal((await client.payments.list({ pageSize: 100 })).map(({ id }) => id))
      expect(ids.length).to.be.at.least(4)
    }
  })

  it('pays once for one key', async () => {
    const [client] = clients as [PaymentsClient]
    const options = { idempotencyKey: 'invoice-42' }
    const first = await client.payments.create(order, options)
    expect(await client.payments.create(order, options)).to.include({ id: first.id })
    const other = { ...order, amount: '9.00' }
    const work = (): Promise<unknown> => client.payments.create(other, options)
    const error = await expectFailure(work, 'idempotency_key_reused')
    expect(error).to.include({ status: 409, serverCode: 1083 })
  })

  it('registers, lists and deletes a subscription', async () => {
    const [client] = clients as [PaymentsClient]
    const made = await client.subscriptions.create({ url: 'http://127.0.0.1:9/hook' })
    expect(made.secret).to.match(/^whsec_/)
    expect((await client.subscriptions.list()).map(({ id }) => id)).to.include(made.id)
    expect((await client.subscriptions.rotateSecret(made.id)).secret).not.to.equal(made.secret)
    await client.subscriptions.delete(made.id)
    await expectFailure(() => client.subscriptions.get(made.id), 'not_found')
  })

  it('gives a word and the number for each refusal', async () => {
    const [client] = clients as [PaymentsClient]
    const tooMuch = { ...order, amount: '999999999.00' }
    const poor = await expectFailure(() => client.payments.create(tooMuch), 'insufficient_funds')
    expect(poor).to.include({ status: 400, serverCode: 1093 })
    const nobody = (): Promise<unknown> =>
      client.payments.get('00000000-0000-4000-8000-000000000000')
    expect(await expectFailure(nobody, 'payment_not_found')).to.include({ status: 404 })
    const nameless = { ...order, destination: { ...order.destination, name: '' } }
    const refused = await expectFailure(() => client.payments.create(nameless), 'invalid_request')
    expect(refused).to.have.nested.property('fields[0].field', 'destination.name')
    const stranger = createPaymentsClient({ baseUrl: app.url, apiKey: 'sk_sandbox_no' })
    await expectFailure(() => stranger.wallets.list(), 'unauthorized')
  })
})

describe('the payments client at a server of the bare interface', () => {
  let bare: BarePlatform
  let client: PaymentsClient

  beforeEach(async () => {
    bare = await startBarePlatform()
    client = createPaymentsClient({ baseUrl: bare.url, apiKey: 'k' })
  })
  afterEach(() => bare.stop())

  const wallets = '{"data":[{"walletId":"1","currency":"USD","balance":"1.10"}]}'

  it('ends a list that has no pages, by its second answer', async () => {
    bare.faults.push(faults.status(200, wallets), faults.status(200, wallets))
    const rows: unknown[] = []
    for await (const row of client.wallets.iterate()) rows.push(row)
    expect(rows).to.deep.equal([{ walletId: '1', currency: 'USD', balance: '1.10' }])
    expect(bare.requests[0]?.headers.authorization).to.equal('Bearer k')
  })

  it('goes on to the second page where it was given the end of a page too', async () => {
    const rows = (id: string) => faults.status(200, `{"data":[{"id":"${id}"}]}`)
    bare.faults.push(rows('p3'), rows('p2'), faults.status(200, '{"data":[]}'))
    const query: PageQuery = { pageSize: 1, pageBefore: 'p4' }
    const ids: string[] = []
    for await (const { id } of client.payments.iterate(query)) ids.push(id)
    expect(ids).to.deep.equal(['p3', 'p2'])
    expect(bare.requests.map(({ url }) => url.search)).to.deep.equal([
      '?pageSize=1',
      '?pageSize=1&pageAfter=p3',
      '?pageSize=1&pageAfter=p2',
    ])
  })

  it('reads an answer without the envelope, and refuses one that is no list', async () => {
    bare.faults.push(faults.status(200, '{"id":"p1","amount":"1.00"}'))
    expect(await client.payments.get('p1')).to.include({ id: 'p1', amount: '1.00' })
    bare.faults.push(faults.status(200, '{"data":{}}'))
    await expectFailure(() => client.wallets.list(), 'answer_unexpected')
  })

  it('refuses an amount that is no decimal text before it sends anything', async () => {
    const order = { amount: 1.5 as unknown as string, destination: {} as never }
    await expectFailure(async () => client.payments.create(order), 'invalid_call')
    expect(bare.requests).to.have.length(0)
  })
})
