import { expect } from 'chai'
import { sql } from 'kysely'

import { listRecordedOrders } from '../../src/store/recorded-payments.ts'
import { listStraySettlements, storeSettledLogs } from '../../src/store/settled-logs.ts'
import type { Database, Db } from '../../src/store/database.ts'
import { migrate } from '../../src/store/migrate.ts'
import { emptyDatabase } from '../support/database.ts'
import { rowsRead } from '../support/rows-read.ts'
import { CHAIN_ID } from '../support/verify.ts'

const LOGS = 3_000
const ORDERS = 1_000

describe('the records of a database that has just read many settlements', () => {
  let database: Database

  // The shared one may have statistics of earlier tests, by which it would answer otherwise.
  before(async () => {
    database = await emptyDatabase()
    await migrate(database.db)
    await storeOrders(database.db)
    const logs = Array.from({ length: LOGS }, (_, at) => ({
      block: { number: BigInt(at), hash: word(64, at) },
      logIndex: 0,
      hash: word(64, at),
      reference: word(64, at),
      payer: word(40, 2),
      payee: word(40, 3),
      token: undefined,
      amount: 5n,
      own: at < ORDERS ? { orderId: BigInt(at + 1), fee: 1n } : undefined,
    }))
    const contract = { chainId: CHAIN_ID, contract: word(40, 1) }
    const to = { number: BigInt(LOGS), hash: word(64, 1) }
    await storeSettledLogs(database.db, contract, { to, logs })
  })

  after(() => database.close())

  it('finds the settlement of an order by the order, in a table not yet analysed', async () => {
    const wanted = { chainId: CHAIN_ID, since: undefined, until: undefined, after: 0n, limit: 5000 }
    const read = await rowsRead(database.db, 'settled_logs', async (open) => {
      const records = await listRecordedOrders(open, wanted)
      expect(records.filter(({ isSettled }) => isSettled)).to.have.length(ORDERS)
    })
    expect(read).to.equal(ORDERS)
  })

  it('finds the order behind a reference that somebody else used by the reference', async () => {
    const after = { contract: '', block: 0n, logIndex: 0 }
    const read = await rowsRead(database.db, 'orders', (open) =>
      listStraySettlements(open, { chainId: CHAIN_ID, after, to: undefined }),
    )
    expect(read).to.be.at.most(LOGS)
  })
})

/** Those that the first of the logs have paid. */
async function storeOrders(db: Db): Promise<void> {
  await db.transaction().execute(async (open) => {
    // What else stands behind an order is nothing to this.
    await sql`set local session_replication_role = replica`.execute(open)
    await sql`
      insert into orders (subject, spender, chain_id, signer, reference, counter, route, contract,
        payee, amount, gas, state, accepted_at, updated_at)
      select 'TX' || lpad(number::text, 20, '0'), 'user:1', ${CHAIN_ID}, ${word(40, 2)},
        '0x' || lpad(to_hex(number), 64, '0'), number, 'contract', ${word(40, 1)}, ${word(40, 3)},
        5, 21000, 'completed', now(), now()
      from generate_series(0, ${ORDERS}::integer - 1) as number`.execute(open)
    await sql`
      insert into attempts (chain_id, signer, nonce, order_id, kind, hash, raw, gas,
        max_fee_per_gas, max_priority_fee_per_gas, state, block_number, block_hash, succeeded,
        gas_used, gas_price, signed_at)
      select chain_id, signer, counter, id, 'payment', reference, '0x02', 21000, 1, 1, 'final',
        counter, reference, true, 1, 1, now()
      from orders`.execute(open)
  })
}

function word(digits: number, number: number): `0x${string}` {
  return `0x${number.toString(16).padStart(digits, '0')}`
}
