import { expect } from 'chai'
import { sql } from 'kysely'

import { readBlockchainTransaction } from '../../src/api/endpoints/api/blockchain/wire.ts'
import type { PayBack } from '../../src/api/endpoints/api/payments/refund.ts'
import { createLogger } from '../../src/base/logger.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { checkoutPass, type CheckoutDeps } from '../../src/rails/checkout.ts'
import { findEveryonesTransaction } from '../../src/store/access/everyone.ts'
import type { Db } from '../../src/store/database/database.ts'
import { findCharge } from '../../src/store/rails/charges.ts'
import { insertRefund } from '../../src/store/rails/refunds.ts'
import { startGateways, type GatewayBench } from '../fixtures/books/gateways.ts'
import {
  createScriptedBlocks,
  hashOf,
  type ScriptedBlocks,
  type ScriptedPayment,
} from '../fixtures/chain/scripted-blocks.ts'
import { createTestClock } from '../fixtures/clock.ts'
import { databaseCodeOf, expectFailure } from '../fixtures/errors.ts'
import { freshDatabase } from '../fixtures/store/database.ts'

const [SETTLEMENT, PAYEE, DOLLAR]: Hex[] = [
  `0x${'5e'.repeat(20)}`,
  `0x${'aa'.repeat(20)}`,
  `0x${'dd'.repeat(20)}`,
]
const TERMS = { chainId: 31337, settlement: SETTLEMENT!, payee: PAYEE!, stablecoin: DOLLAR! }
const TO = `0x${'12'.repeat(20)}`
const { signal } = new AbortController()

