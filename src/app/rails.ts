import { randomBytes } from 'node:crypto'

import type { PaymentDesk } from '../api/endpoints/api/payments/create.ts'
import type { PayBack } from '../api/endpoints/api/payments/refund.ts'
import type { PayingBank } from '../api/endpoints/v1/sides.ts'
import type { GatewayDoor } from '../api/gateway-routes.ts'
import type { Bell, Bells } from '../base/bells.ts'
import { once, recent } from '../base/cache.ts'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../base/config.ts'
import { limits } from '../base/limits.ts'
import type { Logger } from '../base/logger.ts'
import { createLoop, type Loop, type LoopOptions } from '../base/loop.ts'
import type { RailsConfig } from '../base/rails-config.ts'
import type { Shutdown } from '../base/shutdown.ts'
import type { Watchdog } from '../base/watchdog.ts'
import { createBlockReader } from '../chain/read/blocks.ts'
import type { FoundContracts } from '../chain/read/contracts.ts'
import { createFinal } from '../chain/read/final.ts'
import { createHoldingReader } from '../chain/read/holdings.ts'
import { createIncomingReader } from '../chain/read/incoming.ts'
import { createPaidReceiptReader } from '../chain/read/paid-receipts.ts'
import { createSettlementReader } from '../chain/read/settlements.ts'
import { readIsFrozen } from '../chain/read/frozen.ts'
import { readPause } from '../chain/read/token-state.ts'
import { NETWORKS } from '../deploy/networks.ts'
import type { Institution } from '../domain/gateways.ts'
import type { Hex } from '../domain/orders.ts'
import { BALANCE_POLICY, balancePass } from '../rails/balances.ts'
import { createBank, institutionsOf, type Bank } from '../rails/bank.ts'
import { CHARGE_POLICY } from '../rails/charge-deps.ts'
import { createCheckoutSeen, type CheckoutSeen } from '../rails/checkout-seen.ts'
import { checkoutPass, judgeOverpaid, type CheckoutTerms } from '../rails/checkout.ts'
import { depositPass } from '../rails/deposits.ts'
import { createPaymentGateways } from '../rails/desk.ts'
import { createOwnBank } from '../rails/own/bank.ts'
import {
  createWireRail,
  moveTransferByWire,
  WIRE_POLICY,
  type OnWireMoved,
} from '../rails/wire-rail.ts'
import { lower } from '../sender/accounts.ts'
import { createPayBack } from '../sender/pay-back.ts'
import type { Db } from '../store/database/database.ts'
import { listSigned } from '../store/rails/deposits.ts'
import { watchMs, type Chain } from './chain.ts'
import type { Paying } from './sender.ts'
import { SANDBOX_DAY_MS, startSimulators } from './simulators.ts'
import { defaultBankOf, type OwnParts } from './start/own-parts.ts'

export type Rails = {
  /** What the endpoints of payments and transfers need, and the usual bank. */
  ground: {
    desk: PaymentDesk
    institutions: readonly Institution[]
    /** Wires are sent soon even without it. */
    kickWires: () => void
    /** Pays for Group A. */
    bank: PayingBank
  }
  /** Where the simulated parties are; absent: there are none. */
  simulators: Record<string, string> | undefined
  /** Where gateways and payers come in. */
  door: GatewayDoor
  /** Moves what there is to move, until the signal ends it. */
  run: (signal: AbortSignal) => Promise<void>
  /** Tells simulated parties where this program is reached. */
  announce: (url: string) => void
}

type Deps = { db: Db; clock: Clock; logger: Logger }

/** What of the rails follows one chain: its checkout, and what comes to our addresses there. */
export type ChainRails = {
  /** Undefined where the chain has no contract to be paid through. */
  terms: CheckoutTerms | undefined
  seen: CheckoutSeen | undefined
  payBack: PayBack | undefined
  loops: Loop[]
}

export function createChainRails(
  options: Deps & {
    config: Config
    shutdown: Shutdown
    chain: Chain
    /** Of what happens in final blocks. */
    blocks: Bell
    /** What gas is paid in there. */
    coin: string
    contracts: FoundContracts
    /** Pays, and signs for the platform's own address. */
    paying: Paying
    watch: Watchdog['watch']
  },
): ChainRails {
  const { platform, sender } = options.paying
  const deposits = createDeposits({ ...options, platform })
  const checkout = createCheckout({ ...options, platform })
  const { signal } = options.shutdown
  return {
    terms: checkout?.terms,
    seen: checkout?.seen,
    // Where another address is paid, this program does not sign for it.
    payBack:
      checkout?.terms.payee === platform
        ? createPayBack({ sender, payer: platform, signal })
        : undefined,
    loops: [...(checkout ? [checkout.loop] : []), ...deposits],
  }
}

