import { randomBytes } from 'node:crypto'

import { expect } from 'chai'

import { refuseDefaultSecrets } from '../../../src/store/access/default-secrets.ts'
import { ensureDemoAccounts } from '../../../src/store/access/demo-accounts.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

const good = {
  chainId: 1,
  environment: 'production' as const,
  signer: 'web3signer:https://signer.example:9000#0x01',
  findWellKnown: (): string | undefined => undefined,
  databasePassword: undefined,
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
      findWellKnown: () => 'signer 0 is known',
      databasePassword: 'postgres',
      databaseUrl: 'postgres://postgres:postgres@127.0.0.1/postgres',
    })
  })

  it('refuses a well-known signer, and none at all', async () => {
    const { db } = await freshDatabase()
    const findWellKnown = () => 'signer 3 is known'
    for (const wrong of [{ signer: undefined }, { findWellKnown }]) {
      const failure = await failureOf(() => refuseDefaultSecrets(db, { ...good, ...wrong }))
      expect(failure.code).to.equal('default_secrets')
      expect(failure.details['problems']).to.have.length(1)
    }
  })

  it('refuses the well-known seed in a sandbox too, on a chain that others use', async () => {
    const { db } = await freshDatabase()
    for (const chainId of [1, 10, 11_155_111]) {
      for (const wrong of [{ signer: undefined }, { findWellKnown: () => 'signer 0 is known' }]) {
        const sandbox = { ...good, environment: 'sandbox' as const, chainId, ...wrong }
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
    for (const [user, query] of [
      ['quittance:postgres', ''],
      ['quittance:Password', ''],
      ['quittance:change%6De', ''],
      ['quittance', '?password=postgres'],
      ['quittance:9fK2-long-and-random', '?sslmode=require&password=Change%6De'],
      ['quittance', '?password=9fK2-long-and-random&password=root'],
    ]) {
      const databaseUrl = `postgres://${user}@db.example/quittance${query}`
      const failure = await failureOf(() => refuseDefaultSecrets(db, { ...good, databaseUrl }))
      expect(failure.code).to.equal('default_secrets')
      expect(failure.message).not.to.contain(databaseUrl)
    }
  })

  it('refuses a default PGPASSWORD where the driver would take it', async () => {
    const { db } = await freshDatabase()
    const databaseUrl = 'postgres://quittance@db.example/quittance'
    const secrets = { ...good, databasePassword: 'Postgres' }
    const failure = await failureOf(() => refuseDefaultSecrets(db, { ...secrets, databaseUrl }))
    expect(failure.code).to.equal('default_secrets')
    await refuseDefaultSecrets(db, secrets)
    await refuseDefaultSecrets(db, { ...secrets, databaseUrl: undefined })
    await refuseDefaultSecrets(db, { ...good, databaseUrl, databasePassword: '9fK2-long' })
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
