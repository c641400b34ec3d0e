import { expect } from 'chai'
import { sql } from 'kysely'

import { createLogger } from '../../../src/base/logger.ts'
import type { Hex } from '../../../src/domain/orders.ts'
import { createSignerReader, type SignerReader } from '../../../src/sender/signers/reader.ts'
import { watchSigners } from '../../../src/sender/signers/watch.ts'
import {
  addressFrom,
  adminOf,
  CHAIN_ID,
  ETHER,
  GWEI,
  placeDollar,
  toHex,
} from '../../engines/sim/world.ts'
import { createBench, type Bench } from '../../fixtures/books/sender-bench.ts'
import { expectFailure } from '../../fixtures/errors.ts'

const ALLOWANCE = 1_000_000_000n
const FEES = { maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: GWEI }

describe('signers that show themselves', () => {
  let bench: Bench
  let dollar: Hex
  let reader: SignerReader
  let isSilent: boolean

  beforeEach(async () => {
    bench = await createBench()
    dollar = await placeDollar(bench.world, { minter: own(), allowance: ALLOWANCE })
    isSilent = false
    reader = createSignerReader({
      db: bench.db,
      clock: bench.clock,
      chainId: CHAIN_ID,
      platform: own(),
      mintsIn: dollar,
      quoteFees: () => Promise.resolve(FEES),
      providers: {
        ask: async ({ method, params }) => {
          if (isSilent) throw new Error('nobody answers')
          return { result: await bench.world.rpc(method, params ?? []), provider: 'node' }
        },
        request: async ({ method, params }) => bench.world.rpc(method, params ?? []),
      },
    })
  })
  after(() => bench.stop())

  const own = () => bench.signers.addresses[0]!
  const facts = async () => (await reader.platform(bench.signal))[0]!
  const kinds = async () => (await facts()).alerts.map(({ kind }) => kind)
  const fund = (wei: bigint) => bench.world.rpc('anvil_setBalance', [own(), toHex(wei)])
  const watch = () => {
    const logger = createLogger({ level: 'silent' })
    const { db, clock, signal } = bench
    return watchSigners({ db, clock, logger, chainId: CHAIN_ID, signers: reader }, signal)
  }
  const mint = (amount: bigint) => {
    const sender = bench.sender({ stablecoin: dollar })
    const order = bench.requestOf({ route: 'mint', payer: own(), amount })
    return sender.own(bench.db, own(), () => sender.prepare(bench.db, order, bench.signal))
  }

  it('show what the address has, signs, has on its way and has spent today', async () => {
    expect(reader.own).to.deep.equal([
      { address: own(), purposes: ['mints', 'withdrawals', 'refunds'] },
    ])
    const before = await facts()
    expect(before).to.include({ address: own(), onItsWay: 0, gasToday: 0n })
    expect(before.mint).to.deep.equal({ isMinter: true, allowance: ALLOWANCE })
    const first = await bench.pay({ payer: own() })
    expect(await facts()).to.include({ onItsWay: 1, nextNonce: before.nextNonce! + 1n })
    await bench.finish()
    const paid = await facts()
    expect(await bench.stateOf(first.order)).to.equal('completed')
    expect(paid.onItsWay).to.equal(0)
    expect(paid.gasToday).to.equal(before.balance! - paid.balance! - first.order.amount)
    // A hundred plain transfers at the fees of now, and not of what nobody has paid yet.
    expect(paid.needed).to.equal(100n * 21_000n * FEES.maxFeePerGas)
    bench.clock.advance(86_400_000)
    expect((await facts()).gasToday).to.equal(0n)
  })

  it('open an alert below the cost of a hundred payments, and close it when funded', async () => {
    const { needed = 0n } = await facts()
    await fund(needed - 1n)
    await watch()
    await watch()
    expect(await kinds()).to.deep.equal(['signer_funds_low'])
    await fund(needed)
    await watch()
    expect(await kinds()).to.deep.equal([])
  })

  it('change no alert while nobody says what the address has', async () => {
    await fund(1n)
    await watch()
    await fund(ETHER)
    isSilent = true
    await watch()
    expect(await facts()).to.include({ balance: undefined, mint: undefined })
    expect(await kinds()).to.deep.equal(['signer_funds_low'])
    isSilent = false
    await watch()
    expect(await kinds()).to.deep.equal([])
  })

  it('tell the operator, and not the caller, where the platform may not mint', async () => {
    const as = await adminOf(bench.world, dollar)
    await expectFailure(() => mint(ALLOWANCE + 1n), 'mint_allowance_exceeded')
    await as('removeMinter(address)', own())
    await watch()
    expect(await kinds()).to.deep.equal(['mint_allowance_exceeded'])
    await expectFailure(() => mint(1n), 'minter_missing')
    expect(await kinds()).to.deep.equal(['mint_allowance_exceeded', 'minter_missing'])
    await as('configureMinter(address,uint256)', own(), toHex(ALLOWANCE))
    await watch()
    expect(await kinds()).to.deep.equal([])
    await mint(1n)
  })

  it('open an alert while the token has frozen the platform, and close it afterwards', async () => {
    const as = await adminOf(bench.world, dollar)
    await as('freeze(address)', own())
    await watch()
    await watch()
    // Freezing takes its allowance as well.
    expect(await kinds()).to.have.members(['signer_frozen', 'mint_allowance_used_up'])
    await as('unfreeze(address)', own())
    await watch()
    expect(await kinds()).to.deep.equal(['mint_allowance_used_up'])
  })

  it('tell the operator where the platform lacks the gas of what it was asked to pay', async () => {
    await fund(1n)
    await expectFailure(() => mint(1n), 'signer_funds_low')
    expect(await kinds()).to.deep.equal(['signer_funds_low'])
    expect(await bench.isEmpty()).to.equal(true)
  })

  it('show the addresses of more than a thousand users page by page', async () => {
    const count = 1_050
    const names = Array.from({ length: count }, (_, place) => `user-${place}`)
    const addresses = names.map((name) => addressFrom(name))
    await sql`
      insert into users (username, password_hash, scopes, address)
      select name, '$argon2id$none', '{transactions:read}', address
      from unnest(${names}::text[], ${addresses}::text[]) as u (name, address)`.execute(bench.db)
    const seen: string[] = []
    for (let afterId = 0; ;) {
      const page = await reader.users({ afterId, limit: 100 }, bench.signal)
      if (page.length === 0) break
      expect(page.length).to.be.at.most(100)
      seen.push(...page.map(({ address }) => address))
      afterId = page.at(-1)!.userId
    }
    expect(seen).to.deep.equal(addresses)
  })

  it('read USDC, which has no list of minters', async () => {
    // PUSH1 1 PUSH0 MSTORE PUSH1 32 PUSH0 RETURN: any call is answered by 1, a list by none.
    await bench.world.rpc('anvil_setCode', [dollar, '0x60015f5260205ff3'])
    expect((await facts()).mint).to.deep.equal({ isMinter: true, allowance: 1n })
  })
})
