import { expect } from 'chai'

import { answerAtOnce } from '../../../../src/api/admission/endpoints.ts'
import { deliveryEndpoints } from '../../../../src/api/endpoints/api/deliveries.ts'
import type { User } from '../../../../src/store/access/users.ts'
import type { Db } from '../../../../src/store/database/database.ts'
import { RequestError } from '../../../../src/wire/errors.ts'
import { callerOf, makeUser } from '../../../fixtures/api/access.ts'
import { startApi, type Api } from '../../../fixtures/api/api.ts'
import { makeDelivery, makeSubscription } from '../../../fixtures/api/webhooks.ts'
import { freshDatabase } from '../../../fixtures/store/database.ts'

type Row = { id: string; username: string; status: string; notification_type: string }

describe('an administrator', () => {
  let db: Db
  let admin: User
  let alice: User
  let api: Api

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    admin = await makeUser(db, { scopes: ['admin'] })
    alice = await makeUser(db)
    api = await startApi({
      endpoints: deliveryEndpoints(),
      hooks: {
        db,
        idempotently: ({ endpoint, request }) => answerAtOnce(endpoint, request, db),
        async authenticate(headers) {
          const user = [admin, alice].find(({ username }) => username === headers['x-api-key'])
          if (!user) throw new RequestError('unauthorized', 'Send a name.')
          return callerOf(user)
        },
      },
    })
  })

  afterEach(() => api.close())

  const get = (url: string, as = admin) => api.send({ url, headers: { 'x-api-key': as.username } })
  const post = (url: string, as = admin) =>
    api.send({ method: 'POST', url, headers: { 'x-api-key': as.username } })
  const rowsOf = ({ body }: { body: Record<string, unknown> }) => body['deliveries'] as Row[]

  it('reads what a webhook sends, and where webhooks go', async () => {
    await makeDelivery(db, { userId: alice.id })
    const [first] = rowsOf(await get('/api/deliveries'))
    const { body } = await get(`/api/deliveries/${first?.id}`)
    const headers = body['headers'] as Record<string, string>
    const payload = JSON.parse(String(body['payload'])) as Record<string, unknown>
    expect(payload['id']).to.equal(headers['webhook-id'])
    expect(payload['clientId']).to.equal(String(alice.id))
    expect((await get('/api/deliveries/00000000-0000-4000-8000-000000000000')).status).to.equal(404)
    const answer = await get('/api/admin/webhook-endpoints')
    const endpoints = answer.body['endpoints'] as Row[]
    expect(endpoints.map(({ username }) => username)).to.deep.equal([alice.username])
  })

  it('sees the webhooks of all users, newest first, by user, state and page', async () => {
    await makeDelivery(db, { userId: alice.id })
    await new Promise((later) => setTimeout(later, 3))
    await makeSubscription(db, { userId: admin.id, state: 'pending' })
    const all = await get('/api/deliveries')
    expect(rowsOf(all).map((row) => row.username)).to.deep.equal([
      admin.username,
      alice.username,
      alice.username,
    ])
    const hers = await get(`/api/deliveries?user_id=${alice.id}&status=pending`)
    expect(rowsOf(hers).map((row) => [row.username, row.notification_type])).to.deep.equal([
      [alice.username, 'payments'],
    ])
    const first = await get('/api/deliveries?limit=2')
    const next = await get(`/api/deliveries?limit=2&after=${String(first.body['next_after'])}`)
    expect([...rowsOf(first), ...rowsOf(next)]).to.deep.equal(rowsOf(all))
    expect(next.body['next_after']).to.equal(null)
    const missing = '00000000-0000-4000-8000-000000000000'
    expect((await get(`/api/deliveries?after=${missing}`)).status).to.equal(400)
  })

  it('replays any of them', async () => {
    const { id } = await makeDelivery(db, { userId: alice.id })
    const { status, body } = await post(`/api/deliveries/${id}/replay`)
    expect(status).to.equal(200)
    expect(body['delivery']).to.include({ id, username: alice.username, status: 'pending' })
    const missing = id.replaceAll(/[0-9a-f]/g, '0')
    expect((await post(`/api/deliveries/${missing}/replay`)).status).to.equal(404)
  })

  it('is the only one who may', async () => {
    const { id } = await makeDelivery(db, { userId: alice.id })
    expect((await get('/api/deliveries', alice)).status).to.equal(403)
    expect((await post(`/api/deliveries/${id}/replay`, alice)).status).to.equal(403)
  })
})
