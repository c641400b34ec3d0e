import type { Chains } from '../api/chains.ts'
import type { ServedChain } from '../api/endpoints/all.ts'
import type { HealthCheck } from '../api/health.ts'
import { describeFinality } from '../base/chains/config.ts'
import { messageOf } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Watchdog } from '../base/watchdog.ts'
import { createBlockFeed } from '../chain/block-feed.ts'
import type { ChainNames } from '../domain/chains.ts'
import type { LedgerContext, ProfiledStablecoin } from '../ledger/context.ts'
import type { PreparedOrder } from '../sender/prepare.ts'
import type { SenderContext } from '../sender/context.ts'
import { requireChain, watchMs } from './chain.ts'
import type { Ground, OpenChain } from './ground.ts'
import {
  createBurning,
  createMinting,
  createOnMoved,
  createWithdrawing,
  dollarOf,
  type PreparedWithdrawal,
} from './ledger.ts'
import { createOperating } from './operations.ts'
import { createChainRails, type ChainRails } from './rails.ts'
import { createReconciliation } from './reconcile/reconciliation.ts'
import { readCursor } from '../store/orders/chain-cursor.ts'
import type { Db } from '../store/database/database.ts'
import { createPaying, type Paying } from './sender.ts'
import { startSigners, type OwnSigners } from './signers.ts'
import { startSupply } from './supply.ts'
import { followOrders } from './tracing/orders.ts'

/** A chain, the parts that work on it, and what its operations need. */
export type RunningChain = OpenChain &
  ServedChain<PreparedOrder, PreparedOrder, PreparedWithdrawal> & {
    paying: Paying
    rails: ChainRails
    ownSigners: OwnSigners
  }

/** Puts together what one chain takes, and starts what goes on there by itself. */
export async function startChainParts(
  ground: Ground,
  opened: OpenChain,
  of: {
    ledger: LedgerContext
    /** Whether this process works, and does not only serve. */
    works: boolean
    /** Whether it is the one that requests mean which name none. */
    isUsual: boolean
    onEvent: SenderContext['onEvent']
  },
): Promise<RunningChain> {
  const { ledger, works, isUsual, onEvent } = of
  const { shutdown } = ground
  const { signal } = shutdown
  const suffix = isUsual ? '' : ` of ${opened.name}`
  const watch: Watchdog['watch'] = works
    ? (name, limitMs) => ground.watchdog.watch(`${name}${suffix}`, limitMs)
    : () => () => undefined
  const blocks = createBlockFeed({
    ...ground,
    providers: opened.chain.providers,
    finality: opened.config.confirmations,
    intervalMs: watchMs(opened.chain, opened.config),
    onProgress: watch('block feed', limits.railsStillMs),
  })
  const here = { ...ground, ...opened, blocks: blocks.bell }
  const paying = await createPaying({
    ...here,
    onProgress: watch('sender', limits.senderStillMs),
    onMoved: createOnMoved(ledger),
    onEvent,
    traces: followOrders(here),
  })
  const rails = createChainRails({ ...here, paying, watch })
  const reconciliation = createReconciliation({
    ...here,
    signal,
    bell: ground.bells.of('runs'),
    onProgress: watch('reconciler', limits.reconcilerStillMs),
  })
  if (works) {
    const loops = [blocks.loop, paying.sender, ...rails.loops, reconciliation]
    const working = Promise.all(loops.map((loop) => loop.run(signal)))
    shutdown.add(`the work on ${opened.name}`, async () => void (await working))
  }
  const stablecoin: ProfiledStablecoin | undefined = dollarOf(here)
  startSupply(here, { ledger, stablecoin, works, watch })
  const ownSigners = startSigners(here, { signers: paying.signers, works, watch, suffix })
  return {
    ...opened,
    paying,
    rails,
    ownSigners,
    stablecoin,
    payments: paying.payments,
    minting: createMinting(paying, signal),
    burning: createBurning(paying, { issuer: stablecoin?.issuer, signal }),
    withdrawing: createWithdrawing(paying, {
      withdrawals: opened.config.withdrawals,
      hasSettlement: opened.contracts.settlement !== undefined,
      signal,
    }),
    ...reconciliation.ground,
    ...createOperating({ ...here, signers: paying.signers }),
  }
}

/**
 * One chain must answer for the program to serve. Of several, those that do not are shown, and hold
 * up no other one.
 */
export function chainChecks(db: Db, { all, waiting }: Chains<RunningChain>): HealthCheck[] {
  const running = all()
  const known: readonly ChainNames[] = [...running, ...waiting()]
  if (known.length === 1) {
    return [{ name: 'chain', check: () => requireChain(running[0].chain).then(() => undefined) }]
  }
  return [
    {
      name: 'chain',
      async check() {
        const first = Promise.any(running.map(({ chain }) => requireChain(chain)))
        await first.catch(() => requireChain(running[0].chain))
      },
    },
    ...known.map(({ name }) => ({
      name: `chain ${name}`,
      check: () =>
        tellOf(
          db,
          running.find((one) => one.name === name),
        ),
    })),
  ]
}

async function tellOf(db: Db, found: RunningChain | undefined): Promise<{ message: string }> {
  if (found === undefined) return { message: 'No provider has answered since the start.' }
  try {
    return { message: await describeChain(db, found) }
  } catch (error) {
    return { message: `It cannot be used now: ${messageOf(error)}` }
  }
}

/** Its providers, how far it is, what is final, what is on it, and what it lacks. */
async function describeChain(db: Db, found: RunningChain): Promise<string> {
  const { chain, chainId, config, contracts } = found
  const { confirmations } = config
  const answering = await requireChain(chain)
  const cursor = await readCursor(db, chainId)
  const tokens = contracts.tokens.map(({ currency }) => currency).filter((one) => one !== 'USD')
  return [
    `${answering} of ${chain.providers.all.length} providers answer`,
    cursor === undefined ? 'no block is read yet' : `block ${cursor.head.number}`,
    `${cursor?.final === undefined ? 'nothing is final yet' : `final to block ${cursor.final.number}`} (${describeFinality(confirmations)})`,
    contracts.settlement === undefined
      ? 'no settlement contract, so use_contract is refused'
      : `settlement at ${contracts.settlement}`,
    contracts.stablecoin === undefined
      ? 'no stablecoin, so mints and redeems are refused'
      : `${contracts.token?.symbol ?? 'the stablecoin'} at ${contracts.stablecoin}`,
    ...(tokens.length > 0 ? [`tokens ${tokens.join(', ')}`] : []),
  ].join(', ')
}
