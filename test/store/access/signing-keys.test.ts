import { expect } from 'chai'
import { sql } from 'kysely'

import {
  ensureSigningKey,
  listSigningKeys,
  pruneSigningKeys,
  rotateSigningKey,
} from '../../../src/store/access/signing-keys.ts'
import { databaseCodeOf } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('signing keys', () => {
  it('begin with one, however many processes start at once', async () => {
    const { db } = await freshDatabase()
    await Promise.all(Array.from({ length: 5 }, () => ensureSigningKey(db)))
    const keys = await listSigningKeys(db)
    expect(keys).to.have.length(1)
    expect(keys[0]?.kid).to.match(/^[\w-]{43}$/)
    expect(keys[0]?.privateJwk).to.include({ kty: 'OKP', crv: 'Ed25519' })
    expect(keys[0]?.publicJwk).to.have.keys(['kty', 'crv', 'x'])
  })

  it('lose their private half when they retire', async () => {
    const { db } = await freshDatabase()
    await ensureSigningKey(db)
    const { kid } = await rotateSigningKey(db, { endTokens: false })
    const keys = await listSigningKeys(db)
    expect(keys).to.have.length(2)
    const current = keys.filter((key) => key.retiredAt === null)
    expect(current.map((key) => key.kid)).to.deep.equal([kid])
    const retired = keys.find((key) => key.kid !== kid)
    expect(retired?.privateJwk).to.equal(null)
    expect(retired?.retiredAt).to.be.instanceOf(Date)
  })

  it('go altogether when one may have leaked', async () => {
    const { db } = await freshDatabase()
    await ensureSigningKey(db)
    await rotateSigningKey(db, { endTokens: false })
    const { kid } = await rotateSigningKey(db, { endTokens: true })
    expect((await listSigningKeys(db)).map((key) => key.kid)).to.deep.equal([kid])
  })

  it('are pruned once they have served', async () => {
    const { db } = await freshDatabase()
    await ensureSigningKey(db)
    await rotateSigningKey(db, { endTokens: false })
    await pruneSigningKeys(db, new Date(Date.now() - 60_000))
    expect(await listSigningKeys(db)).to.have.length(2)
    await pruneSigningKeys(db, new Date(Date.now() + 60_000))
    expect(await listSigningKeys(db)).to.have.length(1)
  })

  it('cannot be two that sign', async () => {
    const { db } = await freshDatabase()
    await ensureSigningKey(db)
    const second = sql`
      insert into signing_keys (kid, public_jwk, private_jwk)
      select reverse(kid), public_jwk, private_jwk from signing_keys`
    expect(await databaseCodeOf(second.execute(db))).to.equal('23505')
  })
})
