import { expect } from 'chai'
import { sql } from 'kysely'

import { startAdminApi, type AdminApi } from '../../../fixtures/api/admin-api.ts'

type Row = Record<string, unknown>

const PASSWORD = 'nine blue kettles boil'

describe('what administrators do to users and keys', () => {
  let admin: AdminApi

  beforeEach(async () => {
    admin = await startAdminApi()
  })

  afterEach(() => admin.api.close())

  const post = (url: string, body?: unknown, headers = {}) =>
    admin.send({ method: 'POST', url: `/api/admin/${url}`, headers, body: body ?? {} })
  const addUser = (more: Row = {}) =>
    post('users', { username: 'carol', password: PASSWORD, scopes: ['payments:read'], ...more })
  const asks = (key: string) => admin.send({ url: '/api/transactions' }, key)

  it('adds a user, once for a name in any case', async () => {
    const added = await addUser()
    expect(added.status).to.equal(201)
    expect(added.body).to.deep.include({ username: 'carol', scopes: ['payments:read'] })
    expect((await addUser({ username: 'Carol' })).status).to.equal(409)
    const users = (await admin.send({ url: '/api/admin/users' })).body['users'] as Row[]
    expect(users.map(({ username }) => username)).to.deep.equal(['operator', 'alice', 'carol'])
  })

  it('refuses bad names, weak passwords and scopes that are none', async () => {
    for (const bad of [
      { username: '-carol' },
      { password: 'short' },
      { password: 'carol carol carol' },
      { scopes: [] },
      { scopes: ['everything'] },
      { is_demo: true },
    ]) {
      expect((await addUser(bad)).status).to.equal(400)
    }
  })

  it('makes a key that works at once, and no more than its user may do', async () => {
    const { id: userId } = (await addUser({ scopes: ['transactions:read'] })).body
    const key = { user_id: userId, name: 'ci', dialect: 'flat' }
    const made = await post('keys', { ...key, scopes: ['transactions:read', 'mint:write'] })
    expect(made.status).to.equal(201)
    expect(made.body['scopes']).to.deep.equal(['transactions:read'])
    expect((await asks(String(made.body['api_key']))).status).to.equal(200)
    for (const bad of [{ user_id: 404 }, { scopes: ['mint:write'] }, { name: '' }]) {
      const wrong = { ...key, scopes: ['transactions:read'], ...bad }
      expect((await post('keys', wrong)).status).to.equal(400)
    }
  })

  it('makes a key that expires, and says when it was used', async () => {
    const { id: userId } = (await addUser({ scopes: ['transactions:read'] })).body
    const key = { user_id: userId, name: 'audit', scopes: ['transactions:read'] }
    const made = await post('keys', { ...key, expires_at: '2999-01-01T02:00:00+02:00' })
    expect(made.body).to.include({ expires_at: '2999-01-01T00:00:00.000Z', used_at: null })
    expect((await asks(String(made.body['api_key']))).status).to.equal(200)
    const listed = (await admin.send({ url: '/api/admin/keys' })).body['api_keys'] as Row[]
    expect(listed.at(-1)?.['used_at']).to.match(/^2\d{3}-.*Z$/)
    const past = await post('keys', { ...key, expires_at: '2020-01-01T00:00:00Z' })
    expect([past.status, JSON.stringify(past.body)]).to.satisfy(
      ([status, text]: [number, string]) => status === 400 && text.includes('expires_at'),
    )
    expect((await post('keys', { ...key, expires_at: 'tomorrow' })).status).to.equal(400)
  })

  it('keeps neither a key nor a hash of a password for an idempotency key', async () => {
    const key = { 'idempotency-key': 'the-same-one' }
    const body = { user_id: admin.alice.id, name: 'ci', scopes: ['mint:read'], dialect: 'flat' }
    const first = await post('keys', body, key)
    const second = await post('keys', body, key)
    expect(second.body['api_key']).not.to.equal(first.body['api_key'])
    await post('users', { username: 'dave', password: PASSWORD, scopes: ['admin'] }, key)
    const { rows } = await sql`select * from idempotent_requests`.execute(admin.db)
    expect(rows).to.deep.equal([])
  })

  it('makes a key of the default dialect, which may be left out as documented', async () => {
    const body = { user_id: admin.alice.id, name: 'plain', scopes: ['mint:read'] }
    const made = await post('keys', body)
    expect(made.status).to.equal(201)
    expect(made.body).to.include({ dialect: 'flat' })
  })

  it('revokes a key, which is refused from the next request on', async () => {
    const { keys } = admin
    expect((await asks(keys.alice)).status).to.equal(200)
    const listed = (await admin.send({ url: '/api/admin/keys' })).body['api_keys'] as Row[]
    const laptop = String(listed.find(({ name }) => name === 'laptop')?.['id'])
    const revoked = await post(`keys/${laptop}/revoke`)
    expect(revoked.status).to.equal(200)
    expect(revoked.body['revoked_at']).to.be.a('string')
    expect((await asks(keys.alice)).status).to.equal(401)
    const again = await post(`keys/${laptop}/revoke`)
    expect(again.body).to.deep.equal(revoked.body)
    expect((await post('keys/404/revoke')).status).to.equal(404)
    expect((await post('keys/none/revoke')).status).to.equal(404)
  })

  it('disables a user and enables it again, but nobody shuts out himself', async () => {
    const { alice, keys } = admin
    await asks(keys.alice)
    expect((await post(`users/${alice.id}/disable`)).body['disabled_at']).to.be.a('string')
    expect((await asks(keys.alice)).status).to.equal(401)
    expect((await post(`users/${alice.id}/enable`)).body['disabled_at']).to.equal(null)
    expect((await asks(keys.alice)).status).to.equal(200)
    expect((await post(`users/${admin.admin.id}/disable`)).status).to.equal(409)
    expect((await post('users/404/disable')).status).to.equal(404)
  })
})
