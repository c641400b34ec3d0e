import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import { sql, ValueNode } from 'kysely'
import { encodeFunctionData, parseAbi } from 'viem'

import { settlementAddress } from '../../src/bindings/addresses.ts'
import { createLogger } from '../../src/base/logger.ts'
import { createBlockReader } from '../../src/chain/read/blocks.ts'
import { createFinal } from '../../src/chain/read/final.ts'
import { createHoldingReader } from '../../src/chain/read/holdings.ts'
import { createIncomingReader } from '../../src/chain/read/incoming.ts'
import type { RpcCall } from '../../src/chain/rpc/provider.ts'
import type { BundleRoute, HashedOrder, Hex } from '../../src/domain/orders.ts'
import { balancePass, type BalanceDeps } from '../../src/rails/balances.ts'
import { depositPass, type DepositDeps } from '../../src/rails/deposits.ts'
import type { PaymentRequest } from '../../src/sender/prepare.ts'
import type { Sender } from '../../src/sender/sender.ts'
import type { Db } from '../../src/store/database/database.ts'
import { transact } from '../../src/store/database/transact.ts'
import { addressFrom, CHAIN_ID, placeDollar, toHex } from '../engines/sim/world.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { createBench, reverting, type Bench } from '../fixtures/books/sender-bench.ts'
import { dollarAt } from '../fixtures/books/tokens.ts'
import { expectFailure } from '../fixtures/errors.ts'
import { togetherOf } from '../fixtures/together.ts'

const CONFIRMATIONS = 3
const TOKEN = parseAbi([
  'function transfer(address to, uint256 amount)',
  'function mintWithMemo(address to, uint256 amount, bytes32 memo)',
])
const settlement = settlementAddress.toLowerCase() as Hex

