import { expect } from 'chai'

import type { ApiAnswer } from '../../../fixtures/api/api.ts'
import { startTransactionsApi } from '../../../fixtures/api/transactions-api.ts'
import { makeTransaction } from '../../../fixtures/store/transactions.ts'

type EventBody = { id: number; type: string; transaction_id: string }

const eventsOf = ({ body }: ApiAnswer) => body['events'] as EventBody[]

/** Other transactions of the server may hold the log back for a moment. */
async function settled(count: number, ask: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
  for (let tries = 0; tries < 200; tries++) {
    const answer = await ask()
    if (eventsOf(answer).length >= count) return answer
    await new Promise((later) => setTimeout(later, 10))
  }
  throw new Error('the events did not appear')
}

describe('GET /api/events', () => {
  it('shows what happened, oldest first', async () => {
    const { db, alice, get } = await startTransactionsApi()
    const made = await makeTransaction(db, { userId: alice.id, status: 'failed' })
    const answer = await settled(2, () => get('/api/events'))
    expect(answer.body).to.deep.include({ success: true, next_after: '2', has_more: false })
    expect(
      eventsOf(answer).map(({ created_at: _at, ...event }: Record<string, unknown>) => event),
    ).to.deep.equal([
      {
        id: 1,
        type: 'transaction.created',
        transaction_id: made.transactionId,
        batch_id: null,
        status: 'pending',
        previous_status: null,
        reason: 'made by a test',
        eth_transaction_hash: null,
      },
      {
        id: 2,
        type: 'transaction.failed',
        transaction_id: made.transactionId,
        batch_id: null,
        status: 'failed',
        previous_status: 'pending',
        reason: 'made by a test',
        eth_transaction_hash: null,
      },
    ])
  })

  it('goes on from where one was, and stays there while nothing is new', async () => {
    const { db, alice, get } = await startTransactionsApi()
    for (let made = 0; made < 5; made++) await makeTransaction(db, { userId: alice.id })
    await settled(5, () => get('/api/events'))
    const seen: number[] = []
    let after = ''
    for (const more of [true, true, false]) {
      const answer = await get(`/api/events?limit=2&after=${after}`)
      seen.push(...eventsOf(answer).map(({ id }) => id))
      expect(answer.body['has_more']).to.equal(more)
      after = String(answer.body['next_after'])
    }
    expect(seen).to.deep.equal([1, 2, 3, 4, 5])
    const { body } = await get(`/api/events?after=${after}`)
    expect(body).to.deep.equal({ success: true, events: [], next_after: '5', has_more: false })
  })

  it('starts with nothing at 0', async () => {
    const { get } = await startTransactionsApi()
    const nothing = { success: true, events: [], next_after: '0', has_more: false }
    expect((await get('/api/events')).body).to.deep.equal(nothing)
    expect((await get('/api/events?after=0')).body).to.deep.equal(nothing)
  })

  it('shows nobody the events of another, and takes none of them as a place', async () => {
    const { db, alice, bob, get } = await startTransactionsApi()
    await makeTransaction(db, { userId: alice.id })
    await settled(1, () => get('/api/events'))
    expect(eventsOf(await get('/api/events', bob))).to.deep.equal([])
    expect((await get('/api/events?after=1', bob)).status).to.equal(400)
  })

  for (const after of ['-1', '1.5', 'x', '9'.repeat(19), '77']) {
    it(`refuses to go on after ${after}`, async () => {
      const { get } = await startTransactionsApi()
      const { status, body } = await get(`/api/events?after=${after}`)
      expect([status, body['code']]).to.deep.equal([400, 'invalid_request'])
    })
  }
})
