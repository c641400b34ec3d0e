import { expect } from 'chai'
import { sql } from 'kysely'

import type { RpcCall } from '../../src/chain/rpc/provider.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { moveByWire } from '../../src/ledger/wires.ts'
import { countFindings } from '../../src/store/ledger/supply.ts'
import { findOrderOf } from '../../src/store/orders/orders.ts'
import { addressFrom, CHAIN_ID } from '../engines/sim/world.ts'
import { DOLLAR, readLedger, startMoneyApi, type MoneyApi } from '../fixtures/books/money.ts'
import { createSupplyBench, type SupplyBench } from '../fixtures/books/supply-bench.ts'
import { expectFailure } from '../fixtures/errors.ts'
import { togetherOf } from '../fixtures/together.ts'

/** What a node says instead of the truth; undefined where it is honest. */
type Lie = ((call: RpcCall, truth: unknown) => unknown) | undefined

describe('the watch over the supply, in doubt', () => {
  let chain: SupplyBench
  let money: MoneyApi
  let holder: Hex
  /** The other provider's alone. */
  let lie: Lie
  /** Of both. */
  let lieOfAll: Lie

  beforeEach(async () => {
    lie = undefined
    lieOfAll = undefined
    chain = await createSupplyBench({
      asks: (bench) =>
        togetherOf([
          bench.provider('honest', async (call, forward) => {
            const truth = await forward(call)
            return lieOfAll === undefined ? truth : lieOfAll(call, truth)
          }),
          bench.provider('other', async (call, forward) => {
            const truth = await forward(call)
            const told = lie ?? lieOfAll
            return told === undefined ? truth : told(call, truth)
          }),
        ]),
    })
    const { ledger, minting } = chain
    money = await startMoneyApi({ ledger, minting: minting as never })
    holder = addressFrom(`holder of ${chain.minter}`)
  })
  afterEach(() => money.api.close())
  after(() => chain.bench.stop())

  const mint = async (): Promise<string> => {
    const destination = { type: 'blockchain', address: holder, chain: 'ETH' }
    const url = '/v1/businessAccount/transfers'
    const { body } = await money.post(url, { amount: '40', destination })
    return (body['data'] as { id: string }).id
  }
  const redeem = async () => {
    const source = { type: 'blockchain', chain: 'ETH' }
    const request = { amount: '15', source, destination: { type: 'wire' } }
    const { body } = await money.post('/v1/transfers', request)
    return body['data'] as { id: string; redemption: { reference: Hex } }
  }
  const burn = (memo: Hex) => chain.burn({ holder, amount: 15n * DOLLAR, memo })
  const statusOf = async (id: string) => {
    const { rows } = await sql<{ status: string }>`
      select status from transfers where id = ${id}`.execute(money.db)
    return rows[0]?.status
  }
  const countWires = async () => (await sql`select 1 from wires`.execute(money.db)).rows.length
  const openBreaks = async () => {
    const { rows } = await sql<{ kind: string }>`
      select kind from breaks where state = 'open' order by kind`.execute(money.db)
    return rows.map(({ kind }) => kind)
  }
  const findings = async () => Object.fromEntries(await countFindings(money.db, CHAIN_ID))
  const pass = () => chain.watch.pass(chain.bench.signal)

  it('pays no burn that one of two providers denies, and says so until they agree', async () => {
    await mint()
    await chain.settle()
    const { id, redemption } = await redeem()
    await burn(redemption.reference)
    await chain.bench.world.mine(3)
    lie = ({ method }, truth) => (method === 'eth_getLogs' ? [] : truth)
    await expectFailure(pass, 'providers_differ')
    expect(await openBreaks()).to.deep.equal(['provider_disagreement'])
    expect([await statusOf(id), await countWires()]).to.deep.equal(['pending', 0])
    lie = undefined
    while (await pass()) continue
    expect(await openBreaks()).to.deep.equal([])
    expect([await statusOf(id), await countWires()]).to.deep.equal(['running', 1])
  })

  it('pays no burn that one of two providers made up', async () => {
    await mint()
    await chain.settle()
    const { id, redemption } = await redeem()
    await burn(`0x${'77'.repeat(32)}`)
    await chain.bench.world.mine(3)
    const ofRedeem = (log: { topics: string[] }) => ({
      ...log,
      topics: log.topics.with(3, redemption.reference),
    })
    lie = ({ method }, truth) =>
      method === 'eth_getLogs' ? (truth as { topics: string[] }[]).map(ofRedeem) : truth
    await expectFailure(pass, 'providers_differ')
    expect(await openBreaks()).to.deep.equal(['provider_disagreement'])
    expect([await statusOf(id), await countWires()]).to.deep.equal(['pending', 0])
  })

  it('completes no mint while one of two providers denies it, and gives nothing back', async () => {
    const id = await mint()
    await chain.bench.pass(chain.sender)
    await chain.bench.world.mine(4)
    lie = ({ method }, truth) => (method === 'eth_getLogs' ? [] : truth)
    await expectFailure(pass, 'providers_differ')
    expect(await statusOf(id)).to.equal('pending')
    expect(await money.balanceOf(money.main)).to.equal('60.00')
    expect(await openBreaks()).to.deep.equal(['provider_disagreement'])
    lie = undefined
    while (await pass()) continue
    expect(await statusOf(id)).to.equal('complete')
    expect(await openBreaks()).to.deep.equal([])
  })

  it('pays no burn of a block that another one has replaced since its logs were read', async () => {
    await mint()
    await chain.settle()
    const { id, redemption } = await redeem()
    await burn(redemption.reference)
    await chain.bench.world.mine(3)
    const replaced = { blockHash: `0x${'44'.repeat(32)}` }
    lieOfAll = ({ method }, truth) =>
      method === 'eth_getLogs' ? (truth as object[]).map((log) => ({ ...log, ...replaced })) : truth
    await expectFailure(pass, 'block_replaced')
    expect([await statusOf(id), await countWires()]).to.deep.equal(['pending', 0])
    lieOfAll = undefined
    while (await pass()) continue
    expect([await statusOf(id), await countWires()]).to.deep.equal(['running', 1])
  })

  it('pays no burn of more than the ledger owes', async () => {
    await chain.mintAside(holder, 15n * DOLLAR, `0x${'55'.repeat(32)}`)
    await chain.settle()
    const { id, redemption } = await redeem()
    await burn(redemption.reference)
    await chain.settle()
    expect(await findings()).to.deep.equal({ unknown_mint: 1, unbacked: 1 })
    expect([await statusOf(id), await countWires()]).to.deep.equal(['pending', 0])
  })

  for (const [what, to, amount] of [
    ['another amount', undefined, 39n],
    ['somebody else', addressFrom('somebody else'), 40n],
  ] as const) {
    it(`completes no mint by one with its memo for ${what}`, async () => {
      const id = await mint()
      const { reference } = (await findOrderOf(money.db, id))!
      await chain.mintAside(to ?? holder, amount * DOLLAR, reference)
      await chain.bench.world.mine(3)
      while (await pass()) continue
      expect(await statusOf(id)).to.equal('pending')
      expect(await findings()).to.deep.equal({ unknown_mint: 1 })
      await chain.settle()
      expect(await statusOf(id)).to.equal('failed')
      expect(await money.balanceOf(money.main)).to.equal('100.00')
      expect(await chain.solvency()).to.include({ liability: 0n, drift: amount * DOLLAR })
    })
  }

  it('sees no drift where a reader that stopped had read further than nodes show now', async () => {
    await mint()
    await chain.settle()
    const before = await chain.solvency()
    await burn(`0x${'77'.repeat(32)}`)
    await chain.bench.world.mine(6)
    const { rows } = await sql<{ number: bigint; hash: Hex }>`
      select block_number as number, block_hash as hash from token_cursors`.execute(money.db)
    const { number, hash } = rows[0]!
    while (await pass()) continue
    // It stopped before it moved the cursor, and the next one asks nodes that are behind.
    await sql`update token_cursors set block_number = ${number}, block_hash = ${hash}`.execute(
      money.db,
    )
    const latest = `0x${(number + 3n).toString(16)}`
    lie = ({ params }, truth) =>
      params?.[0] === 'latest' ? { ...(truth as object), number: latest } : truth
    await pass()
    expect(await openBreaks()).to.deep.equal(['wrong_reference'])
    lie = undefined
    while (await pass()) continue
    expect(await openBreaks()).to.deep.equal(['wrong_reference'])
    expect((await chain.solvency())!.blockNumber > before!.blockNumber).to.equal(true)
  })

  it('tells of a burn whose final block is gone, and pays no second wire for it', async () => {
    await mint()
    await chain.settle()
    const { id, redemption } = await redeem()
    await burn(redemption.reference)
    await chain.settle()
    await money.db.transaction().execute((open) => {
      const wire = { purpose: 'redeem', subject: id, reference: 'FED', code: undefined } as const
      return moveByWire(chain.ledger, open, { ...wire, state: 'paid' })
    })
    // The burn and all that followed it: more than what counts as final.
    await chain.bench.world.rpc('anvil_reorg', [5, []])
    await chain.bench.world.mine(1)
    while (await pass()) continue
    expect(await openBreaks()).to.deep.equal(['reorged', 'supply_drift'])
    expect(await statusOf(id)).to.equal('complete')
    expect(await chain.solvency()).to.include({ drift: 15n * DOLLAR })
    await burn(redemption.reference)
    await chain.settle()
    expect(await openBreaks()).to.deep.equal(['reorged'])
    expect([await statusOf(id), await countWires()]).to.deep.equal(['complete', 1])
    expect(await readLedger(money.db)).to.deep.equal({ sum: 0n, astray: 0 })
  })
})