/** Everything that moves money outside of the chains, with simulated parties in the sandbox. */
export async function startRails(
  options: Deps & {
    config: Config
    role: 'up' | 'serve' | 'work'
    own: OwnParts
    shutdown: Shutdown
    bells: Bells
    /** Of the chains that are open now. */
    chains: () => ReadonlyArray<{ chainId: number; rails: ChainRails }>
    /** What the ledger makes of wires that pay its own payments and redeems. */
    moveByWire: OnWireMoved
    watch: Watchdog['watch']
  },
): Promise<Rails> {
  const { config, role, own, shutdown, bells, chains } = options
  const isSimulated = role === 'up' && config.environment === 'sandbox'
  const simulators = isSimulated ? await startSimulators({ config, shutdown }) : undefined
  const parties = simulators?.rails ?? config.rails
  // Known once the server listens, and nobody is sent to it before.
  let ownUrl = `http://${config.host}:${config.port}`
  const wires = createWires({ ...options, parties, isSimulated })
  const { desk, door, rail } = createPaymentGateways({
    ...options,
    parties,
    own: own.gateways,
    policy: isSimulated ? QUICK_CHARGES : CHARGE_POLICY,
    bell: bells.of('charges'),
    onProgress: options.watch('charges', limits.railsStillMs),
    publicUrl: () => parties.publicUrl ?? ownUrl,
    checkouts: () => byChain(chains(), ({ terms }) => terms),
    seenOn: (chainId) => chains().find((one) => one.chainId === chainId)?.rails.seen,
    signal: shutdown.signal,
  })
  const kickWires = bells.of('wires').ring
  return {
    ground: {
      desk: { ...desk, payBacks: () => byChain(chains(), ({ payBack }) => payBack) },
      institutions: institutionsOf(parties, own.banks),
      kickWires,
      bank:
        parties.usual.bank || defaultBankOf(own) !== undefined ? { kick: kickWires } : undefined,
    },
    door,
    simulators: simulators?.urls,
    async run(signal) {
      await Promise.all([rail, wires].map(async (loop) => loop?.run(signal)))
    },
    announce(url) {
      ownUrl = url
      simulators?.announce(url)
    },
  }
}

function byChain<Part>(
  chains: ReadonlyArray<{ chainId: number; rails: ChainRails }>,
  partOf: (rails: ChainRails) => Part | undefined,
): Map<number, Part> {
  return new Map(
    chains.flatMap(({ chainId, rails }): [number, Part][] => {
      const part = partOf(rails)
      return part === undefined ? [] : [[chainId, part]]
    }),
  )
}

function createWires(
  deps: Deps & {
    parties: RailsConfig
    own: OwnParts
    isSimulated: boolean
    bells: Bells
    moveByWire: OnWireMoved
    watch: Watchdog['watch']
  },
): Loop | undefined {
  const { db, clock, logger, parties, own, moveByWire } = deps
  const banks = new Map<string | undefined, Bank>()
  for (const [name, bank] of parties.named.bank) banks.set(name, createBank(bank))
  if (parties.usual.bank) banks.set(undefined, createBank(parties.usual.bank))
  for (const bank of own.banks ?? []) banks.set(bank.name, createOwnBank(bank))
  if (banks.size === 0) return undefined
  return createWireRail({
    db,
    clock,
    logger,
    banks,
    policy: deps.isSimulated ? QUICK_WIRES : WIRE_POLICY,
    bell: deps.bells.of('wires'),
    onProgress: deps.watch('wires', limits.railsStillMs),
    onMoved: async (db, moved) => {
      if (moved.purpose === 'transfer') await moveTransferByWire(db, moved)
      await moveByWire(db, moved)
    },
  })
}

/** Our own checkout, where there is a contract to be paid through. */
function createCheckout(
  deps: Deps & {
    config: Config
    chain: Chain
    blocks: Bell
    coin: string
    contracts: FoundContracts
    platform: Hex
    watch: Watchdog['watch']
    shutdown: Shutdown
  },
): { terms: CheckoutTerms; loop: Loop; seen: CheckoutSeen } | undefined {
  const { db, clock, logger, config, chain, contracts } = deps
  if (contracts.settlement === undefined) return undefined
  const { providers, chainId } = chain
  const payee = checkoutPayeeOf(deps)
  const stablecoin = contracts.stablecoin && lower(contracts.stablecoin)
  const terms: CheckoutTerms = {
    chainId,
    coin: deps.coin,
    settlement: lower(contracts.settlement),
    payee,
    stablecoin,
    tokenName: nameOfToken(contracts.token?.symbol, chainId),
    tokenSymbol: contracts.token?.symbol ?? undefined,
    seller: config.rails.seller,
    permitDomain: contracts.token?.permitDomain,
    readObstacle: stablecoin && obstacleReader(providers, { token: stablecoin, account: payee }),
  }
  const checkout = {
    db,
    clock,
    logger,
    terms,
    readFinal: createFinal({ providers, finality: config.confirmations }),
    readBlock: createBlockReader(providers),
    settlements: createSettlementReader({ providers, ...terms }),
    readReceipt: createPaidReceiptReader(providers),
  }
  const judgeOnce = once(async () => judgeOverpaid(checkout))
  const loop = loopOf(deps, {
    name: 'checkout',
    bell: deps.blocks,
    intervalMs: watchMs(chain, config),
    onProgress: deps.watch('checkout', limits.railsStillMs),
    async pass(signal) {
      await judgeOnce()
      return checkoutPass(checkout, signal)
    },
  })
  const readHead = createFinal({ providers, finality: 1 })
  const seen = createCheckoutSeen({ ...checkout, readHead, signal: deps.shutdown.signal })
  return { terms, loop, seen }
}

