import { expect } from 'chai'

import { codeOf } from '../../src/base/errors.ts'
import { settlementAddress } from '../../src/bindings/addresses.ts'
import { selectorOf } from '../../src/chain/read/events.ts'
import type { BatchRefusedError } from '../../src/domain/batches.ts'
import type { BundleRoute, Hex, HashedOrder, Order } from '../../src/domain/orders.ts'
import type { BatchRequest } from '../../src/sender/prepare-batch.ts'
import type { Sender } from '../../src/sender/sender.ts'
import { transact } from '../../src/store/database/transact.ts'
import { listAttemptsOf } from '../../src/store/orders/attempts.ts'
import { findOrderOf, findOrdersIn } from '../../src/store/orders/orders.ts'
import { addressFrom, adminOf, CHAIN_ID, placeDollar } from '../engines/sim/world.ts'
import { runOnce, runsDeps } from '../fixtures/books/runs.ts'
import { createBench, reverting, type Bench } from '../fixtures/books/sender-bench.ts'
import { TEST_POLICY } from '../fixtures/books/sender.ts'
import { limit } from '../fixtures/store/limits.ts'
import { failureOf } from '../fixtures/errors.ts'

describe('a batch', () => {
  let bench: Bench
  let dollar: Hex
  let sender: Sender
  let batches = 0

  beforeEach(async () => {
    bench = await createBench()
    dollar = await placeDollar(bench.world, { minter: platform(), allowance: 10n ** 9n })
    sender = bench.sender({ stablecoin: dollar })
  })
  after(() => bench.stop())

  const platform = () => bench.signers.addresses[0]!
  const payer = () => bench.signers.addresses[1]!

  const finish = async (by = sender) => {
    for (let round = 0; round < 40 && !(await bench.isEmpty()); round++) {
      await bench.pass(by)
      await bench.world.mine(1)
    }
    expect(await bench.isEmpty()).to.equal(true)
  }

  const requestOf = (route: BundleRoute, payees: readonly Hex[], amount = 10n): BatchRequest => {
    const subject = `BAT${batches++}`
    const payments = payees.map((payee, place) => {
      return { subject: `${subject} ${place}`, payee, amount }
    })
    return { subject, spender: 'user:1', way: 'chain', payer: payer(), route, payments }
  }

  const pay = async (request: BatchRequest, by = sender): Promise<HashedOrder> => {
    const prepared = await by.prepareBatch(bench.db, request, bench.signal)
    return transact(bench.db, (db) => by.accept(db, prepared))
  }

  const ordersOf = ({ payments }: BatchRequest): Promise<Order[]> =>
    Promise.all(payments.map(async ({ subject }) => (await findOrderOf(bench.db, subject))!))

  const statesOf = async (request: BatchRequest) =>
    (await ordersOf(request)).map(({ state, errorCode }) => errorCode ?? state)

  const addresses = (name: string, count: number): Hex[] =>
    Array.from({ length: count }, (_, place) => addressFrom(`${name} ${place} ${batches}`))

  it('pays all in one transaction, each under a reference of its own', async () => {
    const request = requestOf('bundle', addresses('all', 5))
    const { order, hash } = await pay(request)
    const orders = await ordersOf(request)
    expect(orders.map(({ bundle }) => bundle)).to.deep.equal(Array(5).fill(order.id))
    expect(new Set(orders.map(({ reference }) => reference)).size).to.equal(5)
    await finish()
    expect(await statesOf(request)).to.deep.equal(Array(5).fill('completed'))
    for (const { payee } of orders) expect(await bench.world.balanceOf(payee)).to.equal(10n)
    const [attempt] = await listAttemptsOf(bench.db, orders[4]!)
    expect(attempt).to.include({ hash, state: 'final' })
    const run = await runOnce(runsDeps({ db: bench.db, urls: [bench.url] }))
    expect(run.totals).to.include({ records: 5, matched: 5, breaks: 0 })
  })

  it('fails one payment alone that its payee refuses, and gets its money back', async () => {
    const payees = addresses('open', 4)
    await reverting(bench.world, payees[1]!)
    const request = requestOf('open_bundle', payees)
    const before = await bench.world.balanceOf(payer())
    await pay(request)
    await finish()
    expect(await statesOf(request)).to.deep.equal([
      'completed',
      'payee_refused',
      'completed',
      'completed',
    ])
    const [order] = await ordersOf(request)
    const [{ block } = { block: undefined }] = await listAttemptsOf(bench.db, order!)
    const spent = before - (await bench.world.balanceOf(payer()))
    expect(spent).to.equal(30n + block!.gasUsed * block!.gasPrice)
    const run = await runOnce(runsDeps({ db: bench.db, urls: [bench.url] }))
    expect(run.totals).to.include({ records: 4, matched: 4, breaks: 0 })
  })

  it('refuses all where one would be refused, and says which payee', async () => {
    const payees = addresses('refused', 3)
    await reverting(bench.world, payees[2]!)
    const error = await failureOf(() => pay(requestOf('bundle', payees)))
    expect(codeOf(error)).to.equal('simulation_failed')
    expect(String(error).toLowerCase()).to.contain(payees[2]!)
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('pays none where one is refused only after it was accepted', async () => {
    const request = requestOf('bundle', addresses('late', 3))
    await pay(request)
    await reverting(bench.world, request.payments[0]!.payee)
    await finish()
    expect(await statesOf(request)).to.deep.equal(Array(3).fill('reverted'))
    const run = await runOnce(runsDeps({ db: bench.db, urls: [bench.url] }))
    expect(run.totals).to.include({ records: 3, breaks: 0 })
  })

  it('tells of every payment that cannot be made, by its place', async () => {
    const [payee] = addresses('wrong', 1)
    const zero: Hex = `0x${'0'.repeat(40)}`
    const error = await failureOf(() => pay(requestOf('bundle', [payee!, zero, payer(), '0x12'])))
    expect(
      (error as BatchRefusedError).problems.map(({ place, code }) => [place, code]),
    ).to.deep.equal([
      [1, 'payee_is_zero'],
      [2, 'payee_is_payer'],
      [3, 'payee_invalid'],
    ])
  })

  it('is split over several transactions where one cannot take the gas', async () => {
    const by = bench.sender({ policy: { ...TEST_POLICY, maxBundleGas: 1_000_000n } })
    const request = requestOf('open_bundle', addresses('split', 40))
    await pay(request, by)
    const bundles = new Set((await ordersOf(request)).map(({ bundle }) => bundle))
    expect(bundles.size).to.be.greaterThan(1)
    await finish(by)
    expect(await statesOf(request)).to.deep.equal(Array(40).fill('completed'))
    const whole = requestOf('bundle', addresses('split', 40))
    expect(codeOf(await failureOf(() => pay(whole, by)))).to.equal('batch_too_large')
  })

  it('is accepted as a whole or not at all, by the limits of a day', async () => {
    await limit(bench.db, { perDay: 35n })
    const request = requestOf('bundle', addresses('limit', 4))
    expect(codeOf(await failureOf(() => pay(request)))).to.equal('limit_per_day')
    expect(await ordersOf(request)).to.deep.equal([undefined, undefined, undefined, undefined])
    await pay(requestOf('bundle', addresses('limit', 3)))
    const [last] = addresses('limit', 1)
    expect(codeOf(await failureOf(() => pay(requestOf('bundle', [last!]))))).to.equal(
      'limit_per_day',
    )
  })

  it('is cancelled as a whole', async () => {
    const request = requestOf('open_bundle', addresses('cancel', 3))
    const { order } = await pay(request)
    expect(await sender.cancel(order.id)).to.equal(true)
    await finish()
    expect(await statesOf(request)).to.deep.equal(Array(3).fill('cancelled'))
  })

  it('fails as a whole when its nonce is taken and it would not be paid any more', async () => {
    const request = requestOf('bundle', addresses('taken', 3))
    await pay(request)
    await reverting(bench.world, request.payments[1]!.payee)
    const nonce = await bench.world.nonceOf(payer())
    const price = 300n * 10n ** 9n
    const raw = await bench.signers.sign(payer(), {
      chainId: CHAIN_ID,
      nonce,
      to: addressFrom('outside'),
      value: 1n,
      data: '0x',
      gas: 21_000n,
      fees: { maxFeePerGas: price, maxPriorityFeePerGas: price },
    })
    await bench.world.rpc('eth_sendRawTransaction', [raw])
    await bench.world.mine(1)
    await finish()
    expect(await statesOf(request)).to.deep.equal(Array(3).fill('simulation_failed'))
  })

  it('cancels none of its payments alone', async () => {
    const request = requestOf('bundle', addresses('alone', 2))
    await pay(request)
    const [order] = await ordersOf(request)
    expect(await sender.cancel(order!.id)).to.equal(false)
    await finish()
    expect(await statesOf(request)).to.deep.equal(['completed', 'completed'])
  })

  it('goes back with its block when a reorg takes it, and is paid once', async () => {
    const request = requestOf('bundle', addresses('reorg', 3))
    await pay(request)
    await bench.pass(sender)
    await bench.world.mine(1)
    await bench.pass(sender)
    expect(await statesOf(request)).to.deep.equal(Array(3).fill('mined'))
    await bench.world.rpc('anvil_reorg', [1, []])
    await bench.pass(sender)
    expect(await statesOf(request)).to.deep.equal(Array(3).fill('accepted'))
    await finish()
    expect(await statesOf(request)).to.deep.equal(Array(3).fill('completed'))
    for (const { payee } of request.payments) {
      expect(await bench.world.balanceOf(payee)).to.equal(10n)
    }
  })

  it('finds its payments missing when the transaction logged nothing', async () => {
    const request = requestOf('open_bundle', addresses('silent', 2))
    const { order } = await pay(request)
    const settlement = settlementAddress.toLowerCase()
    const code = await bench.world.rpc('eth_getCode', [settlement, 'latest'])
    await bench.world.rpc('anvil_setCode', [settlement, '0x00'])
    await finish()
    await bench.world.rpc('anvil_setCode', [settlement, code])
    expect(await statesOf(request)).to.deep.equal(Array(2).fill('settlement_mismatch'))
    expect(await findOrdersIn(bench.db, [order.id])).to.have.length(2)
  })

  describe('in dollars', () => {
    const balanceOf = async (address: Hex): Promise<bigint> => {
      const data = selectorOf('balanceOf(address)') + address.slice(2).padStart(64, '0')
      return BigInt(String(await bench.world.rpc('eth_call', [{ to: dollar, data }, 'latest'])))
    }

    beforeEach(async () => {
      const mint = { route: 'mint', payer: platform(), payee: payer(), amount: 1_000n } as const
      await sender.pay(bench.requestOf(mint), bench.signal)
      await finish()
    })

    it('pays all behind an allowance of their sum, of which nothing is left', async () => {
      const request = requestOf('token_bundle', addresses('dollars', 6))
      await pay(request)
      await finish()
      expect(await statesOf(request)).to.deep.equal(Array(6).fill('completed'))
      for (const { payee } of request.payments) expect(await balanceOf(payee)).to.equal(10n)
      const run = await runOnce(runsDeps({ db: bench.db, urls: [bench.url] }))
      expect(run.totals).to.include({ records: 7, matched: 7, breaks: 0 })
    })

    it('fails one payee alone whom the token has frozen, and takes nothing more', async () => {
      const payees = addresses('frozen', 4)
      await (
        await adminOf(bench.world, dollar)
      )('freeze(address)', payees[2]!)
      const request = requestOf('open_token_bundle', payees)
      await pay(request)
      await finish()
      expect(await statesOf(request)).to.deep.equal([
        'completed',
        'completed',
        'payee_refused',
        'completed',
      ])
      expect(await balanceOf(payer())).to.equal(970n)
      expect(await allowance(), 'of what failed').to.equal(0n)
      const run = await runOnce(runsDeps({ db: bench.db, urls: [bench.url] }))
      expect(run.totals).to.include({ records: 5, matched: 5, breaks: 0 })
    })

    it('names the payee whom the token has frozen, where all are paid or none', async () => {
      const payees = addresses('named', 3)
      await (
        await adminOf(bench.world, dollar)
      )('freeze(address)', payees[1]!)
      const error = await failureOf(() => pay(requestOf('token_bundle', payees)))
      expect((error as BatchRefusedError).problems.map(({ place }) => place)).to.deep.equal([1])
      expect(String(error)).to.contain('the token has frozen')
    })

    it('is refused for now while the token is paused', async () => {
      await (
        await adminOf(bench.world, dollar)
      )('pause()')
      for (const route of ['token_bundle', 'open_token_bundle'] as const) {
        const error = await failureOf(() => pay(requestOf(route, addresses('paused', 2))))
        expect(codeOf(error)).to.equal('token_paused')
      }
    })

    const allowance = async (): Promise<bigint> => {
      const words = [payer(), settlementAddress].map((word) => word.slice(2).padStart(64, '0'))
      const data = selectorOf('allowance(address,address)') + words.join('')
      return BigInt(String(await bench.world.rpc('eth_call', [{ to: dollar, data }, 'latest'])))
    }

    it('is refused where the funds do not reach for all', async () => {
      const request = requestOf('token_bundle', addresses('poor', 3), 334n)
      expect(codeOf(await failureOf(() => pay(request)))).to.equal('insufficient_funds')
    })

    for (const route of ['token_bundle', 'open_token_bundle'] as const) {
      for (const count of [1, 3, 30]) {
        it(`has enough gas for ${count} new and old holders (${route})`, async () => {
          const payees = addresses('gas', count)
          for (const round of [1, 2]) {
            const request = requestOf(route, payees, BigInt(round))
            await pay(request)
            await finish()
            expect(await statesOf(request)).to.deep.equal(Array(count).fill('completed'))
          }
        })
      }
    }
  })
})
