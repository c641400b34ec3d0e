import { randomBytes } from 'node:crypto'

import { expect } from 'chai'
import { sql } from 'kysely'
import { encodeFunctionData, pad } from 'viem'

import { settlementAbi } from '../../src/bindings/abis.ts'
import { selectorOf } from '../../src/chain/read/events.ts'
import { createIncomingReader } from '../../src/chain/read/incoming.ts'
import type { Hex } from '../../src/domain/orders.ts'
import { recordTransaction } from '../../src/store/transactions/transactions.ts'
import { toHex } from '../engines/sim/world.ts'
import {
  createHoldingsBench,
  DEPTH,
  freshAddress,
  SETTLEMENT,
  type HoldingsBench,
} from '../fixtures/books/holdings-bench.ts'
import { dollarAt } from '../fixtures/books/tokens.ts'
import { buildContracts } from '../fixtures/contracts/hardhat.ts'
import { placeMock } from '../fixtures/contracts/placed.ts'
import { togetherOf } from '../fixtures/together.ts'

const WEI = '0.000000000000000001'

describe('deposits of every kind', () => {
  let on: HoldingsBench

  before(buildContracts)
  beforeEach(async () => {
    on = await createHoldingsBench()
    await on.finalize()
  })
  after(() => on.bench.stop())

  const settle = (payee: Hex, reference: Hex, value: bigint) => {
    const args = [reference, payee] as const
    const data = encodeFunctionData({ abi: settlementAbi, functionName: 'settle', args })
    return on.send(SETTLEMENT, { data, value })
  }
  /** A checkout that waits to be paid under this reference. */
  const checkoutUnder = async (reference: Hex) => {
    const transactionId = `TX${'7'.repeat(20)}`
    const cause = { actor: 'test', reason: 'test' }
    const money = { amount: 5n, currency: 'ETH', description: 'A checkout' } as const
    const type = 'payment' as const
    const record = { transactionId, userId: on.user.id, type, ...money, ...cause }
    await recordTransaction(on.bench.db, record)
    await sql`
      insert into charges (transaction_id, gateway_id, kind, chain_id, reference)
      values (${transactionId}, 2, 'crypto', 31337, ${reference})`.execute(on.bench.db)
  }

  it('are not made of what pays a checkout, but of what names it and pays another', async () => {
    const reference = `0x${randomBytes(32).toString('hex')}` as const
    await checkoutUnder(reference)
    const payee = on.user.address
    await settle(payee, reference, 5n)
    on.deposits = { ...on.deposits, checkoutPayee: payee }
    await on.finalize()
    expect(await on.list()).to.deep.equal([])
    const { rows } = await sql<{ amount: bigint }>`
      select amount from own_arrivals where payee = ${payee}`.execute(on.bench.db)
    expect(rows).to.deep.equal([{ amount: 5n }])
    on.deposits = { ...on.deposits, checkoutPayee: on.platform }
    // The first part of a payment in two has all but the last byte.
    const part = reference.endsWith('01') ? '02' : '01'
    await settle(payee, `${reference.slice(0, -2)}${part}` as Hex, 6n)
    await on.finalize()
    expect((await on.list()).map(({ amount }) => amount)).to.deep.equal(['0.000000000000000006'])
    await on.look()
    expect(await on.gaps()).to.deep.equal([])
  })

  it('are of one wei and of all there is, of an address that is the platform’s too', async () => {
    const { id } = await on.userWithAddress(on.platform)
    await on.send(on.platform, { value: 1n })
    await on.send(on.user.address, { value: 10n ** 21n })
    await on.finalize()
    expect((await on.list()).map(({ userId, amount }) => [userId, amount])).to.deep.equal([
      [id, WEI],
      [on.user.id, '1000'],
    ])
    await on.look()
    expect(await on.gaps()).to.deep.equal([])
  })

  it('of hundreds by one transaction are each recorded, for one receipt', async () => {
    const first = 0xabc000000000
    await sql`
      insert into users (username, password_hash, scopes, address)
      select 'paid-' || n, password_hash, scopes,
        '0x' || lpad(to_hex(${first}::bigint + n), 40, '0')
      from users, generate_series(1, 300) n where id = ${on.user.id}`.execute(on.bench.db)
    const payees = Array.from(
      { length: 300 },
      (_, place): Hex => `0x${(first + place + 1).toString(16).padStart(40, '0')}`,
    )
    const references = payees.map((_, place) => pad(toHex(BigInt(first) + BigInt(place))))
    const amounts = payees.map((_, place) => BigInt(place + 1))
    const value = amounts.reduce((sum, amount) => sum + amount, 0n)
    const args = [references, payees, amounts] as const
    const data = encodeFunctionData({ abi: settlementAbi, functionName: 'settleBatch', args })
    const sent = { from: on.outside, to: SETTLEMENT, value: toHex(value), data, gas: '0x1c9c380' }
    await on.bench.world.rpc('eth_sendTransaction', [sent])
    await on.bench.world.mine(1 + DEPTH)
    on.asked = []
    await on.read()
    const receipts = on.asked.filter(({ method }) => method === 'eth_getTransactionReceipt')
    const deposits = await on.list()
    expect([deposits.length, receipts.length]).to.deep.equal([300, 1])
  })

  it('are of each token that is configured, in its own currency and to its last unit', async () => {
    const { world } = on.bench
    const at = await placeMock(world, { file: 'HostileTokens.sol', name: 'NoReturnToken' })
    const address = at.toLowerCase() as Hex
    const mute = { currency: 'MUTE', address, symbol: 'MUTE', decimals: 8, permitDomain: undefined }
    const tokens = [dollarAt(on.dollar), mute]
    const { readBlock } = on.deposits
    const providers = togetherOf([on.bench.provider('one', (call, forward) => forward(call))])
    const addresses = tokens.map((one) => one.address)
    const { signedOf } = on.bench
    const reader = { providers, tokens: addresses, settlement: SETTLEMENT, signedOf }
    on.deposits = { ...on.deposits, tokens, readBlock, incoming: createIncomingReader(reader) }
    on.balances = { ...on.balances, tokens }
    await on.look()
    const send = (signature: string, ...words: Hex[]) => {
      const data = selectorOf(signature) + words.map((word) => pad(word).slice(2)).join('')
      return on.send(address, { data: data as Hex })
    }
    await send('mint(address,uint256)', on.outside, toHex(10n ** 10n))
    await on.mint(on.user.address, 1_000_001n)
    const hash = await send('transfer(address,uint256)', on.user.address, toHex(200_000_001n))
    await on.look()
    const deposits = (await on.list()).map(({ currency, amount }) => [currency, amount])
    expect(deposits).to.deep.equal([
      ['USD', '1.000001'],
      ['MUTE', '2.00000001'],
    ])
    expect((await on.list())[1]).to.include({ hash, payer: on.outside, status: 'completed' })
    expect(await on.gaps()).to.deep.equal([])
  })

  it('are of what no gas was paid for, as bridges bring it', async () => {
    const { incoming } = on.deposits
    const receipt: typeof incoming.receipt = async (of, signal) => {
      return { ...(await incoming.receipt(of, signal)), gasUsed: 0n, gasPrice: 0n }
    }
    on.deposits = { ...on.deposits, incoming: { ...incoming, receipt } }
    await on.send(on.user.address, { value: 5n })
    await on.finalize()
    expect(await on.list()).to.have.length(1)
  })

  it('are of an address with code, which passes on what it gets: that is told', async () => {
    const other = freshAddress()
    // As a delegated account (EIP-7702) has it: it sends on the whole value of the call.
    const code = `0x5f5f5f5f3473${other.slice(2)}5af100`
    await on.look()
    const before = await on.head()
    await on.bench.world.rpc('anvil_setCode', [on.user.address, code])
    await on.send(on.user.address, { value: 9n })
    await on.look()
    expect(await on.list()).to.have.length(1)
    const [gap, ...more] = await on.gaps()
    expect(more).to.deep.equal([])
    expect(gap).to.include({ address: on.user.address, currency: 'ETH' })
    expect([gap!.unexplained, gap!.blocks[1]]).to.deep.equal(['-0.000000000000000009', before + 1])
  })
})
