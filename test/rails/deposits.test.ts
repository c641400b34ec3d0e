import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import { sql } from 'kysely'
import { encodeFunctionData, parseAbi } from 'viem'

import { settlementAbi } from '../../src/bindings/abis.ts'
import { settlementAddress } from '../../src/bindings/addresses.ts'
import { createLogger } from '../../src/base/logger.ts'
import { createBlockReader } from '../../src/chain/read/blocks.ts'
import { createFinal } from '../../src/chain/read/final.ts'
import { createIncomingReader } from '../../src/chain/read/incoming.ts'
import type { RpcCall } from '../../src/chain/rpc/provider.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { depositPass, type DepositDeps } from '../../src/rails/deposits.ts'
import { insertCharge } from '../../src/store/rails/charges.ts'
import { addressFrom, CHAIN_ID, placeDollar, toHex } from '../engines/sim/world.ts'
import { makeUser } from '../fixtures/api/access.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { dollarAt } from '../fixtures/books/tokens.ts'
import { expectFailure } from '../fixtures/errors.ts'
import { makeTransaction } from '../fixtures/store/transactions.ts'
import { togetherOf } from '../fixtures/together.ts'

const CONFIRMATIONS = 3
const TOKEN = parseAbi([
  'function transfer(address to, uint256 amount)',
  'function approve(address spender, uint256 amount)',
  'function mintWithMemo(address to, uint256 amount, bytes32 memo)',
])

type Lie = ((call: RpcCall, truth: unknown) => unknown) | undefined

