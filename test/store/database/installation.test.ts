import { expect } from 'chai'
import { sql } from 'kysely'

import { claimInstallation } from '../../../src/store/database/installation.ts'
import { failureOf } from '../../fixtures/errors.ts'
import { freshDatabase } from '../../fixtures/store/database.ts'

describe('claimInstallation', () => {
  it('records the first claim and accepts the same again', async () => {
    const { db } = await freshDatabase()
    const claim = () => claimInstallation(db, { environment: 'sandbox', chainId: 31_337 })
    expect(await claim()).to.deep.equal(await claim())
    const { rows } = await sql`select environment, chain_id from installation`.execute(db)
    expect(rows).to.deep.equal([{ environment: 'sandbox', chain_id: 31_337n }])
  })

  it('gives the same 32 bytes for references at every start, and no others have them', async () => {
    const keys: string[] = []
    let { db } = await freshDatabase()
    for (const start of ['first', 'again', 'another installation']) {
      if (start === 'another installation') ({ db } = await freshDatabase())
      const { referenceKey } = await claimInstallation(db, { environment: 'sandbox', chainId: 5 })
      expect(referenceKey).to.have.length(32)
      keys.push(Buffer.from(referenceKey).toString('hex'))
    }
    expect(keys[1]).to.equal(keys[0])
    expect(keys[2]).not.to.equal(keys[0])
  })

  it('refuses another environment', async () => {
    const { db } = await freshDatabase()
    await claimInstallation(db, { environment: 'sandbox', chainId: 1 })
    const claim = () => claimInstallation(db, { environment: 'production', chainId: 1 })
    expect((await failureOf(claim)).code).to.equal('wrong_environment')
  })

  it('refuses another chain', async () => {
    const { db } = await freshDatabase()
    await claimInstallation(db, { environment: 'sandbox', chainId: 11_155_111 })
    const claim = () => claimInstallation(db, { environment: 'sandbox', chainId: 1 })
    expect((await failureOf(claim)).code).to.equal('wrong_chain')
  })
})
