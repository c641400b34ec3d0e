import { expect } from 'chai'
import { sql } from 'kysely'

import { hashPassword } from '../../../src/store/access/passwords.ts'
import {
  disableUser,
  enableUser,
  findUser,
  findUserByName,
  hasDemoUsers,
  insertUser,
  listUsers,
  replacePassword,
} from '../../../src/store/access/users.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { databaseCodeOf, failureOf } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('users', () => {
  it('gives the first user the id 1 and finds it by its name in any case', async () => {
    const { db } = await freshDatabase()
    const user = await makeUser(db, { username: 'Alice', scopes: ['payments:read', 'admin'] })
    expect(user.id).to.equal(1)
    const found = await findUserByName(db, 'aLICE')
    expect(found).to.include({ id: 1, username: 'Alice', tokenGeneration: 1, isDemo: false })
    expect(found?.scopes).to.deep.equal(['payments:read', 'admin'])
    expect(found?.createdAt).to.be.instanceOf(Date)
    expect(found?.passwordHash).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  })

  it('refuses a second user of the same name in another case', async () => {
    const { db } = await freshDatabase()
    await makeUser(db, { username: 'alice' })
    const again = await failureOf(() => makeUser(db, { username: 'ALICE' }))
    expect(again.code).to.equal('username_taken')
  })

  it('lists users by pages', async () => {
    const { db } = await freshDatabase()
    for (const username of ['a', 'b', 'c']) await makeUser(db, { username })
    const first = await listUsers(db, { afterId: 0, limit: 2 })
    const second = await listUsers(db, { afterId: 2, limit: 2 })
    expect(first.map((user) => user.username)).to.deep.equal(['a', 'b'])
    expect(second.map((user) => user.username)).to.deep.equal(['c'])
  })

  it('raises the generation of tokens when it disables, and only once', async () => {
    const { db } = await freshDatabase()
    const user = await makeUser(db, { username: 'alice' })
    const disabled = await disableUser(db, 'Alice')
    expect(disabled?.disabledAt).to.be.instanceOf(Date)
    expect(disabled?.tokenGeneration).to.equal(2)
    expect(await disableUser(db, 'alice')).to.equal(undefined)
    expect(await enableUser(db, 'alice')).to.include({ disabledAt: null, tokenGeneration: 2 })
    expect(await enableUser(db, 'alice')).to.equal(undefined)
    expect(await disableUser(db, 'nobody')).to.equal(undefined)
    expect((await findUser(db, user.id))?.tokenGeneration).to.equal(2)
  })

  it('ends the tokens of a user whose password is replaced', async () => {
    const { db } = await freshDatabase()
    const user = await makeUser(db)
    const passwordHash = await hashPassword('another long password')
    await replacePassword(db, { userId: user.id, passwordHash })
    expect(await findUserByName(db, user.username)).to.include({ passwordHash, tokenGeneration: 2 })
  })

  it('tells whether there are demo accounts', async () => {
    const { db } = await freshDatabase()
    expect(await hasDemoUsers(db)).to.equal(false)
    const passwordHash = await hashPassword('a demo that is long')
    await insertUser(db, { username: 'demo', passwordHash, scopes: [], isDemo: true })
    expect(await hasDemoUsers(db)).to.equal(true)
  })

  it('refuses names that are no names before it asks the database', async () => {
    const { db } = await freshDatabase()
    const names = ['', ' alice', 'al ice', '-alice', 'a'.repeat(65), 'alice\0', 'älice', 'a\n']
    for (const username of names) {
      const failure = await failureOf(() => makeUser(db, { username }))
      expect(failure.code, JSON.stringify(username)).to.equal('bad_username')
    }
  })

  it('holds hashes and scopes to their form in the schema', async () => {
    const { db } = await freshDatabase()
    const insert = (hash: string, scopes: string[]) =>
      databaseCodeOf(
        sql`
          insert into users (username, password_hash, scopes)
          values ('x', ${hash}, ${scopes})`.execute(db),
      )
    expect(await insert('plain text', [])).to.equal('23514')
    expect(await insert('$argon2id$x', ['root'])).to.equal('23514')
    expect(await insert('$argon2id$x', ['payments:read'])).to.equal(undefined)
  })
})