describe('deposits', () => {
  let bench: Bench
  let dollar: Hex
  let payer: Hex
  let user: { id: number; address: Hex }
  let lie: Lie
  let asked: RpcCall[]
  /** So many full blocks are asked for at present, and were at most. */
  let full = 0
  let mostFull = 0
  let deps: DepositDeps

  beforeEach(async () => {
    lie = undefined
    asked = []
    bench = await createBench()
    const [minter] = (await bench.world.rpc('eth_accounts')) as [Hex]
    payer = minter.toLowerCase() as Hex
    dollar = await placeDollar(bench.world, { minter, allowance: 10n ** 12n })
    user = await userWithAddress('receiver')
    deps = depsOf()
    await bench.world.mine(CONFIRMATIONS)
    await pass()
  })
  after(() => bench.stop())

  const depsOf = (): DepositDeps => {
    const providers = togetherOf([
      bench.provider('honest', async (call, forward) => {
        asked.push(call)
        const isFull = call.params?.[1] === true
        if (isFull) mostFull = Math.max(mostFull, ++full)
        return forward(call).finally(() => isFull && full--)
      }),
      bench.provider('other', async (call, forward) => {
        const truth = await forward(call)
        return lie === undefined ? truth : lie(call, truth)
      }),
    ])
    return {
      db: bench.db,
      chainId: CHAIN_ID,
      tokens: [dollarAt(dollar)],
      own: [],
      checkoutPayee: payer,
      readFinal: createFinal({ providers, finality: CONFIRMATIONS }),
      readBlock: createBlockReader(providers),
      incoming: createIncomingReader({
        providers,
        tokens: [dollar],
        settlement: settlementAddress.toLowerCase() as Hex,
        signedOf: bench.signedOf,
      }),
      randomBytes,
      clock: bench.clock,
      logger: createLogger({ level: 'silent' }),
    }
  }

  const userWithAddress = async (name: string) => {
    const { id } = await makeUser(bench.db)
    const address = addressFrom(`${name} ${id} ${bench.signers.addresses[0]}`)
    await sql`update users set address = ${address} where id = ${id}`.execute(bench.db)
    return { id, address }
  }

  const pass = async (of = deps): Promise<void> => {
    while (await depositPass(of, bench.signal)) continue
  }
  const send = async (to: Hex, call: { value?: bigint; data?: Hex; from?: Hex }) => {
    const { value = 0n, data = '0x', from = payer } = call
    const sent = { from, to, value: toHex(value), data, gas: '0xf4240' }
    const hash = (await bench.world.rpc('eth_sendTransaction', [sent])) as Hex
    await bench.world.mine(1)
    return hash
  }
  const settle = (reference: Hex, payee: Hex, value: bigint) => {
    const call = { abi: settlementAbi, functionName: 'settle', args: [reference, payee] } as const
    return send(settlementAddress.toLowerCase() as Hex, { data: encodeFunctionData(call), value })
  }
  const finalize = async (): Promise<void> => {
    await bench.world.mine(CONFIRMATIONS)
    await pass()
  }
  const mint = (to: Hex, amount: bigint) =>
    send(dollar, {
      data: encodeFunctionData({
        abi: TOKEN,
        functionName: 'mintWithMemo',
        args: [to, amount, `0x${randomBytes(32).toString('hex')}`],
      }),
    })
  const list = async () => {
    const { rows } = await sql<Record<string, unknown>>`
      select t.transaction_id as id, t.user_id as "userId", t.type, t.status, t.amount::text,
        t.currency, t.eth_transaction_hash as hash, d.payer, d.reference
      from transactions t left join deposits d using (transaction_id) order by t.id`.execute(
      bench.db,
    )
    return rows
  }
  const breaks = async () => {
    const { rows } = await sql<{ kind: string; id: string; state: string }>`
      select kind, transaction_id as id, state from breaks`.execute(bench.db)
    return rows
  }

  it('are recorded of ether that comes by a plain transfer, once it is final', async () => {
    const hash = await send(user.address, { value: 1_000_000_000_000_000_001n })
    await pass()
    expect(await list(), 'not final yet').to.deep.equal([])
    await finalize()
    const [deposit, ...others] = await list()
    expect(others).to.deep.equal([])
    expect(deposit).to.include({ userId: user.id, type: 'deposit', status: 'completed' })
    const money = { amount: '1.000000000000000001', currency: 'ETH', hash, payer, reference: null }
    expect(deposit).to.include(money)
  })

  it('are recorded of dollars to the last millionth, also of new ones', async () => {
    await mint(payer, 5_000_000n)
    const data = encodeFunctionData({
      abi: TOKEN,
      functionName: 'transfer',
      args: [user.address, 1_234_567n],
    })
    const hash = await send(dollar, { data })
    const minted = await mint(user.address, 1n)
    await finalize()
    expect(
      (await list()).map(({ amount, currency, hash, payer }) => [amount, currency, hash, payer]),
    ).to.deep.equal([
      ['1.234567', 'USD', hash, payer],
      ['0.000001', 'USD', minted, `0x${'0'.repeat(40)}`],
    ])
  })

  it('are one each where the settlement contract pays, with the reference', async () => {
    await mint(payer, 5_000_000n)
    const reference = `0x${'11'.repeat(32)}` as const
    const other = `0x${'22'.repeat(32)}` as const
    const allow = encodeFunctionData({
      abi: TOKEN,
      functionName: 'approve',
      args: [settlementAddress, 2_000_000n],
    })
    await send(dollar, { data: allow })
    const settlement = settlementAddress.toLowerCase() as Hex
    await settle(reference, user.address, 7n)
    const inDollars = encodeFunctionData({
      abi: settlementAbi,
      functionName: 'settleToken',
      args: [other, dollar, user.address, 2_000_000n],
    })
    await send(settlement, { data: inDollars })
    await finalize()
    expect(
      (await list()).map(({ amount, currency, reference }) => [amount, currency, reference]),
    ).to.deep.equal([
      ['0.000000000000000007', 'ETH', reference],
      ['2', 'USD', other],
    ])
  })

  it('are none where a checkout is paid, but at the place of checkouts alone', async () => {
    const stem = `0x${'44'.repeat(31)}` as const
    const { transactionId } = await makeTransaction(bench.db, { userId: user.id })
    const charge = { transactionId, gatewayId: 2, kind: 'crypto_checkout' } as const
    await insertCharge(bench.db, { ...charge, chainId: CHAIN_ID, reference: `${stem}00` })
    const elsewhere = await userWithAddress('elsewhere')
    deps = { ...deps, checkoutPayee: user.address }
    await settle(`${stem}00`, user.address, 7n)
    await settle(`0x${'55'.repeat(32)}`, user.address, 8n)
    await settle(`${stem}01`, elsewhere.address, 9n)
    await finalize()
    const deposits = (await list()).filter(({ type }) => type === 'deposit')
    expect(deposits.map(({ userId, amount }) => [userId, amount])).to.deep.equal([
      [user.id, '0.000000000000000008'],
      [elsewhere.id, '0.000000000000000009'],
    ])
  })

  it('are none where nothing comes, or in a token that nobody configured', async () => {
    const stranger = await placeDollar(bench.world, {
      minter: (await accounts())[0]!,
      allowance: 10n ** 12n,
    })
    const data = encodeFunctionData({
      abi: TOKEN,
      functionName: 'mintWithMemo',
      args: [user.address, 9n, `0x${'33'.repeat(32)}`],
    })
    await send(stranger, { data })
    await send(user.address, { value: 0n })
    await bench.world.rpc('anvil_impersonateAccount', [user.address])
    await bench.world.rpc('anvil_setBalance', [user.address, toHex(10n ** 18n)])
    await send(user.address, { value: 5n, from: user.address })
    // The user's address refuses it, so that the transaction fails.
    await bench.world.rpc('anvil_setCode', [user.address, '0x5f5ffd'])
    await send(user.address, { value: 5n })
    await finalize()
    expect(await list()).to.deep.equal([])
  })

  const accounts = async () => (await bench.world.rpc('eth_accounts')) as Hex[]

  it('are none where a payment of ours moves money from one user to another', async () => {
    const sender = bench.sender()
    const payment = bench.requestOf({ payer: bench.signers.addresses[0], payee: user.address })
    await sender.pay(payment, bench.signal)
    await bench.finish()
    await finalize()
    expect((await list()).filter(({ type }) => type === 'deposit')).to.deep.equal([])
    expect(await bench.world.balanceOf(user.address)).to.equal(1_000n)
  })

  it('are recorded once by two workers, and by one that starts again at any place', async () => {
    const started = await sql<{ number: bigint; hash: Hex }>`
      select block_number as number, block_hash as hash from deposit_cursors`.execute(bench.db)
    for (let count = 1n; count <= 5n; count++) await send(user.address, { value: count })
    await bench.world.mine(CONFIRMATIONS)
    const other = depsOf()
    await Promise.all([pass(), pass(other), pass()])
    const { number, hash } = started.rows[0]!
    await sql`update deposit_cursors set block_number = ${number}, block_hash = ${hash}`.execute(
      bench.db,
    )
    await pass()
    expect((await list()).map(({ amount }) => amount)).to.have.members(
      [1, 2, 3, 4, 5].map((wei) => `0.00000000000000000${wei}`),
    )
  })

  it('costs one call for an empty block, two for another, and one for each deposit', async () => {
    // However many users there are.
    await sql`
      insert into users (username, password_hash, scopes, address)
      select 'one-of-many-' || n, password_hash, scopes,
        '0x' || lpad(to_hex(n + 1000), 40, '0')
      from users, generate_series(1, 1000) n where id = ${user.id}`.execute(bench.db)
    await pass()
    asked = []
    await bench.world.mine(8)
    await pass()
    const methods = () =>
      asked.filter(({ params }) => params?.[0] !== 'latest').map(({ method }) => method)
    expect(methods()).to.deep.equal(Array.from({ length: 8 }, () => 'eth_getBlockByNumber'))
    await send(`0x${(1_500).toString(16).padStart(40, '0')}`, { value: 3n })
    asked = []
    await finalize()
    expect(methods().filter((method) => method !== 'eth_getBlockByNumber')).to.deep.equal([
      'eth_getLogs',
      'eth_getTransactionReceipt',
    ])
    expect(await list()).to.have.length(1)
  })

  const payOurselves = async () => {
    await bench.pay({ payer: bench.signers.addresses[0], payee: user.address })
    await bench.finish()
  }
  const blocksAsked = () =>
    asked.flatMap(({ method, params }) =>
      method === 'eth_getBlockByNumber' && params?.[0] !== 'latest' ? params?.[1] : [],
    )

  it('need no full block after one that was all ours, and are missed in none', async () => {
    await payOurselves()
    await finalize()
    asked = []
    await payOurselves()
    await finalize()
    expect(blocksAsked(), 'ours, and empty ones').to.include(false).and.not.include(true)
    const { rows } = await sql<{ amount: string }>`
      select amount::text from own_arrivals`.execute(bench.db)
    expect(rows, 'what ours carried').to.deep.equal([{ amount: '1000' }, { amount: '1000' }])
    const before = (await list()).length
    await send(user.address, { value: 5n })
    asked = []
    await finalize()
    expect(blocksAsked().filter(Boolean), 'what is not ours').to.have.length.above(0)
    expect((await list()).length - before).to.equal(1)
    await send(user.address, { value: 6n })
    asked = []
    await finalize()
    expect(blocksAsked()[0], 'after what is not ours').to.equal(true)
    expect((await list()).length - before).to.equal(2)
  })

  it('are read from one full block at a time, unless the program was away for long', async () => {
    await bench.world.mine(15)
    mostFull = 0
    await pass()
    expect(mostFull).to.equal(1)
    await bench.world.mine(16)
    await pass()
    expect(mostFull).to.equal(16)
  })

  it('are not believed of one provider alone, whether it makes them up or hides them', async () => {
    await send(user.address, { value: 5n })
    await bench.world.mine(CONFIRMATIONS)
    const blocks = (change: (one: Record<string, unknown>) => unknown): Lie => {
      return ({ method, params }, truth) => {
        if (method !== 'eth_getBlockByNumber' || params?.[1] !== true) return truth
        const block = truth as { transactions: Record<string, unknown>[] }
        return { ...block, transactions: block.transactions.map(change) }
      }
    }
    lie = blocks((one) => ({ ...one, value: '0x0' }))
    await expectFailure(pass, 'providers_differ')
    lie = blocks((one) => ({ ...one, value: '0xffff' }))
    await expectFailure(pass, 'providers_differ')
    lie = blocks((one) => one['hash'])
    await expectFailure(pass, 'chain_answer_unreadable')
    lie = ({ method }, truth) =>
      method === 'eth_getTransactionReceipt' ? { ...(truth as object), status: '0x0' } : truth
    await expectFailure(pass, 'providers_differ')
    expect(await list()).to.deep.equal([])
    lie = undefined
    await pass()
    expect(await list()).to.have.length(1)
  })

  it('open a break where a final block is gone, which ends when they are back', async () => {
    const hash = await send(user.address, { value: 5n })
    const raw = await bench.world.rpc('eth_getRawTransactionByHash', [hash])
    await finalize()
    const [deposit] = await list()
    await bench.world.rpc('anvil_reorg', [CONFIRMATIONS + 1, []])
    await finalize()
    expect(await breaks()).to.deep.equal([{ kind: 'reorged', id: deposit!['id'], state: 'open' }])
    expect(await list()).to.deep.equal([deposit])
    await bench.world.rpc('eth_sendRawTransaction', [raw])
    await finalize()
    expect(await breaks()).to.deep.equal([{ kind: 'reorged', id: deposit!['id'], state: 'closed' }])
    expect(await list()).to.deep.equal([deposit])
  })

  it('are of a user whose address became known while it ran', async () => {
    const { id, address } = await userWithAddress('newcomer')
    await send(address, { value: 2n })
    await finalize()
    expect((await list()).map(({ userId }) => userId)).to.deep.equal([id])
  })
})
