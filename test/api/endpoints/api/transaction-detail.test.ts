import { expect } from 'chai'

import { listMoves } from '../../../../src/store/transactions/transactions.ts'
import { startTransactionsApi } from '../../../fixtures/api/transactions-api.ts'
import { makeTransaction } from '../../../fixtures/store/transactions.ts'

describe('GET /api/transactions/{transaction_id}', () => {
  it('shows every field, and the history without who made it', async () => {
    const { db, alice, get } = await startTransactionsApi()
    const made = await makeTransaction(db, {
      userId: alice.id,
      status: 'failed',
      gatewayId: 2,
      institutionId: 1,
      actor: 'user:secret',
      reason: 'payment created',
    })
    const { status, text } = await get(`/api/transactions/${made.transactionId}`)
    const [created, failed] = await listMoves(db, made)
    expect(status).to.equal(200)
    expect(JSON.parse(text)).to.deep.equal({
      success: true,
      id: 1,
      transaction_id: made.transactionId,
      amount: 12.5,
      amount_decimal: '12.5',
      currency: 'USD',
      type: 'payment',
      status: 'failed',
      description: 'made by a test',
      eth_transaction_hash: null,
      external_id: null,
      batch_id: null,
      chain: null,
      to_address: null,
      disputed_by: [],
      created_at: made.createdAt.toISOString(),
      updated_at: made.updatedAt.toISOString(),
      user_id: alice.id,
      institution_id: 1,
      gateway_id: 2,
      metadata: {},
      refunded_decimal: '0',
      refunds: [],
      disputes: [],
      blockchain_transaction: null,
      history: [
        {
          status: 'pending',
          previous_status: null,
          reason: 'payment created',
          created_at: created!.at.toISOString(),
        },
        {
          status: 'failed',
          previous_status: 'pending',
          reason: 'made by a test',
          created_at: failed!.at.toISOString(),
        },
      ],
    })
  })

  it('answers the same for what is not there and for what is not yours', async () => {
    const { db, bob, get } = await startTransactionsApi()
    const { transactionId } = await makeTransaction(db, { userId: bob.id })
    const paths = [transactionId, 'TX00000000000000000000', 'x', '1']
    const answers = await Promise.all(paths.map((path) => get(`/api/transactions/${path}`)))
    for (const { status, body } of answers) {
      expect(status).to.equal(404)
      expect(body['code']).to.equal('not_found')
      expect(body['error']).to.equal(answers[0]!.body['error'])
    }
    expect((await get(`/api/transactions/${transactionId}`, bob)).status).to.equal(200)
  })

  for (const path of ['TX%00', '..%2Ftransactions', 'x'.repeat(65), '%F0%9F%99%82', "TX1'--"]) {
    it(`refuses ${path}, which cannot be an id`, async () => {
      const { get } = await startTransactionsApi()
      expect((await get(`/api/transactions/${path}`)).status).to.equal(400)
    })
  }
})
