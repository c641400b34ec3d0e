import { randomBytes } from 'node:crypto'

import { expect } from 'chai'

import { refuseDefaultSecrets } from '../../src/store/default-secrets.ts'
import { ensureDemoAccounts } from '../../src/store/demo-accounts.ts'
import { freshDatabase } from '../support/database.ts'
import { failureOf } from '../support/errors.ts'
import { temporaryFolder } from '../support/folder.ts'

const good = {
  chainId: 1,
  environment: 'production' as const,
  signer: 'https://signer.example:9000',
  databaseUrl: 'postgres://quittance:9fK2-long-and-random@db.example/quittance',
}

describe('refuseDefaultSecrets', () => {
  it('lets own secrets through, and anything in a sandbox on a chain of this machine', async () => {
    const { db } = await freshDatabase()
    await refuseDefaultSecrets(db, good)
    await refuseDefaultSecrets(db, { ...good, databaseUrl: 'postgres://db.example/quittance' })
    await refuseDefaultSecrets(db, {
      chainId: 31_337,
      environment: 'sandbox',
      signer: undefined,
      databaseUrl: 'postgres://postgres:postgres@127.0.0.1/postgres',
    })
  })

  it('refuses the well-known seed, its keys, and none at all', async () => {
    const { db } = await freshDatabase()
    const seed = 'Test test test test test test  test test test test test junk'
    const key = '0xAC0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
    for (const signer of [undefined, seed, `mnemonic:${seed}`, key]) {
      const failure = await failureOf(() => refuseDefaultSecrets(db, { ...good, signer }))
      expect(failure.code).to.equal('default_secrets')
      expect(failure.details['problems']).to.have.length(1)
      expect(failure.message).not.to.contain(key)
    }
  })

  it('refuses the well-known seed in a sandbox too, on a chain that others use', async () => {
    const { db } = await freshDatabase()
    const seed = 'seed:test test test test test test test test test test test junk'
    for (const chainId of [1, 10, 11_155_111]) {
      for (const signer of [undefined, seed]) {
        const sandbox = { ...good, environment: 'sandbox' as const, chainId, signer }
        const failure = await failureOf(() => refuseDefaultSecrets(db, sandbox))
        expect(failure.code).to.equal('default_secrets')
        expect(failure.message).to.include(`on chain ${chainId}`).and.to.include('QUITTANCE_SIGNER')
      }
      const own = { ...good, environment: 'sandbox' as const, chainId }
      await refuseDefaultSecrets(db, own)
    }
  })

  it('refuses a default password of the database, without printing it', async () => {
    const { db } = await freshDatabase()
    for (const password of ['postgres', 'Password', 'change%6De']) {
      const databaseUrl = `postgres://quittance:${password}@db.example/quittance`
      const failure = await failureOf(() => refuseDefaultSecrets(db, { ...good, databaseUrl }))
      expect(failure.code).to.equal('default_secrets')
      expect(failure.message).not.to.contain(databaseUrl)
    }
  })

  it('refuses a database with demo accounts, and names all that is wrong', async () => {
    const { db } = await freshDatabase()
    const folder = temporaryFolder()
    const options = { db, dataFolder: folder.path, environment: 'sandbox' as const, randomBytes }
    await ensureDemoAccounts(options)
    folder.remove()
    const refuse = () => refuseDefaultSecrets(db, { ...good, signer: undefined })
    expect((await failureOf(refuse)).details['problems']).to.have.length(2)
  })
})
