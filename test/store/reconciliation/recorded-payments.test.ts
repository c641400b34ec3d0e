import { expect } from 'chai'

import type { Database } from '../../../src/store/database/database.ts'
import { listSweptOrders } from '../../../src/store/reconciliation/recorded-payments.ts'
import {
  listStraySettlements,
  readSweepCursor,
  storeSettledLogs,
} from '../../../src/store/reconciliation/settled-logs.ts'
import { CHAIN_ID } from '../../fixtures/books/verify.ts'
import { ownDatabase } from '../../fixtures/store/database.ts'
import { storePaidOrders } from '../../fixtures/store/paid-orders.ts'
import { rowsRead } from '../../fixtures/store/rows-read.ts'

const LOGS = 3_000
const ORDERS = 1_000
const PARTIES = {
  chainId: CHAIN_ID,
  contract: word(40, 1),
  signer: word(40, 2),
  payee: word(40, 3),
}

describe('the records of a database that has just read many settlements', () => {
  let database: Database

  // The shared one may have statistics of earlier tests, by which it would answer otherwise.
  before(async () => {
    database = await ownDatabase()
    await storePaidOrders(database.db, { ...PARTIES, count: ORDERS })
    const logs = Array.from({ length: LOGS }, (_, before) => logOf(before + 1))
    const { chainId, contract } = PARTIES
    const to = { number: BigInt(LOGS), hash: word(64, 1) }
    await storeSettledLogs(database.db, { chainId, contract }, { logs, from: 1n, to })
  })

  after(() => database.close())

  it('finds the settlement of an order by the order, in a table not yet analysed', async () => {
    const wanted = { chainId: CHAIN_ID, since: undefined, until: undefined, after: 0n, limit: 5000 }
    const read = await rowsRead(database.db, 'settled_logs', async (open) => {
      const records = await listSweptOrders(open, wanted)
      expect(records.filter(({ settled }) => settled !== undefined)).to.have.length(ORDERS)
    })
    expect(read).to.equal(ORDERS)
  })

  it('stores what follows the cursor, and nothing where another has stored it', async () => {
    const { chainId } = PARTIES
    const key = { chainId, contract: word(40, 9) }
    const partOf = (number: number) => {
      const to = { number: BigInt(number), hash: word(64, number) }
      return { logs: [logOf(number)], from: BigInt(number), to }
    }
    const store = (number: number) =>
      database.db.transaction().execute((open) => storeSettledLogs(open, key, partOf(number)))
    expect([await store(7), await store(8), await store(8), await store(7)]).to.deep.equal([
      true,
      true,
      false,
      false,
    ])
    expect(await Promise.all([store(9), store(9)])).to.have.members([true, false])
    expect((await readSweepCursor(database.db, key))?.number).to.equal(9n)
  })

  it('finds the order behind a reference that somebody else used by the reference', async () => {
    const after = { contract: '', block: 0n, logIndex: 0 }
    const read = await rowsRead(database.db, 'orders', (open) =>
      listStraySettlements(open, { chainId: CHAIN_ID, after, to: undefined }),
    )
    expect(read).to.be.at.most(LOGS)
  })
})

/** The first of them have paid the orders of the same number. */
function logOf(number: number) {
  const hash = word(64, number)
  return {
    block: { number: BigInt(number), hash },
    logIndex: 0,
    hash,
    reference: hash,
    payer: PARTIES.signer,
    payee: PARTIES.payee,
    token: undefined,
    amount: 5n,
    own: number <= ORDERS ? { orderId: BigInt(number), fee: 21_000n } : undefined,
  }
}

function word(digits: number, number: number): `0x${string}` {
  return `0x${number.toString(16).padStart(digits, '0')}`
}
