import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import { sql } from 'kysely'

import { createIdempotently } from '../../../../src/api/admission/idempotently.ts'
import { subscriptionDeliveryEndpoints } from '../../../../src/api/endpoints/v1/notifications/deliveries.ts'
import { subscriptionEndpoints } from '../../../../src/api/endpoints/v1/notifications/subscriptions.ts'
import { createRequireTarget } from '../../../../src/app/operations.ts'
import type { User } from '../../../../src/store/access/users.ts'
import type { Db } from '../../../../src/store/database/database.ts'
import { notify } from '../../../../src/store/webhooks/notifications.ts'
import { RequestError } from '../../../../src/wire/errors.ts'
import { callerOf, makeUser } from '../../../fixtures/api/access.ts'
import { startApi, type Api, type ApiRequest } from '../../../fixtures/api/api.ts'
import { makeDelivery, makeSubscription, PAYMENT } from '../../../fixtures/api/webhooks.ts'
import { freshDatabase } from '../../../fixtures/store/database.ts'

const PATH = '/v1/notifications/subscriptions'
const URL_A = 'https://a.example/hook'
const URL_B = 'https://b.example/hook'

const ADDRESSES: Record<string, string[]> = {
  'a.example': ['93.184.216.34'],
  'b.example': ['93.184.216.35'],
  'inside.example': ['93.184.216.34', '10.0.0.1'],
}

type Detail = { url: string; notificationType: string; status: string }
type Subscribed = { id: string; secret: string; subscriptionDetails: Detail[] }

