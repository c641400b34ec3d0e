import { expect } from 'chai'

import { hashOfKey, readApiKey } from '../../src/domain/api-keys.ts'
import { findApiKeyState } from '../../src/store/access/api-keys.ts'
import { ensureSigningKey, listSigningKeys } from '../../src/store/access/signing-keys.ts'
import { disableUser } from '../../src/store/access/users.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { createCommandBench, type CommandBench } from '../fixtures/commands.ts'
import { runToEnd } from '../fixtures/program.ts'

describe('quittance keys', () => {
  let bench: CommandBench

  before(async () => {
    bench = await createCommandBench()
    await bench.withDatabase(async ({ db }) => {
      await ensureSigningKey(db)
      await makeUser(db, { username: 'alice' })
      await makeUser(db, { username: 'bob', scopes: ['wallets:write'] })
      await makeUser(db, { username: 'gone' })
      await disableUser(db, 'gone')
    })
  })

  after(() => bench.remove())

  const create = (...args: string[]) => bench.run('keys', 'create', '--name', 'laptop', ...args)

  it('creates a key that is shown once', async () => {
    const { code, answer } = await create('--user', 'Alice', '--dialect', 'nested')
    expect(code).to.equal(0)
    const text = String(answer['key'])
    expect(readApiKey(text)).to.deep.equal({ kind: 'key', environment: 'sandbox' })
    const state = await bench.withDatabase(({ db }) => findApiKeyState(db, hashOfKey(text)))
    expect(state).to.include({ username: 'alice', dialect: 'nested', revokedAt: null })
    const { stdout } = await runToEnd(['keys', 'list', '--user', 'alice'], bench.env)
    expect(stdout).to.contain(String(answer['shown'])).and.not.to.contain(text.slice(0, 30))
    expect(stdout).to.match(/ {2}1 {3}sk_sandbox_\S+ {2}alice {2}laptop {2}valid .* nested {3}all/)
  })

  it('refuses more than the user may do, the disabled and the nameless', async () => {
    const codes = []
    for (const args of [
      ['--user', 'bob', '--scopes', 'wallets:read,mint:write'],
      ['--user', 'gone'],
      ['--user', 'bob', '--name', ''],
    ]) {
      const { code, answer } = await create(...args)
      codes.push([code, (answer['error'] as { code: string }).code])
    }
    expect(codes).to.deep.equal([
      [2, 'scope_exceeds_user'],
      [2, 'user_disabled'],
      [2, 'bad_key_name'],
    ])
    const dialect = await bench.show(
      'keys',
      'create',
      '--user',
      'bob',
      '--name',
      'x',
      '--dialect',
      'z',
    )
    expect(dialect.code).to.equal(2)
  })

  it('creates one that expires, and lists until when', async () => {
    const until = ['--user', 'alice', '--expires', '2999-01-01']
    const { code, answer } = await create(...until)
    expect([code, answer['expiresAt']]).to.deep.equal([0, '2999-01-01T00:00:00.000Z'])
    const { stdout } = await bench.show('keys', 'list', '--user', 'alice')
    expect(stdout).to.match(/valid until 2999-01-01\S* .* never /)
    const past = await create('--user', 'alice', '--expires', '2020-01-01')
    expect([past.code, past.answer['error']]).to.deep.include(2)
    expect(past.answer['error']).to.include({ code: 'expiry_past' })
  })

  it('revokes once', async () => {
    const revoked = await bench.run('keys', 'revoke', '1')
    expect(revoked.answer).to.include({ id: 1, changed: true })
    const again = await bench.run('keys', 'revoke', '1')
    expect([again.code, again.answer['changed']]).to.deep.equal([0, false])
    const missing = await bench.run('keys', 'revoke', '99')
    expect(missing.code).to.equal(2)
    expect(missing.answer['error']).to.include({ code: 'key_not_found' })
    expect((await bench.show('keys', 'revoke', 'laptop')).code).to.equal(2)
  })

  it('rotates the signing key, and drops the old ones where it must', async () => {
    const kids = async () =>
      (await bench.withDatabase(({ db }) => listSigningKeys(db))).map((key) => key.kid)
    const [first] = await kids()
    const { answer } = await bench.run('keys', 'rotate-signing')
    expect(await kids()).to.have.members([first, answer['kid']])
    const ended = await bench.run('keys', 'rotate-signing', '--end-tokens')
    expect(ended.answer).to.include({ endedTokens: true })
    expect(await kids()).to.deep.equal([ended.answer['kid']])
  })
})
