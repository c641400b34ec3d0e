import { randomBytes } from 'node:crypto'
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { hashOfKey } from '../../../src/domain/api-keys.ts'
import { findApiKeyState, listApiKeys, revokeApiKey } from '../../../src/store/access/api-keys.ts'
import { ensureDemoAccounts } from '../../../src/store/access/demo-accounts.ts'
import { verifyPassword } from '../../../src/store/access/passwords.ts'
import { findUserByName } from '../../../src/store/access/users.ts'
import type { Db } from '../../../src/store/database/database.ts'
import { makeUser } from '../../fixtures/api/access.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('demo accounts', () => {
  let db: Db
  let folder: { path: string; remove: () => void }

  beforeEach(async () => {
    ;({ db } = await freshDatabase())
    folder = temporaryFolder()
  })

  afterEach(() => folder.remove())

  const ensure = (environment: 'sandbox' | 'production' = 'sandbox') =>
    ensureDemoAccounts({ db, dataFolder: folder.path, environment, randomBytes })
  const stateOf = (key: string) => findApiKeyState(db, hashOfKey(key))

  it('are user 1 and an administrator, with a key for each use', async () => {
    const { groupA, groupB, admin } = await ensure()
    expect(groupB).to.include({ username: 'demo', userId: 1, apiKey: groupA.apiKey })
    expect(await stateOf(groupA.apiKey)).to.include({ userId: 1, dialect: 'flat' })
    expect(await stateOf(groupA.nestedApiKey)).to.include({ userId: 1, dialect: 'nested' })
    expect((await stateOf(groupA.apiKey))?.scopes).not.to.include('admin')
    expect(await stateOf(admin.apiKey)).to.deep.include({
      username: 'demo-admin',
      scopes: ['admin'],
    })
    const user = await findUserByName(db, 'demo')
    expect(user?.isDemo).to.equal(true)
    expect(await verifyPassword(user?.passwordHash, groupB.password)).to.equal(true)
  })

  it('keep their secrets in a file that nobody else may read, and stay the same', async () => {
    const first = await ensure()
    const file = join(folder.path, 'demo.json')
    expect(statSync(file).mode & 0o777).to.equal(0o600)
    chmodSync(file, 0o644)
    expect(await ensure()).to.deep.equal(first)
    expect(statSync(file).mode & 0o777).to.equal(0o600)
    expect(await findUserByName(db, 'demo')).to.include({ tokenGeneration: 1 })
    expect(await listApiKeys(db, { afterId: 0, limit: 99 })).to.have.length(3)
  })

  it('are made anew when the file is lost, and the old ones end', async () => {
    const first = await ensure()
    rmSync(join(folder.path, 'demo.json'))
    const second = await ensure()
    expect(second.groupA.apiKey).not.to.equal(first.groupA.apiKey)
    expect(second.groupB).to.include({ userId: 1, username: 'demo' })
    for (const key of [first.groupA.apiKey, first.groupA.nestedApiKey, first.admin.apiKey]) {
      expect((await stateOf(key))?.revokedAt).to.be.instanceOf(Date)
    }
    const user = await findUserByName(db, 'demo')
    expect(await verifyPassword(user?.passwordHash, second.groupB.password)).to.equal(true)
    expect(await verifyPassword(user?.passwordHash, first.groupB.password)).to.equal(false)
  })

  it('come back in an empty database with the secrets of the file', async () => {
    const first = await ensure()
    ;({ db } = await freshDatabase())
    expect(await ensure()).to.deep.equal(first)
  })

  it('get a new key where somebody has revoked one', async () => {
    const first = await ensure()
    await revokeApiKey(db, (await stateOf(first.groupA.nestedApiKey))?.id ?? 0)
    const second = await ensure()
    expect(second.groupA.apiKey).to.equal(first.groupA.apiKey)
    expect(second.groupA.nestedApiKey).not.to.equal(first.groupA.nestedApiKey)
    expect((await stateOf(second.groupA.nestedApiKey))?.revokedAt).to.equal(null)
  })

  it('do not trust what else stands in the file', async () => {
    await ensure()
    const file = join(folder.path, 'demo.json')
    const bad = [
      '',
      '{',
      'null',
      '[]',
      '{"password":"short","apiKey":"sk_sandbox_x","adminApiKey":1}',
    ]
    for (const text of bad) {
      writeFileSync(file, text)
      const { groupB } = await ensure()
      expect(groupB.password).to.have.length(24)
      expect(JSON.parse(readFileSync(file, 'utf8'))).to.include({ password: groupB.password })
    }
  })

  it('are refused outside the sandbox, and where their name is taken', async () => {
    expect((await failureOf(() => ensure('production'))).code).to.equal('no_demo_here')
    await makeUser(db, { username: 'Demo' })
    expect((await failureOf(() => ensure())).code).to.equal('demo_name_taken')
  })
})
