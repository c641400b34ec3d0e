import { expect } from 'chai'
import { sql } from 'kysely'

import type { Hex } from '../../src/domain/orders.ts'
import { moveByWire } from '../../src/ledger/wires.ts'
import type { Db } from '../../src/store/database/database.ts'
import { countFindings } from '../../src/store/ledger/supply.ts'
import type { WireProgress } from '../../src/store/rails/wires.ts'
import { addressFrom, CHAIN_ID } from '../engines/sim/world.ts'
import { crashEverywhere, crashing, type CrashingDb } from '../fixtures/books/crash.ts'
import { DOLLAR, readLedger, startMoneyApi, type MoneyApi } from '../fixtures/books/money.ts'
import { createSupplyBench, type SupplyBench } from '../fixtures/books/supply-bench.ts'
import { createRandom } from '../fixtures/random.ts'

type Made = { id: string; redemption?: { reference: Hex } }

/**
 * A crash at every statement, one after the other, of everything that moves money. After each the
 * books are whole, and what is tried again happens once.
 */
describe('the ledger, killed at every statement', () => {
  let crashes: CrashingDb
  let chain: SupplyBench
  let money: MoneyApi

  beforeEach(async () => {
    const through = (db: Db) => (crashes = crashing(db)).db
    chain = await createSupplyBench({ through, policy: PATIENT })
    const { ledger, minting } = chain
    money = await startMoneyApi({ ledger, minting: minting as never, through: () => crashes.db })
  })
  afterEach(() => money.api.close())
  after(() => chain.bench.stop())

  const expectWhole = async (): Promise<void> => {
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  }

  const rowsOf = async (table: string) => {
    const { rows } = await sql<{ count: bigint }>`
      select count(*) from ${sql.table(table)}`.execute(money.db)
    return Number(rows[0]?.count)
  }

  let keys = 0

  /** As a client does that gets no answer: the same request again, with the same key. */
  const insist = async (url: string, request: Record<string, unknown>): Promise<Made> => {
    const body = { ...request, idempotencyKey: `key-${(keys += 1)}` }
    const before = await rowsOf('postings')
    let text = ''
    await crashEverywhere(
      crashes,
      async () => {
        const answer = await money.post(url, body)
        if (answer.status !== 201) throw new Error(answer.text)
        ;({ text } = answer)
      },
      async () => {
        expect(await rowsOf('postings')).to.equal(before)
        await expectWhole()
      },
    )
    // And once more, though it was answered.
    expect((await money.post(url, body)).text).to.equal(text)
    return (JSON.parse(text) as { data: Made }).data
  }

  const moveWire = (purpose: 'payment' | 'redeem', subject: string, state: WireProgress['state']) =>
    crashEverywhere(
      crashes,
      () =>
        crashes.db.transaction().execute((open) => {
          const move = { purpose, subject, state, reference: 'FED', code: undefined }
          return moveByWire(chain.ledger, open, move)
        }),
      expectWhole,
    )

  const pass = (work: () => Promise<unknown>) => crashEverywhere(crashes, work, expectWhole)

  /** Every pass of the sender and of the watch is killed everywhere before it gets through. */
  const settle = async () => {
    const { bench, sender, watch } = chain
    for (let round = 0; round < 20 && !(await bench.isEmpty()); round++) {
      await pass(() => bench.pass(sender))
      await bench.world.mine(1)
    }
    await bench.world.mine(3)
    await pass(async () => {
      while (await watch.pass(bench.signal)) continue
    })
  }

  it('moves money between wallets, and pays banks, once', async () => {
    const random = createRandom('crashes')
    let [main, second] = [100n * DOLLAR, 0n]
    for (let step = 0; step < 20; step++) {
      const amount = BigInt(1 + random.below(900)) * 10_000n
      const text = `${amount / DOLLAR}.${String(amount % DOLLAR)
        .padStart(6, '0')
        .slice(0, 2)}`
      if (random.chance(0.5)) {
        await insist('/v1/transfers', {
          source: { type: 'wallet', id: String(money.main) },
          destination: { type: 'wallet', id: String(money.second) },
          amount: text,
          currency: 'USD',
        })
        second += amount
        main -= amount
        continue
      }
      const destination = {
        type: 'wire',
        name: `Payee ${step}`,
        addressLine1: 'x'.repeat(step + 1),
      }
      const { id } = await insist('/v1/payments', { amount: text, destination })
      const isPaid = random.chance(0.5)
      await moveWire('payment', id, 'accepted')
      await moveWire('payment', id, isPaid ? 'paid' : 'returned')
      const { body } = await money.get(`/v1/payments/${id}`)
      expect(body['data']).to.include({ status: isPaid ? 'paid' : 'failed' })
      if (isPaid) main -= amount
    }
    const [left, right] = [await money.balanceOf(money.main), await money.balanceOf(money.second)]
    expect([left, right].map(centsOf)).to.deep.equal([main / 10_000n, second / 10_000n])
    await expectWhole()
    expect(crashes.count()).to.be.greaterThan(200)
  })

  it('mints and redeems once, whatever is killed on the way', async () => {
    const holder = addressFrom(`crashes of ${chain.minter}`)
    const destination = { type: 'blockchain', address: holder, chain: 'ETH' }
    const mint = await insist('/v1/businessAccount/transfers', { amount: '40', destination })
    await settle()
    const shown = await money.get(`/v1/businessAccount/transfers/${mint.id}`)
    expect(shown.body['data']).to.include({ status: 'complete' })
    const redeems: string[] = []
    for (const [index, amount] of ['5', '7.5'].entries()) {
      const source = { type: 'blockchain', chain: 'ETH' }
      const destination = { type: 'wire', name: `Payee ${index}` }
      const { id, redemption } = await insist('/v1/transfers', { source, destination, amount })
      const units = BigInt(Number(amount) * 10) * (DOLLAR / 10n)
      await chain.burn({ holder, amount: units, memo: redemption?.reference ?? '0x' })
      redeems.push(id)
    }
    await settle()
    expect(await rowsOf('wires')).to.equal(2)
    for (const id of redeems) {
      await moveWire('redeem', id, 'paid')
      const { body } = await money.get(`/v1/transfers/${id}`)
      expect(body['data']).to.include({ status: 'complete' })
    }
    const supply = 27_500_000n
    expect(await chain.solvency()).to.include({ supply, liability: supply, drift: 0n })
    expect(await money.balanceOf(money.main)).to.equal('60.00')
    expect([...(await countFindings(money.db, CHAIN_ID))]).to.deep.equal([])
    await expectWhole()
    expect(crashes.count()).to.be.greaterThan(90)
  })

  it('gives the money of a mint that failed back once', async () => {
    const destination = { type: 'blockchain', address: addressFrom('fails'), chain: 'ETH' }
    const mint = await insist('/v1/businessAccount/transfers', { amount: '40', destination })
    await chain.bench.world.rpc('anvil_setCode', [chain.dollar, '0x5f5ffd'])
    const { bench, sender } = chain
    for (let round = 0; round < 20 && !(await bench.isEmpty()); round++) {
      await pass(() => bench.pass(sender))
      await bench.world.mine(1)
    }
    const shown = await money.get(`/v1/businessAccount/transfers/${mint.id}`)
    expect(shown.body['data']).to.include({ status: 'failed', errorCode: 'reverted' })
    expect(await money.balanceOf(money.main)).to.equal('100.00')
    await expectWhole()
  })
})

/** A lane whose worker died is free at the next pass, and nothing is sent at a higher price. */
const PATIENT = { leaseMs: 1_000, bumpAfterMs: 10 ** 9 }

function centsOf(text: string): bigint {
  return BigInt(text.replace('.', ''))
}
