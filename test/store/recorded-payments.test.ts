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
    const logs = Array.from({ length: LOGS }, (_, at) => ({
      block: { number: BigInt(at), hash: word(64, at) },
      logIndex: 0,
      hash: word(64, at),
      reference: word(64, at),
      payer: word(40, 2),
      payee: word(40, 3),
      token: undefined,
      amount: 5n,
      fee: 1n,
    }))
    const contract = { chainId: CHAIN_ID, contract: word(40, 1) }
    const to = { number: BigInt(LOGS), hash: word(64, 1) }
    await storeSettledLogs(database.db, contract, { to, logs })
  })

  after(() => database.close())

  /** How the database would answer what the work asks. */
  const planOf = async (work: (db: Db) => Promise<unknown>): Promise<string> => {
    let plan = ''
    await work(
      database.db.withPlugin({
        transformQuery: ({ node }) =>
          node.kind === 'RawNode'
            ? {
                ...node,
                sqlFragments: node.sqlFragments.with(0, `explain ${node.sqlFragments[0]}`),
              }
            : node,
        async transformResult({ result }) {
          plan += JSON.stringify(result.rows)
          return { rows: [] }
        },
      }),
    )
    return plan
  }

  it('finds the settlement of an order by its reference, in a table not yet analysed', async () => {
    const wanted = { chainId: CHAIN_ID, since: undefined, until: undefined, after: 0n, limit: 5000 }
    const plan = await planOf((db) => listRecordedOrders(db, wanted))
    expect(plan).to.include('settled_logs_reference')
    expect(plan).to.not.include('settled_logs_payer')
  })

  it('finds the order behind a reference that somebody else used by the reference', async () => {
    const { db } = database
    await storeOrders(db)
    const after = { contract: '', block: 0n, logIndex: 0 }
    const read = await rowsRead(db, 'orders', (open) =>
      listStraySettlements(open, { chainId: CHAIN_ID, after, to: undefined }),
    )
    expect(read).to.be.at.most(LOGS)
  })
})

/** Others than those behind the logs. */
async function storeOrders(db: Db): Promise<void> {
  const first = LOGS + 1
  await db.transaction().execute(async (open) => {
    // What stands behind an order is nothing to this.
    await sql`set local session_replication_role = replica`.execute(open)
    await sql`
      insert into orders (subject, spender, chain_id, signer, reference, counter, route, payee,
        amount, gas, state, accepted_at, updated_at)
      select 'TX' || lpad(number::text, 20, '0'), 'user:1', ${CHAIN_ID}, ${word(40, 2)},
        '0x' || lpad(to_hex(number), 64, '0'), number, 'direct', ${word(40, 3)}, 5, 21000,
        'completed', now(), now()
      from generate_series(${first}::integer, ${first + ORDERS}) as number`.execute(open)
  })
}

function word(digits: number, number: number): `0x${string}` {
  return `0x${number.toString(16).padStart(digits, '0')}`
}