describe('subscriptions over HTTP', () => {
  let db: Db
  let alice: User
  let bob: User
  let api: Api

  const requireTarget = createRequireTarget({
    environment: 'sandbox',
    host: '127.0.0.1',
    resolve: async (name) =>
      (ADDRESSES[name] ?? []).map((address) => ({ address, family: 4 as const })),
  })

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    alice = await makeUser(db)
    bob = await makeUser(db)
    api = await startApi({
      endpoints: [
        ...subscriptionEndpoints({ randomBytes, requireTarget }),
        ...subscriptionDeliveryEndpoints(),
      ],
      hooks: {
        db,
        idempotently: createIdempotently({ db }),
        async authenticate(headers) {
          const user = [alice, bob].find(({ username }) => username === headers['x-api-key'])
          if (!user) throw new RequestError('unauthorized', 'Send a name.')
          return callerOf(user)
        },
      },
    })
  })

  afterEach(() => api.close())

  const send = async (request: ApiRequest, as = alice) => {
    const headers = { 'x-api-key': as.username, ...request.headers }
    const answer = await api.send({ ...request, headers })
    return { ...answer, data: answer.body['data'] as never }
  }
  const post = (body: unknown, url = PATH) => send({ method: 'POST', url, body })
  const subscribed = async (body: unknown): Promise<Subscribed> => (await post(body)).data

  it('sends all types to one url, and shows the secret once', async () => {
    const { status, data } = await post({ url: URL_A })
    expect(status).to.equal(201)
    const { id, secret, subscriptionDetails, ...rest } = data as Subscribed
    expect(rest).to.deep.include({ url: URL_A, endpoint: URL_A })
    expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(subscriptionDetails).to.deep.equal(
      ['payments', 'transfers', 'chargebacks'].map((notificationType) => ({
        url: URL_A,
        notificationType,
        status: 'pending',
      })),
    )
    const list = await send({ url: PATH })
    expect(list.data).to.deep.equal([{ id, subscriptionDetails, ...rest }])
    const one = await send({ url: `${PATH}/${id}` })
    expect(one.data).to.deep.equal({ id, subscriptionDetails, ...rest })
  })

  it('takes a url for each entry, and the top one for those that name none', async () => {
    const { subscriptionDetails } = await subscribed({
      url: URL_A,
      subscriptionDetails: [
        { notificationType: 'payments' },
        { url: URL_B, notificationType: 'transfers' },
        { url: URL_A, notificationType: 'chargebacks' },
      ],
    })
    expect(
      subscriptionDetails.map(({ url, notificationType }) => [url, notificationType]),
    ).to.have.deep.members([
      [URL_A, 'payments'],
      [URL_A, 'chargebacks'],
      [URL_B, 'transfers'],
    ])
    const entries = [{ url: URL_B, notificationType: 'payments' }]
    const alone = await subscribed({ subscriptionDetails: entries })
    expect(alone).to.deep.include({
      url: null,
      subscriptionDetails: [{ ...entries[0], status: 'pending' }],
    })
  })

  const refusals: Array<[string, unknown, string, string]> = [
    ['nothing', {}, 'url', 'required'],
    [
      'an entry without a url',
      { subscriptionDetails: [{ notificationType: 'payments' }] },
      'subscriptionDetails.0.url',
      'required',
    ],
    ['two urls for the same', { url: URL_A, endpoint: URL_B }, 'endpoint', 'conflict'],
    [
      'an unknown type',
      { url: URL_A, subscriptionDetails: [{ notificationType: 'refunds' }] },
      'subscriptionDetails.0.notificationType',
      'enum',
    ],
    [
      'an entry twice',
      {
        url: URL_A,
        subscriptionDetails: [
          { notificationType: 'payments' },
          { url: URL_A, notificationType: 'payments' },
        ],
      },
      'subscriptionDetails.1',
      'duplicate',
    ],
    ['an unknown field', { url: URL_A, secret: 'x' }, 'secret', 'unknown_field'],
    ['a url that is none', { url: 'hooks' }, 'url', 'url_invalid'],
    ['a url that is no text', { url: 1 }, 'url', 'type'],
    ['plain http', { endpoint: 'http://a.example/' }, 'endpoint', 'url_not_https'],
    ['an address inside', { url: 'https://192.168.1.1/' }, 'url', 'address_forbidden'],
    ['an address in decimal', { url: 'https://2886729729/' }, 'url', 'address_forbidden'],
    ['the address of metadata', { url: 'http://169.254.169.254/' }, 'url', 'url_not_https'],
    ['a name of an address inside', { url: 'https://inside.example/' }, 'url', 'address_forbidden'],
    ['a name that nobody has', { url: 'https://missing.example/' }, 'url', 'name_unknown'],
    [
      'an address inside in the second entry',
      {
        url: URL_A,
        subscriptionDetails: [
          { notificationType: 'payments' },
          { url: 'https://[fd00::1]/', notificationType: 'transfers' },
        ],
      },
      'subscriptionDetails.1.url',
      'address_forbidden',
    ],
  ]
  for (const [what, body, location, error] of refusals) {
    it(`refuses ${what}`, async () => {
      const { status, body: answer } = await post(body)
      expect(status).to.equal(400)
      expect(answer['code']).to.equal(2)
      expect((answer['errors'] as object[])[0]).to.include({ location, error })
      expect((await send({ url: PATH })).data).to.deep.equal([])
    })
  }

  it('takes twenty for an account, also when they come at once', async () => {
    const made = await Promise.all(Array.from({ length: 22 }, () => post({ url: URL_A })))
    const statuses = made.map(({ status }) => status)
    expect(statuses.filter((status) => status === 201)).to.have.length(20)
    expect(statuses.filter((status) => status === 409)).to.have.length(2)
    const { id } = (await send({ url: PATH })).data[0] as Subscribed
    expect((await send({ method: 'DELETE', url: `${PATH}/${id}` })).status).to.equal(200)
    expect((await post({ url: URL_A })).status).to.equal(201)
    expect((await send({ method: 'POST', url: PATH, body: { url: URL_A } }, bob)).status).to.equal(
      201,
    )
  })

  it('makes one subscription of a request that is sent twice', async () => {
    const body = { url: URL_A, idempotencyKey: 'once' }
    const first = await post(body)
    const second = await post(body)
    expect(second.text).to.equal(first.text)
    expect(second.headers).to.include({ 'idempotent-replayed': 'true' })
    expect((await send({ url: PATH })).data).to.have.length(1)
    // A key that no header can carry would be another one there.
    expect((await post({ ...body, idempotencyKey: 'two words' })).status).to.equal(400)
  })

  it('forgets what is deleted', async () => {
    const { id } = await subscribed({ url: URL_A })
    const gone = { method: 'DELETE', url: `${PATH}/${id}` } as const
    expect((await send(gone, bob)).status).to.equal(404)
    expect((await send(gone)).body).to.deep.equal({ data: {} })
    expect((await send(gone)).status).to.equal(404)
    expect((await send({ url: `${PATH}/${id}` })).status).to.equal(404)
    expect((await send({ url: `${PATH}/${id}/deliveries` })).status).to.equal(404)
    expect((await send({ url: PATH })).data).to.deep.equal([])
    expect((await send({ url: `${PATH}/${'x'.repeat(36)}` })).status).to.equal(404)
  })

  it('gives a new secret, and says until when the old one signs', async () => {
    const { id, secret } = await subscribed({ url: URL_A })
    const { status, data } = await post(undefined, `${PATH}/${id}/secret`)
    expect(status).to.equal(201)
    const rotated = data as { secret: string; previousSecretExpireDate: string }
    expect(rotated.secret)
      .to.match(/^whsec_/)
      .and.not.to.equal(secret)
    const hoursLeft = (Date.parse(rotated.previousSecretExpireDate) - Date.now()) / 3_600_000
    expect(hoursLeft).to.be.within(23.9, 24.1)
  })

  it('lists deliveries, newest first, by state and page by page', async () => {
    const { id } = await makeSubscription(db, { userId: alice.id, url: URL_A })
    for (let n = 0; n < 3; n++) {
      await notify(db, { userId: alice.id, type: 'transfers', body: { ...PAYMENT, n } })
      // Rows of one millisecond have no order that is worth asserting.
      await new Promise((later) => setTimeout(later, 3))
    }
    const url = `${PATH}/${id}/deliveries`
    type Row = { id: string; sequence: number; notificationType: string; status: string }
    const first = (await send({ url: `${url}?pageSize=2` })).data as Row[]
    expect(first.map(({ sequence }) => sequence)).to.deep.equal([3, 2])
    const rest = (await send({ url: `${url}?pageSize=2&pageAfter=${first[1]!.id}` })).data as Row[]
    expect(rest.map((row) => [row.sequence, row.notificationType, row.status])).to.deep.equal([
      [1, 'transfers', 'pending'],
      [null, 'ping', 'delivered'],
    ])
    const delivered = (await send({ url: `${url}?status=delivered` })).data as Row[]
    expect(delivered.map(({ id: one }) => one)).to.deep.equal([rest[1]!.id])
    expect((await send({ url: `${url}?pageAfter=${id}` })).status).to.equal(400)
    expect((await send({ url }, bob)).status).to.equal(404)
  })

  it('replays a delivery of its owner, unless its url is disabled', async () => {
    const { id } = await makeDelivery(db, { userId: alice.id, url: URL_A })
    const request = { method: 'POST', url: `/v1/notifications/deliveries/${id}/replay` } as const
    expect((await send(request, bob)).status).to.equal(404)
    const { status, data } = await send(request)
    expect(status).to.equal(200)
    expect(data).to.include({ id, status: 'pending', tries: 0, sequence: 1 })
    await sql`update webhook_endpoints set state = 'disabled', disabled_code = 'gone'`.execute(db)
    const disabled = await send(request)
    expect([disabled.status, disabled.body['code']]).to.deep.equal([409, -1])
    const missing = request.url.replace(id, '00000000-0000-4000-8000-000000000000')
    expect((await send({ ...request, url: missing })).status).to.equal(404)
  })
})
