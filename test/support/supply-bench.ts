import type { Clock } from '../../src/base/clock.ts'
import { createLogger } from '../../src/base/logger.ts'
import { burnCalldata } from '../../src/chain/burn.ts'
import { selectorOf } from '../../src/chain/events.ts'
import { createProviders, type Providers } from '../../src/chain/providers.ts'
import { createFinal } from '../../src/chain/final.ts'
import { createSupplyReader } from '../../src/chain/supply.ts'
import type { Minting } from '../../src/api/group-a/minting.ts'
import type { Hex } from '../../src/domain/orders.ts'
import type { LedgerContext } from '../../src/ledger/context.ts'
import { moveByMint } from '../../src/ledger/mints.ts'
import { createSupplyWatch, type SupplyWatch } from '../../src/ledger/watch-supply.ts'
import type { SenderPolicy } from '../../src/sender/context.ts'
import type { PreparedOrder } from '../../src/sender/prepare.ts'
import type { Sender } from '../../src/sender/sender.ts'
import type { Db } from '../../src/store/database.ts'
import { readSolvency, type Solvency } from '../../src/store/supply.ts'
import { createTestClock, type TestClock } from './clock.ts'
import { ledgerOf } from './money.ts'
import { createBench, type Bench } from './sender-bench.ts'
import { TEST_POLICY } from './sender.ts'
import { CHAIN_ID, placeDollar } from './sim/world.ts'

/** A ledger with its stablecoin on a chain that mines when the test says so. */
export type SupplyBench = {
  bench: Bench
  dollar: Hex
  minter: Hex
  sender: Sender
  ledger: LedgerContext
  /** The ledger's; the chain keeps the time of the machine. */
  clock: TestClock
  minting: Minting<PreparedOrder>
  watch: SupplyWatch
  /** Passes of the sender, blocks and passes of the watch, until nothing is left to decide. */
  settle: () => Promise<void>
  /** The holder's money is gone, with this memo. */
  burn: (burn: { holder: Hex; amount: bigint; memo: Hex; token?: Hex }) => Promise<void>
  /** Money that no order asked for. */
  mintAside: (to: Hex, amount: bigint, memo: Hex, token?: Hex) => Promise<void>
  solvency: () => Promise<Solvency | undefined>
}

/** What goes on by itself works through `through`, where a test gives one. */
export async function createSupplyBench(
  options: {
    through?: (db: Db) => Db
    policy?: Partial<SenderPolicy>
    /** What the watch asks; absent, the chain itself. */
    asks?: (bench: Bench) => Pick<Providers, 'all' | 'askAll'>
  } = {},
): Promise<SupplyBench> {
  const bench = await createBench()
  const { world, signal } = bench
  const db = options.through?.(bench.db) ?? bench.db
  const clock = createTestClock(new Date())
  const minter = bench.signers.addresses[0]!
  const dollar = await placeDollar(world, { minter, allowance: 10n ** 15n })
  const stablecoin = { token: dollar, chainId: CHAIN_ID, profile: 'memo' as const }
  const ledger = ledgerOf({ stablecoin, clock })
  const sender = bench.sender({
    db,
    ...(options.policy && { policy: options.policy }),
    stablecoin: dollar,
    onMoved: async (open, moves) => {
      for (const move of moves) await moveByMint(ledger, open, move)
    },
  })
  const watch = watchOf({ ...bench, db }, { ledger, stablecoin, asked: options.asks?.(bench) })
  const as = async (from: Hex, to: Hex, data: string) => {
    await world.rpc('anvil_impersonateAccount', [from])
    await world.rpc('anvil_setBalance', [from, '0xde0b6b3a7640000'])
    await world.rpc('eth_sendTransaction', [{ from, to, data, gas: '0x7a120' }])
    await world.mine(1)
  }
  return {
    bench,
    dollar,
    minter,
    sender,
    ledger,
    clock,
    watch,
    minting: {
      prepare: (open, mint) =>
        sender.prepare(open, { ...mint, route: 'mint', payer: minter }, signal),
      accept: sender.accept,
      kick: sender.kick,
    },
    async settle() {
      for (let round = 0; round < 20; round++) {
        await bench.pass(sender)
        await world.mine(1)
        if (await bench.isEmpty()) break
      }
      await world.mine(TEST_POLICY.confirmations as number)
      while (await watch.pass(signal)) continue
    },
    burn: ({ holder, amount, memo, token = dollar }) =>
      as(holder, token, burnCalldata({ amount, memo })),
    mintAside: (to, amount, memo, token = dollar) => {
      const words = [to.slice(2), amount.toString(16), memo.slice(2)]
      const data = words.map((word) => word.padStart(64, '0')).join('')
      return as(minter, token, selectorOf('mintWithMemo(address,uint256,bytes32)') + data)
    },
    solvency: () => readSolvency(bench.db, stablecoin),
  }
}

export function watchOf(
  { db, clock, world }: { db: Db; clock: Clock; world: { url: string } },
  deps: {
    ledger: LedgerContext
    stablecoin: { token: Hex; chainId: number }
    asked?: Pick<Providers, 'all' | 'askAll'> | undefined
  },
): SupplyWatch {
  const { ledger: context, stablecoin, asked } = deps
  const urls = [world.url]
  const providers = asked ?? createProviders({ urls, chainId: CHAIN_ID, clock, random: () => 0 })
  return createSupplyWatch({
    db,
    context,
    stablecoin,
    clock,
    readFinal: createFinal({ providers, finality: TEST_POLICY.confirmations }),
    supply: createSupplyReader({ providers, token: stablecoin.token }),
    logger: createLogger({ level: 'silent' }),
    pollIntervalMs: 100,
  })
}
