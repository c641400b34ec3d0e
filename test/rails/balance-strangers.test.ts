import { expect } from 'chai'
import { sql } from 'kysely'
import { pad } from 'viem'

import type { Hex } from '../../src/domain/orders.ts'
import { balancePass } from '../../src/rails/balances.ts'
import { toHex } from '../engines/sim/world.ts'
import {
  createHoldingsBench,
  DEPTH,
  freshAddress,
  type HoldingsBench,
} from '../fixtures/books/holdings-bench.ts'
import { expectFailure } from '../fixtures/errors.ts'
import { RpcError } from '../../src/chain/rpc/rpc-error.ts'

const WEI = '0.00000000000000000'

describe('the account of every wei, of what no record tells', () => {
  let on: HoldingsBench

  beforeEach(async () => {
    on = await createHoldingsBench()
    await on.look()
  })
  after(() => on.bench.stop())

  const address = (): Hex => on.user.address
  const ether = async () =>
    (await on.gaps()).map(({ address, unexplained, blocks }) => [address, unexplained, blocks[1]])

  it('names coin of a contract that destroys itself, and of the fees of blocks', async () => {
    const dying = freshAddress()
    await on.bench.world.rpc('anvil_setCode', [dying, `0x73${address().slice(2)}ff`])
    await on.send(dying, { value: 7n })
    const at = await on.head()
    await on.look()
    expect(await ether()).to.deep.equal([[address(), `${WEI}7`, at]])
    await on.bench.world.rpc('anvil_setCoinbase', [on.platform])
    await on.bench.world.mine(1)
    await on.send(freshAddress(), { value: 1n })
    const paid = await on.head()
    await on.bench.world.rpc('anvil_setCoinbase', [pad('0x', { size: 20 })])
    await on.look()
    const [, fees] = await on.gaps()
    expect(fees).to.include({ address: on.platform, currency: 'ETH', state: 'open' })
    expect(fees!.blocks).to.deep.equal([paid - 1, paid])
    expect(await on.list()).to.deep.equal([])
  })

  it('names tokens that are logged and not moved, or moved and not logged', async () => {
    await on.mint(address(), 5_000_000n)
    await on.look()
    const code = await on.bench.world.rpc('eth_getCode', [on.dollar, 'latest'])
    // It logs a Transfer of four dollars from nobody to the user, and does nothing.
    const topic = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
    const amount = (4_000_000).toString(16).padStart(64, '0')
    const log = `7f${amount}5f5273${address().slice(2)}5f7f${topic}60205fa300`
    await on.bench.world.rpc('anvil_setCode', [on.dollar, `0x${log}`])
    await on.send(on.dollar, {})
    const logged = await on.head()
    await on.bench.world.rpc('anvil_setCode', [on.dollar, code])
    await on.look()
    expect(await on.list()).to.have.length(2)
    const [gap, ...more] = await on.gaps()
    expect(more).to.deep.equal([])
    expect([gap!.address, gap!.unexplained]).to.deep.equal([address(), '-4'])
    // The token answered nobody in that block, so that it cannot be found by halving.
    expect(logged).to.be.within(gap!.blocks[0] + 1, gap!.blocks[1])
    const { slot } = await slotOf(address(), 5_000_000n)
    await on.bench.world.rpc('anvil_setStorageAt', [on.dollar, slot, pad(toHex(6_500_000n))])
    const moved = await on.head()
    await on.look()
    expect((await ether())[1]).to.deep.equal([address(), '1.5', moved])
  })

  /** Where the token keeps the balance: found by the node's own list of what the view reads. */
  const slotOf = async (holder: Hex, amount: bigint) => {
    const data = `0x70a08231${holder.slice(2).padStart(64, '0')}`
    const call = [{ to: on.dollar, data }, 'latest']
    const { accessList } = (await on.bench.world.rpc('eth_createAccessList', call)) as {
      accessList: { storageKeys: Hex[] }[]
    }
    for (const slot of accessList.flatMap(({ storageKeys }) => storageKeys)) {
      const held = await on.bench.world.rpc('eth_getStorageAt', [on.dollar, slot, 'latest'])
      if (BigInt(String(held)) === amount) return { slot }
    }
    throw new Error('the token keeps the balance elsewhere')
  }

  it('counts the fee of a failed transaction, and names one signed elsewhere', async () => {
    const refusing = freshAddress()
    await on.bench.world.rpc('anvil_setCode', [refusing, '0x5f5ffd'])
    await on.bench.world.rpc('anvil_impersonateAccount', [address()])
    await on.send(refusing, { value: 5n, from: address() })
    const at = await on.head()
    await on.look()
    const [gap, ...more] = await on.gaps()
    expect(more).to.deep.equal([])
    expect(gap!.blocks[1]).to.equal(at)
    expect(Number(gap!.unexplained)).to.be.lessThan(0)
    expect(Number(gap!.unexplained)).to.be.greaterThan(-0.001)
  })

  it('says nothing of what an address pays to itself', async () => {
    await on.bench.world.rpc('anvil_impersonateAccount', [address()])
    await on.send(address(), { value: 5n, from: address() })
    await on.look()
    expect(await on.list()).to.deep.equal([])
    // The fee of what was signed elsewhere, and not the five.
    const [gap, ...more] = await on.gaps()
    expect(more).to.deep.equal([])
    expect(BigInt(gap!.unexplained.replace('-0.', ''))).to.be.greaterThan(21_000n)
  })

  it('finds the one of a hundred blocks in eight looks', async () => {
    await on.bench.world.mine(60)
    const giver = freshAddress()
    await on.bench.world.rpc('anvil_setCode', [giver, `0x5f5f5f5f4773${address().slice(2)}5af100`])
    await on.send(giver, { value: 3n })
    const at = await on.head()
    await on.bench.world.mine(60 + DEPTH)
    await on.read()
    on.bench.clock.advance(on.balances.policy.roundMs)
    on.asked = []
    while (await balancePass(on.balances, on.bench.signal)) continue
    expect(await ether()).to.deep.equal([[address(), `${WEI}3`, at]])
    // Each coin of the two addresses is read by one call, and the nonce of the one that differs.
    const holdings = on.asked.filter(({ method }) => HOLDING.has(method))
    expect(holdings.length - 3).to.be.at.most(8)
  })

  const HOLDING = new Set(['eth_getBalance', 'eth_call', 'eth_getTransactionCount'])

  it('looks at all others though one account cannot be read, and at that one again', async () => {
    const newcomer = await on.userWithAddress(freshAddress())
    const { holding } = on.balances
    const refused = new RpcError('no state', { code: 'rpc_garbage' })
    let isBroken = true
    on.balances = {
      ...on.balances,
      policy: { ...on.balances.policy, limit: 2 },
      holding: {
        ...holding,
        async balances(of, signal) {
          const outcomes = await holding.balances(of, signal)
          return outcomes.map((outcome, at) => {
            const account = of.accounts[at]!
            const isIt = account.address === address() && account.token === ''
            return isBroken && isIt ? { status: 'rejected', reason: refused } : outcome
          })
        },
      },
    }
    const giver = freshAddress()
    await on.bench.world.rpc('anvil_setCode', [
      giver,
      `0x5f5f5f5f4773${on.platform.slice(2)}5af100`,
    ])
    await on.send(giver, { value: 4n })
    await on.finalize()
    on.bench.clock.advance(on.balances.policy.roundMs)
    let failures = 0
    for (let pass = 0; pass < 4; pass++) {
      await balancePass(on.balances, on.bench.signal).catch((error: unknown) => {
        expect(error).to.equal(refused)
        failures += 1
      })
    }
    expect(failures).to.equal(1)
    expect((await ether()).map(([address]) => address)).to.deep.equal([on.platform])
    expect(newcomer.id).to.be.greaterThan(0)
    isBroken = false
    on.bench.clock.advance(on.balances.policy.roundMs)
    await expectNothingWrong()
  })

  const expectNothingWrong = async () => {
    while (await balancePass(on.balances, on.bench.signal)) continue
    expect(await on.gaps()).to.have.length(1)
  }

  it('begins at no balance of a block that was replaced while it was read', async () => {
    const { address: newcomer } = await on.userWithAddress(freshAddress())
    const { holding } = on.balances
    let reads = 0
    const balancesOf: typeof holding.balances = async (of, signal) => {
      const held = await holding.balances(of, signal)
      reads += of.accounts.length
      if (reads === 1) {
        await on.bench.world.rpc('anvil_reorg', [DEPTH + 1, []])
        await on.finalize()
      }
      return held
    }
    const slow = { ...holding, balances: balancesOf }
    await balancePass({ ...on.balances, tokens: [], own: [], holding: slow }, on.bench.signal)
    const stored = async () => {
      const { rows } = await sql`
        select from balances where address = ${newcomer}`.execute(on.bench.db)
      return rows.length
    }
    expect([reads, await stored()]).to.deep.equal([1, 0])
    await on.look()
    expect(await stored()).to.equal(2)
  })

  it('compares five thousand users by fifty calls, and names the two that differ', async () => {
    await insertFiveThousand()
    await on.finalize()
    on.asked = []
    expect(await balancePass(on.balances, on.bench.signal)).to.equal(false)
    // Of whom nothing moves, nothing is asked.
    expect(on.asked).to.deep.equal([])
    const rich = [17, 4711].map((place) => `0x${(place + 1000).toString(16).padStart(40, '0')}`)
    await sql`update balances set balance = 3 where token = '' and address = ${rich[0]}`.execute(
      on.bench.db,
    )
    await sql`update balances set balance = 4 where token <> '' and address = ${rich[1]}`.execute(
      on.bench.db,
    )
    on.bench.clock.advance(on.balances.policy.roundMs)
    on.asked = []
    const many = { ...on.balances, policy: { ...on.balances.policy, limit: 400 } }
    while (await balancePass(many, on.bench.signal)) continue
    // The last block alone is between: nothing is halved.
    const nonces = on.asked.filter(({ method }) => method === 'eth_getTransactionCount')
    expect(nonces.map(({ params }) => params?.[0])).to.have.members(rich)
    const balances = on.asked.filter(({ method }) => BALANCE.has(method))
    expect(balances.length).to.be.within(50, 80)
    const gaps = (await on.gaps()).map(({ address, unexplained }) => [address, unexplained])
    expect(gaps).to.have.deep.members([
      [rich[0], '-0.000000000000000003'],
      [rich[1], '-0.000004'],
    ])
  }).timeout(60_000)

  const BALANCE = new Set(['eth_getBalance', 'eth_call'])

  it('reads all others one by one where a token refuses one of them', async () => {
    const { holding } = on.balances
    const [kind, refusedBy] = [freshAddress(), freshAddress()]
    // balanceOf is 7, but of the other address it reverts.
    const code = `0x60043573${refusedBy.slice(2)}14602657600760005260206000f35b600080fd`
    const token = freshAddress()
    await on.bench.world.rpc('anvil_setCode', [token, code])
    const accounts = [kind, refusedBy, address()].map((one) => ({ address: one, token }))
    const blockNumber = BigInt(await on.head())
    const outcomes = await holding.balances({ accounts, blockNumber }, on.bench.signal)
    expect(outcomes.map((one) => (one.status === 'fulfilled' ? one.value : 'none'))).to.deep.equal([
      7n,
      'none',
      7n,
    ])
    const nowhere = accounts.map((account) => ({ ...account, token: freshAddress() }))
    const none = await holding.balances({ accounts: nowhere, blockNumber }, on.bench.signal)
    expect(none.map(({ status }) => status)).to.deep.equal(Array(3).fill('rejected'))
  })

  async function insertFiveThousand(): Promise<void> {
    await sql`
      with many as (
        insert into users (username, password_hash, scopes, address)
        select 'one-of-many-' || n, password_hash, scopes, '0x' || lpad(to_hex(n + 1000), 40, '0')
        from users, generate_series(1, 5000) n where id = ${on.user.id} returning address
      )
      insert into balances (chain_id, address, token, block_number, nonce, balance, checked_at,
        due_at)
      select chain_id, many.address, token, block_number, 0, 0, checked_at, due_at
      from many, balances b where b.address = ${address()}`.execute(on.bench.db)
  }

  it('believes no balance of one provider alone', async () => {
    await on.send(address(), { value: 5n })
    on.lie = ({ method, params }, truth) => {
      if (method === 'eth_getBalance' && params?.[0] === address()) {
        return toHex(BigInt(String(truth)) + 1n)
      }
      const isProgram = method === 'eth_call' && !('to' in (params as readonly [object])[0])
      return isProgram ? String(truth).replace(/.$/, (last) => (last === '0' ? '1' : '0')) : truth
    }
    await expectFailure(on.look, 'providers_differ')
    expect(await on.gaps()).to.deep.equal([])
    on.lie = undefined
    await on.look()
    expect(await on.gaps()).to.deep.equal([])
  })
})