describe('the account of every wei', () => {
  let bench: Bench
  let sender: Sender
  let dollar: Hex
  let outside: Hex
  let user: Hex
  let platform: Hex
  let lie: ((call: RpcCall, truth: unknown) => unknown) | undefined
  let asked: RpcCall[]
  let deposits: DepositDeps
  let deps: BalanceDeps

  beforeEach(async () => {
    lie = undefined
    asked = []
    bench = await createBench()
    const [minter] = (await bench.world.rpc('eth_accounts')) as [Hex]
    outside = minter.toLowerCase() as Hex
    dollar = await placeDollar(bench.world, { minter, allowance: 10n ** 12n })
    sender = bench.sender({ stablecoin: dollar })
    ;[user, platform] = bench.signers.addresses as [Hex, Hex]
    const { id } = await makeUser(bench.db)
    await sql`update users set address = ${user} where id = ${id}`.execute(bench.db)
    const providers = togetherOf([
      bench.provider('honest', async (call, forward) => {
        asked.push(call)
        return forward(call)
      }),
      bench.provider('other', async (call, forward) => {
        const truth = await forward(call)
        return lie === undefined ? truth : lie(call, truth)
      }),
    ])
    const { db, clock } = bench
    const common = { db, clock, chainId: CHAIN_ID, logger: createLogger({ level: 'silent' }) }
    const tokens = [dollarAt(dollar)]
    deposits = {
      ...common,
      tokens,
      own: [platform],
      checkoutPayee: platform,
      readFinal: createFinal({ providers, finality: CONFIRMATIONS }),
      readBlock: createBlockReader(providers),
      incoming: createIncomingReader({
        providers,
        tokens: [dollar],
        settlement,
        signedOf: bench.signedOf,
      }),
      randomBytes,
    }
    deps = {
      ...common,
      tokens,
      own: [platform],
      holding: createHoldingReader(providers),
      policy: { roundMs: 60_000, peaceMs: 1_000, limit: 3 },
    }
    await mint(user, 9_000_000n)
    await mint(platform, 9_000_000n)
    await look()
  })
  after(() => bench.stop())

  /** Reads on to the last final block, and compares all accounts there. */
  const look = async (): Promise<void> => {
    await bench.world.mine(CONFIRMATIONS)
    while (await depositPass(deposits, bench.signal)) continue
    bench.clock.advance(deps.policy.roundMs)
    await balance()
  }
  const balance = async (): Promise<void> => {
    while (await balancePass(deps, bench.signal)) continue
  }
  /** And what stands behind a gap. */
  const lookAndWait = async (): Promise<void> => {
    await look()
    await balance()
    await balance()
  }
  const send = async (to: Hex, call: { value?: bigint; data?: Hex; from?: Hex }) => {
    const { value = 0n, data = '0x', from = outside } = call
    const sent = { from, to, value: toHex(value), data, gas: '0xf4240' }
    const hash = (await bench.world.rpc('eth_sendTransaction', [sent])) as Hex
    await bench.world.mine(1)
    return hash
  }
  const asUser = async (to: Hex, call: { value?: bigint; data?: Hex }) => {
    await bench.world.rpc('anvil_impersonateAccount', [user])
    return send(to, { ...call, from: user })
  }
  const mint = (to: Hex, amount: bigint) => {
    const memo = `0x${randomBytes(32).toString('hex')}` as const
    const args = [to, amount, memo] as const
    return send(dollar, {
      data: encodeFunctionData({ abi: TOKEN, functionName: 'mintWithMemo', args }),
    })
  }
  const pay = async (
    payment: Partial<PaymentRequest>,
    meanwhile: (order: HashedOrder) => Promise<void> = () => Promise.resolve(),
  ) => {
    await meanwhile(await sender.pay(bench.requestOf({ payer: user, ...payment }), bench.signal))
    await finish()
  }
  const finish = async () => {
    for (let round = 0; round < 20 && !(await bench.isEmpty()); round++) {
      await bench.pass(sender)
      await bench.world.mine(1)
    }
    expect(await bench.isEmpty()).to.equal(true)
  }
  const payTogether = async (route: BundleRoute, payees: readonly Hex[]) => {
    const payments = payees.map((payee, place) => {
      return { subject: `${route} ${place}`, payee, amount: 10n }
    })
    const batch = { subject: route, spender: 'user:1', payer: user, route, payments }
    const asked = { ...batch, way: 'chain' } as const
    const prepared = await sender.prepareBatch(bench.db, asked, bench.signal)
    await transact(bench.db, (db) => sender.accept(db, prepared))
    await finish()
  }
  const outcomes = async () => {
    const { rows } = await sql<{ outcome: string }>`
      select distinct coalesce(error_code, state) as outcome from orders order by 1`.execute(
      bench.db,
    )
    return rows.map(({ outcome }) => outcome)
  }
  const gaps = async () => {
    const { rows } = await sql<{ state: string; facts: Record<string, string> }>`
      select state, on_chain || evidence as facts from breaks
      where kind = 'unexplained_balance' order by id`.execute(bench.db)
    return rows.map(({ state, facts }) => ({
      state,
      address: facts['address']!.toLowerCase(),
      currency: facts['currency'],
      unexplained: facts['unexplained'],
      blocks: [facts['after_block'], facts['up_to_block']].map(Number),
    }))
  }
  const head = async () => Number(await bench.world.rpc('eth_blockNumber'))
  const compared = async () => {
    const { rows } = await sql<{ count: bigint; since: bigint; seen: bigint }>`
      select count(*) as count, min(block_number) as since, count(seen_at) as seen
      from balances`.execute(bench.db)
    return rows[0]!
  }

  it('explains every kind of movement by what is recorded', async () => {
    const other = addressFrom('somebody else')
    await pay({ payee: other, amount: 11n })
    await pay({ payee: platform, amount: 12n })
    await pay({ payer: platform, payee: user, amount: 13n })
    await pay({ route: 'contract', payee: other, amount: 14n })
    await pay({ route: 'transfer', payee: platform, amount: 15n })
    await pay({ route: 'token', payee: other, amount: 16n })
    await pay({ payer: platform, route: 'transfer', payee: user, amount: 17n })
    const refusing = addressFrom('one that comes to refuse')
    await pay({ payee: refusing, amount: 18n }, () => reverting(bench.world, refusing))
    await pay({ payee: other, amount: 18n }, async ({ order }) => {
      expect(await sender.cancel(order.id)).to.equal(true)
    })
    const payees = [addressFrom('first'), refusing, addressFrom('third'), platform]
    await payTogether('open_bundle', payees)
    await payTogether('bundle', [payees[0]!, payees[2]!])
    await payTogether('token_bundle', [payees[0]!, platform])
    await payTogether('open_token_bundle', [payees[0]!, platform])
    expect(await outcomes()).to.include.members([
      'cancelled',
      'completed',
      'payee_refused',
      'reverted',
    ])
    await send(user, { value: 19n })
    await send(platform, { value: 20n })
    await mint(user, 21n)
    await mint(platform, 22n)
    await lookAndWait()
    expect(await gaps()).to.deep.equal([])
    const { count, since, seen } = await compared()
    expect({ count, seen }).to.deep.equal({ count: 4n, seen: 0n })
    expect(Number(since)).to.equal((await head()) - CONFIRMATIONS + 1)
  })

  it('names address, coin, amount and block of coin that a contract call has moved', async () => {
    await bench.world.mine(5)
    // Its code pays all it has to the user, and logs nothing.
    const giver = addressFrom('a contract that gives')
    await bench.world.rpc('anvil_setCode', [giver, `0x5f5f5f5f4773${user.slice(2)}5af100`])
    await send(giver, { value: 123n })
    const block = await head()
    await bench.world.mine(9)
    await look()
    const gap = {
      state: 'open',
      address: user,
      currency: 'ETH',
      unexplained: '0.000000000000000123',
    }
    expect(await gaps()).to.deep.equal([{ ...gap, blocks: [block - 1, block] }])
    await lookAndWait()
    expect(await gaps(), 'it is one').to.have.length(1)
  })

  it('names each of several movements, whoever signed for the address elsewhere', async () => {
    const data = encodeFunctionData({
      abi: TOKEN,
      functionName: 'transfer',
      args: [outside, 1_000_000n],
    })
    await asUser(dollar, { data })
    const first = await head()
    await bench.world.mine(4)
    await asUser(dollar, { data })
    const second = await head()
    await lookAndWait()
    await lookAndWait()
    const tokens = (await gaps()).filter(({ currency }) => currency === 'USD')
    expect(tokens.map(({ unexplained, blocks }) => [unexplained, blocks[1]])).to.deep.equal([
      ['-1', first],
      ['-1', second],
    ])
    const fees = (await gaps()).filter(({ currency }) => currency === 'ETH')
    expect(
      fees.map(({ blocks }) => blocks[1]),
      'the fees of both',
    ).to.deep.equal([first, second])
  })

  it('closes a break when a record that came late explains it, and not before', async () => {
    await pay({ payee: addressFrom('late'), amount: 50n })
    await sql`alter table attempts disable trigger user`.execute(bench.db)
    await sql`update attempts set state = 'mined' where state = 'final'`.execute(bench.db)
    await lookAndWait()
    expect((await gaps()).map(({ state, currency }) => [state, currency])).to.deep.equal([
      ['open', 'ETH'],
    ])
    await lookAndWait()
    expect((await gaps()).map(({ state }) => state)).to.deep.equal(['open'])
    await sql`update attempts set state = 'final' where state = 'mined'`.execute(bench.db)
    await lookAndWait()
    expect((await gaps()).map(({ state }) => state)).to.deep.equal(['closed'])
  })

  it('waits while it is not known what took a nonce', async () => {
    await sender.pay(bench.requestOf({ payer: user, amount: 5n }), bench.signal)
    await bench.pass(sender)
    await bench.world.mine(5)
    await lookAndWait()
    await lookAndWait()
    expect(await gaps()).to.deep.equal([])
    expect((await compared()).seen).to.equal(1n)
    for (let round = 0; round < 8; round++) await bench.passAndMine()
    for (let round = 0; round < 8 && !(await bench.isEmpty()); round++) await bench.pass(sender)
    await lookAndWait()
    expect(await gaps()).to.deep.equal([])
    expect((await compared()).seen).to.equal(0n)
  })

  it('believes no provider alone, and says of a pruned state how far it knows', async () => {
    await asUser(outside, { value: 7n })
    const spent = await head()
    await bench.world.mine(8)
    lie = ({ method, params }, truth) => {
      const isProgram = method === 'eth_call' && !('to' in (params as readonly [object])[0])
      if (isProgram) return String(truth).replace(/.$/, (last) => (last === '0' ? '1' : '0'))
      return method === 'eth_getBalance' ? toHex(BigInt(truth as Hex) + 7n) : truth
    }
    await expectFailure(look, 'providers_differ')
    lie = undefined
    const { holding } = deps
    deps = {
      ...deps,
      holding: {
        ...holding,
        async balances(of, signal) {
          if (of.blockNumber >= BigInt(spent + 2)) return holding.balances(of, signal)
          const reason = Object.assign(new Error('missing trie node'), { code: 'rpc_refused' })
          return of.accounts.map(() => ({ status: 'rejected', reason }))
        },
      },
    }
    await look()
    const [gap, ...others] = await gaps()
    expect(others).to.deep.equal([])
    expect(gap!.blocks[0]).to.be.lessThan(spent)
    expect(gap!.blocks[1]).to.be.greaterThan(spent)
  })

  it('is kept once by two workers, and begins anew where a final block is replaced', async () => {
    await asUser(outside, { value: 7n })
    await bench.world.mine(CONFIRMATIONS)
    while (await depositPass(deposits, bench.signal)) continue
    bench.clock.advance(deps.policy.roundMs)
    await Promise.all([balance(), balance()])
    await Promise.all([balance(), balance()])
    expect(await gaps()).to.have.length(1)
    await send(user, { value: 5n })
    await look()
    await bench.world.rpc('anvil_reorg', [CONFIRMATIONS + 1, []])
    await lookAndWait()
    await lookAndWait()
    expect(await gaps()).to.have.length(1)
    expect(await compared()).to.include({ count: 4n, seen: 0n })
  })

  it('looks at a few accounts at a time, so that others get the database meanwhile', async () => {
    deps.policy = { ...deps.policy, limit: 100 }
    for (let count = 0; count < 10; count++) {
      const { id } = await makeUser(bench.db)
      await sql`update users set address = ${`0x${randomBytes(20).toString('hex')}`}
        where id = ${id}`.execute(bench.db)
    }
    await look()
    const sizes: number[] = []
    deps.db = noting(bench.db, (spans) => sizes.push(spans.length))
    await look()
    const accounts = 12 * 2
    expect(sizes.reduce((sum, size) => sum + size, 0)).to.equal(accounts)
    expect(Math.max(...sizes)).to.be.at.most(4)
    expect(await gaps()).to.deep.equal([])
  })

  it('asks for no account between two rounds of which nothing moved', async () => {
    await bench.world.mine(CONFIRMATIONS)
    while (await depositPass(deposits, bench.signal)) continue
    asked = []
    await balance()
    expect(asked).to.deep.equal([])
    await send(user, { value: 5n })
    await bench.world.mine(CONFIRMATIONS)
    while (await depositPass(deposits, bench.signal)) continue
    bench.clock.advance(deps.policy.peaceMs)
    asked = []
    await balance()
    expect(asked.map(({ method }) => method).toSorted()).to.deep.equal([
      'eth_call',
      'eth_getBalance',
    ])
  })
})

/** Tells of each look at what is recorded for some accounts. */
function noting(db: Db, onLook: (spans: readonly unknown[]) => void): Db {
  return db.withPlugin({
    transformQuery({ node }) {
      if (node.kind !== 'RawNode') return node
      for (const one of node.parameters) {
        if (!ValueNode.is(one) || typeof one.value !== 'string') continue
        if (one.value.includes('"from_nonce"')) onLook(JSON.parse(one.value) as unknown[])
      }
      return node
    },
    transformResult: async ({ result }) => result,
  })
}