function nameOfToken(symbol: string | null | undefined, chainId: number): string | undefined {
  if (symbol === undefined || symbol === null) return undefined
  const network = Object.values(NETWORKS).find((one) => one.chainId === chainId)
  return `${symbol} on ${network?.title ?? `chain ${chainId}`}`
}

/** Asked once for all who ask within a few seconds. */
function obstacleReader(
  providers: Chain['providers'],
  of: { token: Hex; account: Hex },
): NonNullable<CheckoutTerms['readObstacle']> {
  return recent({
    maxAgeMs: OBSTACLE_MS,
    now: () => performance.now(),
    load: async () => {
      const signal = AbortSignal.timeout(limits.healthCheckMs)
      const [isPaused, isFrozen] = await Promise.all([
        readPause(providers, { ...of, signal }),
        readIsFrozen(providers.request, { ...of, signal }),
      ])
      return isPaused === true ? 'token_paused' : isFrozen ? 'payee_frozen' : undefined
    },
  })
}

const OBSTACLE_MS = 2000

function checkoutPayeeOf({ config, platform }: { config: Config; platform: Hex }): Hex {
  return lower(config.rails.checkoutPayee ?? platform)
}

/** What comes to users' addresses by itself, and what all addresses of ours hold. */
function createDeposits(
  deps: Deps & {
    config: Config
    chain: Chain
    blocks: Bell
    coin: string
    contracts: FoundContracts
    platform: Hex
    watch: Watchdog['watch']
  },
): Loop[] {
  const { db, clock, logger, config, chain, contracts } = deps
  const { providers, chainId } = chain
  const settlement = contracts.settlement && lower(contracts.settlement)
  const { tokens } = contracts
  const own = [deps.platform]
  const shared = { db, clock, logger, chainId, coin: deps.coin, tokens, own }
  const deposits = {
    ...shared,
    checkoutPayee: checkoutPayeeOf(deps),
    randomBytes,
    readFinal: createFinal({ providers, finality: config.confirmations }),
    readBlock: createBlockReader(providers),
    incoming: createIncomingReader({
      providers,
      tokens: tokens.map(({ address }) => address),
      settlement,
      signedOf: (hashes) => listSigned(db, { chainId, hashes }),
    }),
  }
  const balances = {
    ...shared,
    holding: createHoldingReader(providers),
    policy: BALANCE_POLICY,
  }
  // The node may no longer have the balances of the block at which the program ended, so those of
  // a newer one are compared, once it is known what arrived up to there.
  let hasCaughtUp = false
  const comparing = loopOf(deps, {
    name: 'balances',
    intervalMs: 10_000,
    pass: async (signal) => hasCaughtUp && balancePass(balances, signal),
  })
  const watching = loopOf(deps, {
    name: 'deposits',
    bell: deps.blocks,
    intervalMs: watchMs(chain, config),
    async pass(signal) {
      const hasMore = await depositPass(deposits, signal)
      if (!hasMore && !hasCaughtUp) {
        hasCaughtUp = true
        comparing.kick()
      }
      return hasMore
    },
    onProgress: deps.watch('deposits', limits.railsStillMs),
  })
  // Nobody is turned away because a node no longer has the balances of a block.
  return [watching, comparing]
}

/** A pass says whether there is more, and is repeated until there is not. */
function loopOf(
  { clock, logger }: Pick<Deps, 'clock' | 'logger'>,
  loop: Pick<LoopOptions, 'name' | 'intervalMs' | 'bell' | 'onProgress'> & {
    pass: (signal: AbortSignal) => Promise<boolean>
  },
): Loop {
  return createLoop({
    clock,
    logger,
    ...loop,
    async pass(signal) {
      while (!signal.aborted && (await loop.pass(signal))) loop.onProgress?.()
      return Infinity
    },
  })
}

const QUICK_CHARGES = {
  ...CHARGE_POLICY,
  pollIntervalMs: 500,
  firstLookMs: 1000,
  maxLookMs: 10_000,
}

const QUICK_WIRES = {
  pollIntervalMs: 500,
  firstLookMs: 200,
  maxLookMs: 5000,
  maxPaidLookMs: 5000,
  returnWindowMs: 14 * SANDBOX_DAY_MS,
  leaseMs: 60_000,
}