describe('our own checkout, where a block that was final is replaced', () => {
  let db: Db
  let chain: ScriptedBlocks
  let checkout: CheckoutDeps
  let bench: GatewayBench
  let log: string[]
  let id: string
  let reference: Hex

  beforeEach(async () => {
    db = (await freshDatabase()).db
    const clock = createTestClock()
    chain = createScriptedBlocks({ payee: TERMS.payee, now: clock.now })
    log = []
    const destination = { write: (line: string) => void log.push(line) }
    const logger = createLogger({ level: 'error', destination })
    checkout = { db, clock, logger, terms: TERMS, ...chain }
    const payBack: PayBack = {
      prepare: async () => async () => ({ hash: hashOf('refund') }),
      kick: () => undefined,
    }
    bench = await startGateways({ db, clock, checkout: TERMS, payBack })
    await read()
    const request = { gateway_id: 2, amount: '10', currency: 'USD', description: 'Two books' }
    const { body } = await bench.api.post('/api/payments', request)
    id = String(body['transaction_id'])
    reference = (await findCharge(db, id))!.reference!
  })

  const read = async () => {
    while (await checkoutPass(checkout, signal)) continue
  }
  const pay = async (dollars: bigint, at: Partial<ScriptedPayment> = {}) => {
    chain.mine([{ reference, amount: dollars * 1_000_000n, token: TERMS.stablecoin, ...at }])
    await read()
  }
  const status = async () => (await bench.api.get(`/api/payments/${id}/status`)).body
  const refund = async () => bench.api.post(`/api/payments/${id}/refund`, { to_address: TO })
  const insert = async (amount: bigint) =>
    databaseCodeOf(insertRefund(db, { refundId: 'REF1', transactionId: id, amount }))
  const breaks = async () => {
    const { rows } = await sql<{ said: string }>`
      select kind || ' ' || state as said from breaks where transaction_id = ${id}`.execute(db)
    return rows.map(({ said }) => said)
  }

  it('counts half a payment once, which another log comes before in its new block', async () => {
    await pay(5n, { logIndex: 7 })
    const half = { status: 'processing', gateway_status: 'UNDERPAID', received_decimal: '5' }
    expect(await status()).to.include(half)
    chain.replace(1)
    await pay(5n, { logIndex: 3 })
    expect(await status()).to.include(half)
    expect(await breaks()).to.deep.equal([])
    await pay(5n, { logIndex: 3 })
    expect(await status(), 'a transaction is in one block').to.include(half)
  })

  it('shows nothing of a part that has not come back', async () => {
    await pay(5n)
    chain.replace(1)
    chain.mine()
    await read()
    expect(await status()).to.include({ status: 'processing', received_decimal: '0' })
    expect(await breaks()).to.deep.equal([])
  })

  it('does not double what a completed payment has received', async () => {
    await pay(10n, { logIndex: 7 })
    chain.replace(1)
    await pay(10n, { logIndex: 3 })
    const whole = { status: 'completed', gateway_status: 'COMPLETED', received_decimal: '10' }
    expect(await status()).to.include(whole)
    expect(await breaks()).to.deep.equal(['reorged closed'])
    expect((await refund()).status).to.equal(201)
  })

  it('opens a break and freezes refunds until a completed payment is back', async () => {
    await pay(10n)
    chain.replace(1)
    chain.mine()
    await read()
    expect(await status()).to.include({ status: 'completed', received_decimal: '0' })
    expect(await breaks()).to.deep.equal(['reorged open'])
    expect(log.join()).to.include(id)
    expect((await refund()).status).to.equal(409)
    await pay(10n)
    expect(await breaks()).to.deep.equal(['reorged closed'])
    expect(await status()).to.include({ status: 'completed', received_decimal: '10' })
    expect((await refund()).status).to.equal(201)
  })

  it('asks for what a stranger no longer has paid, and is completed without it', async () => {
    await pay(1n, { transactionHash: hashOf('dust'), payer: `0x${'99'.repeat(20)}` })
    expect(await status()).to.include({ remaining_decimal: '9' })
    chain.replace(1)
    chain.mine()
    await read()
    expect(await status()).to.include({ remaining_decimal: '10', status: 'processing' })
    await pay(10n)
    expect(await status()).to.include({ status: 'completed', gateway_status: 'COMPLETED' })
    expect(await breaks()).to.deep.equal([])
  })

  it('counts nothing of a block that is replaced between its events and its header', async () => {
    const { settlements } = chain
    let raced = 0
    checkout = {
      ...checkout,
      settlements: async (...range) => {
        const found = await settlements(...range)
        if (found.length > 0 && raced++ === 0) chain.replace(1)
        return found
      },
    }
    chain.mine([{ reference, amount: 10_000_000n, token: TERMS.stablecoin }])
    await expectFailure(read, 'block_replaced')
    await read()
    expect(raced).to.equal(1)
    expect(await status()).to.include({ status: 'pending', received_decimal: null })
    expect(await breaks()).to.deep.equal([])
  })

  it('takes the hash of what completes it anew where that is gone', async () => {
    const hash = async () => (await findEveryonesTransaction(db, id))?.ethTransactionHash
    await pay(4n, { transactionHash: hashOf('one') })
    await pay(6n, { transactionHash: hashOf('two') })
    expect(await hash()).to.equal(hashOf('two'))
    chain.replace(1)
    await pay(6n, { transactionHash: hashOf('three') })
    expect(await hash()).to.equal(hashOf('three'))
    expect(await breaks()).to.deep.equal(['reorged open'])
    chain.replace(3)
    chain.mine()
    await read()
    expect(await hash(), 'nothing else is there').to.equal(hashOf('three'))
    const paid = { transactionId: id, currency: 'ETH', tokenDecimals: null }
    const chainOf = await readBlockchainTransaction(db, paid, [])
    expect(chainOf).to.include({ status: 'pending', block_number: null, confirmations: 0n })
  })

  it('is not moved by another token that comes and goes', async () => {
    await pay(10n, { token: `0x${'77'.repeat(20)}` })
    chain.replace(1)
    chain.mine()
    await read()
    expect(await status()).to.include({ status: 'pending', received_decimal: null })
    expect(await breaks()).to.deep.equal([])
  })

  it('freezes the refunds of what is left as well, in the table itself', async () => {
    await pay(6n)
    await pay(4n, { transactionHash: hashOf('the rest') })
    chain.replace(1)
    chain.mine()
    await read()
    expect(await status()).to.include({ received_decimal: '6' })
    expect(await insert(1n)).to.equal('23001')
    expect((await refund()).status).to.equal(409)
    await sql`update breaks set state = 'closed', closed_as = 'operator', closed_at = now()
      where transaction_id = ${id}`.execute(db)
    expect(await insert(601n), 'more than is left').to.equal('23001')
    expect(await insert(600n)).to.equal(undefined)
  })

  it('concludes nothing from a node that does not know the block', async () => {
    await pay(10n)
    const { readBlock } = chain
    chain.mine()
    checkout = {
      ...checkout,
      readBlock: async (number) => (number === 1n ? undefined : readBlock(number, signal)),
    }
    await read()
    chain.replace(2)
    const back = sql`update checkout_cursors set block_number = 0, block_hash = ${hashOf('gone')}`
    await back.execute(db)
    await expectFailure(read, 'block_unknown')
    expect(await status()).to.include({ status: 'completed', received_decimal: '10' })
    expect(await breaks()).to.deep.equal([])
  })
})
