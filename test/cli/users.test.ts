import { expect } from 'chai'

import { lockFolder } from '../../src/base/lock.ts'
import { verifyPassword } from '../../src/store/access/passwords.ts'
import { findUserByName } from '../../src/store/access/users.ts'
import { claimInstallation } from '../../src/store/database/installation.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { createCommandBench, runHere, type CommandBench } from '../fixtures/commands.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { runToEnd } from '../fixtures/program.ts'
import { fillUnmigrated } from '../fixtures/store/prepared-data.ts'

describe('quittance users', () => {
  let bench: CommandBench

  before(async () => {
    bench = await createCommandBench()
  })

  after(() => bench.remove())

  it('adds a user and shows a password that was made up once', async () => {
    const added = await bench.run('users', 'add', 'alice', '--generate-password')
    expect(added.code).to.equal(0)
    expect(added.answer).to.include({ id: 1, username: 'alice', disabledAt: null })
    const user = await bench.withDatabase(({ db }) => findUserByName(db, 'alice'))
    expect(user?.scopes).to.include('payments:write').and.not.to.include('admin')
    const password = String(added.answer['password'])
    expect(await verifyPassword(user?.passwordHash, password)).to.equal(true)

    const again = await bench.run('users', 'add', 'ALICE', '--generate-password')
    expect(again.code).to.equal(2)
    expect(again.answer['error']).to.include({ code: 'username_taken' })
  })

  it('lists, disables and enables', async () => {
    await bench.withDatabase(({ db }) =>
      makeUser(db, { username: 'bob', scopes: ['payments:read', 'wallets:write'] }),
    )
    const disabled = await bench.run('users', 'disable', 'Bob')
    expect(disabled.answer).to.include({ username: 'bob', changed: true })
    const again = await bench.run('users', 'disable', 'bob')
    expect([again.code, again.answer['changed']]).to.deep.equal([0, false])
    const { stdout } = await runToEnd(['users', 'list'], bench.env)
    expect(stdout).to.match(/^ {2}id {2}username {2}state {5}added +scopes$/m)
    expect(stdout).to.match(/^ {2}\d {3}bob {7}disabled {2}.* UTC {2}payments:read wallets:write$/m)
    const enabled = await bench.run('users', 'enable', 'bob')
    expect(enabled.answer).to.include({ disabledAt: null, changed: true })
    expect((await bench.run('users', 'disable', 'nobody')).code).to.equal(2)
  })

  it('asks for no password without a terminal, and takes none as an argument', async () => {
    const asked = await bench.run('users', 'add', 'carl')
    expect([asked.code, asked.answer['error']]).to.deep.equal([
      2,
      {
        code: 'no_terminal',
        message:
          'There is no terminal to ask for a password. Use --password-stdin or --generate-password.',
      },
    ])
    const argument = await bench.show('users', 'add', 'carl', 'open sesame 42')
    expect(argument.code).to.equal(2)
    const option = await bench.show('users', 'add', 'carl', '--password', 'open sesame 42')
    expect(option.code).to.equal(2)
  })

  it('replaces a password', async () => {
    const replaced = await bench.run('users', 'set-password', 'alice', '--generate-password')
    expect(replaced.code).to.equal(0)
    const user = await bench.withDatabase(({ db }) => findUserByName(db, 'alice'))
    const password = String(replaced.answer['password'])
    expect(await verifyPassword(user?.passwordHash, password)).to.equal(true)
    expect(user?.tokenGeneration).to.equal(2)
  })

  it('refuses scopes that there are not, and names those that there are', async () => {
    const { code, stderr } = await bench.show('users', 'add', 'carl', '--scopes', 'root')
    expect(code).to.equal(2)
    expect(stderr).to.contain('root is not a scope').and.to.contain('payments:write')
  })

  it('says so where the schema is missing, or a server holds the folder', async () => {
    const folder = temporaryFolder()
    fillUnmigrated(folder.path)
    const env = { QUITTANCE_DATA: folder.path }
    const missing = await runHere(['users', 'list', '--json'], env)
    expect(missing.code).to.equal(2)
    expect(JSON.parse(missing.stdout).error.code).to.equal('migrations_pending')
    const lock = await lockFolder(folder.path)
    const held = await runHere(['users', 'list', '--json'], env)
    lock.release()
    folder.remove()
    expect(JSON.parse(held.stdout).error.code).to.equal('folder_in_use')
    expect(held.stderr).to.contain(String(process.pid))
  })

  it('refuses a database of another environment', async () => {
    await bench.withDatabase(({ db }) =>
      claimInstallation(db, { environment: 'production', chainId: 11_155_111 }),
    )
    const { code, answer } = await bench.run('users', 'list')
    expect([code, answer['error']]).to.deep.equal([
      2,
      {
        code: 'wrong_environment',
        message:
          'The database belongs to environment production, not sandbox. ' +
          'Set QUITTANCE_ENVIRONMENT, or use another database (DATABASE_URL or QUITTANCE_DATA).',
      },
    ])
  })
})
