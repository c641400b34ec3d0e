import { expect } from 'chai'

import { listRecordedOrders } from '../../src/store/recorded-payments.ts'
import { listStraySettlements, storeSettledLogs } from '../../src/store/settled-logs.ts'
import type { Database, Db } from '../../src/store/database.ts'
import { migrate } from '../../src/store/migrate.ts'
import { emptyDatabase } from '../support/database.ts'
import { CHAIN_ID } from '../support/verify.ts'

const LOGS = 3_000

describe('the records of a database that has just read many settlements', () => {
  let database: Database

  // One of its own: the answers differ by what earlier tests left in the shared one's tables and
  // statistics.
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

  it('finds the order behind a reference that somebody else used by an index', async () => {
    const after = { contract: '', block: 0n, logIndex: 0 }
    const plan = await planOf((db) =>
      listStraySettlements(db, { chainId: CHAIN_ID, after, to: undefined }),
    )
    expect(plan).to.include('orders_reference')
  })
})

function word(digits: number, number: number): `0x${string}` {
  return `0x${number.toString(16).padStart(digits, '0')}`
}
