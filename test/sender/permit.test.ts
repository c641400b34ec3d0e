import { expect } from 'chai'
import { keccak256, stringToHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'

import { settlementAddress } from '../../src/bindings/addresses.ts'
import { selectorOf } from '../../src/chain/read/events.ts'
import { permitPayload } from '../../src/chain/read/permit.ts'
import { connectWeb3Signer } from '../../src/chain/signers/web3signer.ts'
import type { Hex, Order } from '../../src/domain/orders.ts'
import type { Token } from '../../src/domain/tokens.ts'
import { createAccounts } from '../../src/sender/accounts.ts'
import type { Sender } from '../../src/sender/sender.ts'
import { signOutside } from '../../src/sender/signers/sign-outside.ts'
import { transact } from '../../src/store/database/transact.ts'
import { listAttemptsOf } from '../../src/store/orders/attempts.ts'
import { findOrderOf } from '../../src/store/orders/orders.ts'
import { addressFrom, ETHER, placeDollar, toHex } from '../engines/sim/world.ts'
import { runOnce, runsDeps } from '../fixtures/books/runs.ts'
import { createBench, type Bench } from '../fixtures/books/sender-bench.ts'
import { permittedDollarAt } from '../fixtures/books/tokens.ts'
import { startWeb3Signer } from '../fixtures/chain/web3signer.ts'

const SETTLEMENT = settlementAddress.toLowerCase() as Hex

describe('paying in a token by a permit', () => {
  let bench: Bench
  let dollar: Hex
  let token: Token
  let sender: Sender

  beforeEach(async () => {
    bench = await createBench()
    const minter = bench.signers.addresses[0]!
    dollar = await placeDollar(bench.world, { minter, allowance: 10n ** 9n })
    token = await permittedDollarAt(bench.world, dollar)
    sender = bench.sender({ stablecoin: dollar, tokens: [token] })
    const mint = { route: 'mint', payer: minter, payee: payer(), amount: 10_000n } as const
    await sender.pay(bench.requestOf(mint), bench.signal)
    await finish()
  })
  after(() => bench.stop())

  const payer = () => bench.signers.addresses[1]!

  const finish = async () => {
    for (let round = 0; round < 20 && !(await bench.isEmpty()); round++) {
      await bench.pass(sender)
      await bench.world.mine(1)
    }
  }

  const prepared = (amount: bigint, by = sender) => {
    const request = { route: 'token', payer: payer(), amount, withAllowance: true } as const
    return by.prepare(bench.db, bench.requestOf(request), bench.signal)
  }
  const pay = async (amount: bigint, by = sender): Promise<Order> => {
    const one = await prepared(amount, by)
    return (await transact(bench.db, (db) => by.accept(db, one))).order
  }

  const read = async (signature: string, ...words: Hex[]): Promise<bigint> => {
    const data = selectorOf(signature) + words.map((one) => one.slice(2).padStart(64, '0')).join('')
    return BigInt(String(await bench.world.rpc('eth_call', [{ to: dollar, data }, 'latest'])))
  }
  const balanceOf = (address: Hex) => read('balanceOf(address)', address)
  const allowance = () => read('allowance(address,address)', payer(), SETTLEMENT)
  const gasOf = async (order: Order) =>
    (await listAttemptsOf(bench.db, order)).at(-1)!.block!.gasUsed

  it('takes one transaction, leaves no allowance, and costs less than two', async () => {
    const first = await pay(10n)
    await finish()
    const paid = await pay(20n)
    expect(paid).to.include({ route: 'permit', contract: SETTLEMENT, token: dollar, amount: 20n })
    await finish()
    expect(await bench.stateOf(paid)).to.equal('completed')
    expect(await balanceOf(first.payee)).to.equal(10n)
    expect(await balanceOf(paid.payee)).to.equal(20n)
    expect(await allowance()).to.equal(0n)
    expect(await bench.world.nonceOf(payer())).to.equal(2n)
    const plain = bench.sender({ stablecoin: dollar })
    const other = await pay(20n, plain)
    await finish()
    const before = (await findOrderOf(bench.db, `${other.subject}-allowance`))!
    const byAllowance = (await gasOf(other)) + (await gasOf(before))
    const byPermit = await gasOf(paid)
    expect(Number(byPermit)).to.be.lessThan(Number(byAllowance) * 0.85)
  })

  it('is matched by reconciliation, from the signed bytes and from the chain', async () => {
    await pay(10n)
    await finish()
    const run = await runOnce(runsDeps({ db: bench.db, urls: [bench.url] }))
    // Beside it, the mint to the payer.
    expect(run.totals).to.include({ records: 2, matched: 2, breaks: 0 })
  })

  it('is for one payment at a time: what comes meanwhile goes by an allowance', async () => {
    const three = [await prepared(10n), await prepared(20n), await prepared(30n)]
    const results = await transact(bench.db, (db) => sender.acceptNew(db, three.slice(0, 2)))
    const late = await transact(bench.db, (db) => sender.accept(db, three[2]!))
    const later = await pay(40n)
    const orders = results.map((one) => (one.ok ? one.value.order : undefined)!)
    expect([...orders, late.order, later].map(({ route }) => route)).to.deep.equal([
      'permit',
      'token',
      'token',
      'token',
    ])
    await finish()
    for (const order of [...orders, late.order, later]) {
      expect(await bench.stateOf(order)).to.equal('completed')
      expect(await balanceOf(order.payee)).to.equal(order.amount)
    }
    expect(await allowance()).to.equal(0n)
    expect((await pay(50n)).route).to.equal('permit')
  })

  it('uses no permit that was signed before another one was used up', async () => {
    const old = await prepared(10n)
    await pay(20n)
    await finish()
    const { order } = await transact(bench.db, (db) => sender.accept(db, old))
    expect(order.route).to.equal('token')
    await finish()
    expect(await bench.stateOf(order)).to.equal('completed')
  })

  it('pays once where somebody uses the permit ahead of the payment', async () => {
    const order = await pay(10n)
    const [, , , , deadline, v, r, s] = (order.calldata ?? '').slice(10).match(/.{64}/g)!
    const [stranger] = (await bench.world.rpc('eth_accounts')) as [Hex]
    const words = [payer(), SETTLEMENT].map((one) => one.slice(2).padStart(64, '0'))
    const amount = toHex(10n).slice(2).padStart(64, '0')
    const signature = 'permit(address,address,uint256,uint256,uint8,bytes32,bytes32)'
    const data = selectorOf(signature) + [...words, amount, deadline, v, r, s].join('')
    await bench.world.rpc('eth_sendTransaction', [{ from: stranger, to: dollar, data }])
    await bench.world.mine(1)
    expect(await allowance()).to.equal(10n)
    await finish()
    expect(await bench.stateOf(order)).to.equal('completed')
    expect(await balanceOf(order.payee)).to.equal(10n)
  })

  it('is replaced and cancelled as any other payment is, and the next one is paid', async () => {
    const order = await pay(10n)
    await bench.pass(sender)
    for (let pass = 0; pass < 5; pass++) await bench.pass(sender)
    const attempts = await listAttemptsOf(bench.db, order)
    expect(attempts.length).to.be.greaterThan(1)
    await sender.cancel(order.id)
    await finish()
    expect(await bench.stateOf(order)).to.equal('failed')
    const next = await pay(20n)
    expect(next.route).to.equal('permit')
    await finish()
    expect(await bench.stateOf(next)).to.equal('completed')
    expect(await balanceOf(order.payee)).to.equal(0n)
  })

  it('gives way to an allowance where the signer signs transactions alone', async () => {
    const { addresses, sign } = bench.signers
    const by = bench.sender({ stablecoin: dollar, tokens: [token], signers: { addresses, sign } })
    const order = await pay(10n, by)
    expect(order.route).to.equal('token')
    await finish()
    expect(await bench.stateOf(order)).to.equal('completed')
  })

  it('is signed by a Web3Signer, which is asked for the bytes that the token hashes', async () => {
    const { db, signal, world } = bench
    const key = keccak256(stringToHex('permit by a Web3Signer'))
    const remote = await startWeb3Signer({ keys: [key] })
    try {
      const addresses = [privateKeyToAddress(key)]
      const { url } = remote
      const remotes = await connectWeb3Signer({ url, addresses, signal, timeoutMs: 5000 })
      const accounts = await createAccounts({ signers: remotes, db })
      const payer = accounts.platform
      await world.rpc('anvil_setBalance', [payer, toHex(ETHER)])
      const minter = bench.signers.addresses[0]!
      const mint = { route: 'mint', payer: minter, payee: payer, amount: 30n } as const
      await sender.pay(bench.requestOf(mint), signal)
      await finish()
      const signers = {
        addresses: [payer],
        sign: signOutside((by, what) => accounts.sign(by, what, signal), accounts.isHere),
        signTyped: (by: Hex, payload: Hex) => accounts.signTyped(by, payload, signal),
      }
      sender = bench.sender({ stablecoin: dollar, tokens: [token], pool: [payer], signers })
      const wanted = { route: 'token', payer, amount: 30n, withAllowance: true } as const
      const prepared = await sender.prepare(db, bench.requestOf(wanted), signal)
      const { order } = await transact(db, (db) => sender.accept(db, prepared))
      expect(order.route).to.equal('permit')
      const asked = remote.asked.map(({ data }) => data ?? '')
      expect(asked.filter((data) => /^0x1901[0-9a-f]{128}$/.test(data))).to.have.length(1)
      await finish()
      expect(await bench.stateOf(order)).to.equal('completed')
      expect(await balanceOf(order.payee)).to.equal(30n)
    } finally {
      await remote.stop()
    }
  })

  it('gives way to an allowance where the token refuses it', async () => {
    // The domain of another token: whatever is signed for it is refused here.
    const permitDomain = { ...token.permitDomain!, separator: `0x${'17'.repeat(32)}` as const }
    const by = bench.sender({ stablecoin: dollar, tokens: [{ ...token, permitDomain }] })
    const order = await pay(10n, by)
    expect(order.route).to.equal('token')
    await finish()
    expect(await bench.stateOf(order)).to.equal('completed')
  })

  it('is signed as the token hashes it', () => {
    const [owner, spender] = [addressFrom('owner'), addressFrom('spender')]
    const terms = { owner, spender, value: 1n, nonce: 2n, deadline: 3n }
    expect(permitPayload(token.permitDomain!, terms)).to.match(/^0x1901[0-9a-f]{128}$/)
  })
})
