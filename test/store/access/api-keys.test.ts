import { expect } from 'chai'
import { sql } from 'kysely'

import { hashOfKey } from '../../../src/domain/api-keys.ts'
import { findApiKeyState, listApiKeys, revokeApiKey } from '../../../src/store/access/api-keys.ts'
import { disableUser } from '../../../src/store/access/users.ts'
import { makeKey, makeUser } from '../../fixtures/api/access.ts'
import { databaseCodeOf } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('API keys', () => {
  it('are found by their hash, with the state of their user', async () => {
    const { db } = await freshDatabase()
    const user = await makeUser(db, { username: 'alice', scopes: ['wallets:read'] })
    const key = await makeKey(db, { user, scopes: ['wallets:write'], dialect: 'nested' })
    expect(await findApiKeyState(db, hashOfKey(key.text))).to.deep.equal({
      id: key.id,
      userId: user.id,
      username: 'alice',
      scopes: ['wallets:write'],
      userScopes: ['wallets:read'],
      dialect: 'nested',
      expiresAt: null,
      usedAt: null,
      revokedAt: null,
      userDisabledAt: null,
    })
    expect(await findApiKeyState(db, hashOfKey(`${key.text}x`))).to.equal(undefined)
  })

  it('keep nothing that could be used', async () => {
    const { db } = await freshDatabase()
    const key = await makeKey(db, { user: await makeUser(db) })
    const { rows } = await sql<{ row: string }>`select api_keys::text as row from api_keys`.execute(
      db,
    )
    expect(rows[0]?.row).to.contain(key.shown)
    expect(rows[0]?.row).not.to.contain(key.text.slice(20, 40))
    expect(key.shown).to.have.length.below(24)
  })

  it('tell that they are revoked, or their user disabled', async () => {
    const { db } = await freshDatabase()
    const user = await makeUser(db)
    const key = await makeKey(db, { user })
    expect((await revokeApiKey(db, key.id))?.revokedAt).to.be.instanceOf(Date)
    expect(await revokeApiKey(db, key.id)).to.equal(undefined)
    expect(await revokeApiKey(db, 999)).to.equal(undefined)
    await disableUser(db, user.username)
    const state = await findApiKeyState(db, hashOfKey(key.text))
    expect(state?.revokedAt).to.be.instanceOf(Date)
    expect(state?.userDisabledAt).to.be.instanceOf(Date)
  })

  it('are listed by pages, of one user or of all', async () => {
    const { db } = await freshDatabase()
    const [alice, bob] = [await makeUser(db), await makeUser(db)]
    const keys = []
    for (const user of [alice, bob, alice]) keys.push(await makeKey(db, { user }))
    const idsOf = async (page: { userId?: number; afterId: number; limit: number }) =>
      (await listApiKeys(db, page)).map((key) => key.id)
    expect(await idsOf({ afterId: 0, limit: 2 })).to.deep.equal([1, 2])
    expect(await idsOf({ afterId: 2, limit: 2 })).to.deep.equal([3])
    expect(await idsOf({ userId: alice.id, afterId: 0, limit: 9 })).to.deep.equal([1, 3])
  })

  it('need scopes, a name, and a hash of their own', async () => {
    const { db } = await freshDatabase()
    const user = await makeUser(db)
    expect(await databaseCodeOf(makeKey(db, { user, scopes: [] }))).to.equal('23514')
    expect(await databaseCodeOf(makeKey(db, { user, name: '' }))).to.equal('23514')
    const twice = sql`
      insert into api_keys (user_id, name, key_sha256, shown, scopes)
      select user_id, name, key_sha256, shown, scopes from api_keys`
    await makeKey(db, { user })
    expect(await databaseCodeOf(twice.execute(db))).to.equal('23505')
  })
})
