import { readFileSync } from 'node:fs'

import { expect } from 'chai'
import { sql } from 'kysely'

import { readBlockchainTransaction } from '../../src/api/endpoints/api/blockchain/wire.ts'
import type { Database, Db } from '../../src/store/database/database.ts'
import { findEveryonesTransaction } from '../../src/store/access/everyone.ts'
import { migrate } from '../../src/store/database/migrate.ts'
import { moveTransaction, recordTransaction } from '../../src/store/transactions/transactions.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { emptyDatabase } from '../fixtures/store/database.ts'

const [SETTLEMENT, PAYEE, PAYER] = ['5e', 'aa', 'bb'].map((pair) => `0x${pair.repeat(20)}`)

describe('the checkouts that were paid before their hashes were kept', () => {
  let database: Database
  let db: Db
  let userId: number
  let count = 0

  beforeEach(async () => {
    database = await emptyDatabase()
    db = database.db
    await migrate(db)
    userId = (await makeUser(db)).id
    await undo(db)
  })

  afterEach(() => database.close())

  const charge = async (parts: readonly number[], isCompleted = true): Promise<string> => {
    count += 1
    const transactionId = `TX${String(count).padStart(20, '0')}`
    const cause = { actor: 'test', reason: 'as before' }
    const amount = 1000n
    const made = { transactionId, userId, amount, currency: 'USD' as const, description: 'Books' }
    await recordTransaction(db, { ...made, type: 'payment', ...cause })
    await moveTransaction(db, { transactionId, from: 'pending', to: 'processing', ...cause })
    if (isCompleted) {
      await moveTransaction(db, { transactionId, from: 'processing', to: 'completed', ...cause })
    }
    await sql`insert into charges (transaction_id, gateway_id, kind, reference)
      values (${transactionId}, 2, 'crypto_checkout', ${word(count * 1000)})`.execute(db)
    for (const [at, dollars] of parts.entries()) {
      await sql`
        insert into checkout_payments (chain_id, transaction_hash, log_index, transaction_id, payer,
          amount, verdict, block_number, block_hash, paid_at)
        values (1, ${word(count * 100 + at)}, 0, ${transactionId}, ${PAYER},
          ${dollars * 1_000_000}, 'counted', ${at + 1}, ${word(9)}, now())`.execute(db)
    }
    return transactionId
  }
  const run = async (): Promise<void> => {
    const script = readFileSync('src/store/migrations/0029_checkout_closings.sql', 'utf8')
    await sql.raw(`do $outer$ begin ${script} end $outer$`).execute(db)
  }
  const hashOf = async (id: string) => (await findEveryonesTransaction(db, id))?.ethTransactionHash
  const readFrom = async (payee: string) =>
    sql`insert into checkout_cursors (chain_id, settlement, payee, block_number, block_hash)
      values (1, ${SETTLEMENT}, ${payee}, 9, ${word(9)})`.execute(db)

  it('get the hash of the arrival that made each of them whole', async () => {
    await readFrom(PAYEE!)
    const whole = await charge([4, 6, 1])
    const less = await charge([4, 5])
    const open = await charge([4], false)
    const none = await charge([])
    await run()
    expect(await hashOf(whole)).to.equal(word(101))
    expect(await hashOf(less), 'accepted as it is').to.equal(word(201))
    expect([await hashOf(open), await hashOf(none)]).to.deep.equal([null, null])
    const shown = await readBlockchainTransaction(db, whole)
    expect(shown).to.include({ eth_tx_hash: word(101), reference: word(1000), status: 'confirmed' })
    expect(shown?.to_address.toLowerCase()).to.equal(PAYEE)
  })

  it('name no payee where several were read, before a receipt tells it', async () => {
    await readFrom(PAYEE!)
    await readFrom(PAYER!)
    const whole = await charge([10])
    await run()
    expect(await hashOf(whole)).to.equal(word(100 * count))
    expect(await readBlockchainTransaction(db, whole)).to.equal(null)
  })
})

function word(number: number): string {
  return `0x${String(number).padStart(64, '0')}`
}

/** As the schema was before migration 0029. */
async function undo(db: Db): Promise<void> {
  const statements = [
    sql`alter table charges drop column closed_by, drop column gas_used, drop column gas_price`,
    sql`drop index charges_parts`,
    sql`alter table checkout_payments drop column reference, drop column contract,
      drop column payee`,
  ]
  for (const statement of statements) await statement.execute(db)
}
