import type { Chains } from '../api/chains.ts'
import type { ServedChain } from '../api/endpoints/all.ts'
import type { HealthCheck } from '../api/health.ts'
import { messageOf } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Watchdog } from '../base/watchdog.ts'
import type { ChainNames } from '../domain/chains.ts'
import type { LedgerContext, ProfiledStablecoin } from '../ledger/context.ts'
import type { PreparedOrder } from '../sender/prepare.ts'
import type { SenderContext } from '../sender/context.ts'
import { requireChain } from './chain.ts'
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
import { createPaying, type Paying } from './sender.ts'
import { startSigners, type OwnSigners } from './signers.ts'
import { startSupply } from './supply.ts'

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
  const here = { ...ground, ...opened }
  const suffix = isUsual ? '' : ` of ${opened.name}`
  const watch: Watchdog['watch'] = works
    ? (name, limitMs) => ground.watchdog.watch(`${name}${suffix}`, limitMs)
    : () => () => undefined
  const paying = await createPaying({
    ...here,
    onProgress: watch('sender', limits.senderStillMs),
    onMoved: createOnMoved(ledger),
    onEvent,
  })
  const rails = createChainRails({ ...here, paying, watch })
  const reconciliation = createReconciliation({
    ...here,
    signal,
    onProgress: watch('reconciler', limits.reconcilerStillMs),
  })
  if (works) {
    const loops = [paying.sender, ...rails.loops, reconciliation]
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
export function chainChecks({ all, waiting }: Chains<RunningChain>): HealthCheck[] {
  const running = all()
  const known: readonly ChainNames[] = [...running, ...waiting()]
  if (known.length === 1) {
    return [{ name: 'chain', check: () => requireChain(running[0].chain) }]
  }
  return [
    {
      name: 'chain',
      async check() {
        const first = Promise.any(running.map(({ chain }) => requireChain(chain)))
        await first.catch(() => requireChain(running[0].chain))
      },
    },
    ...known.map(({ name }) => ({ name: `chain ${name}`, check: () => tellOf(name, running) })),
  ]
}

async function tellOf(name: string, running: readonly RunningChain[]) {
  const found = running.find((one) => one.name === name)
  if (found === undefined) return { message: 'No provider has answered since the start.' }
  try {
    await requireChain(found.chain)
    return undefined
  } catch (error) {
    return { message: `It cannot be used now: ${messageOf(error)}` }
  }
}
