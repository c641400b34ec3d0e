import { randomBytes } from 'node:crypto'

import { collectDefaultMetrics, Registry } from 'prom-client'

import type { HealthCheck } from './api/health.ts'
import { listen, requireListenable, type Where } from './api/server/listen.ts'
import { createServer, createStatusServer } from './api/server/server.ts'
import { requireChain, SANDBOX_MNEMONIC, startChain, type Chain } from './app/chain.ts'
import { startContracts } from './app/contracts.ts'
import { requireMigrated, startDatabase } from './app/database.ts'
import {
  createBurning,
  createLedger,
  createMinting,
  createOnMoved,
  createWithdrawing,
} from './app/ledger.ts'
import { startMaintenance } from './app/maintenance.ts'
import { countProviders, countSender, measureOrders, measureWebhooks } from './app/metrics.ts'
import { createOperating, createOperations } from './app/operations.ts'
import { loadPages } from './app/pages.ts'
import { requireDurable, requireShared } from './app/requirements.ts'
import { startRails, type Rails } from './app/rails.ts'
import {
  createReconciliation,
  measureBreaks,
  type Reconciliation,
} from './app/reconcile/reconciliation.ts'
import { keepSamples } from './app/samples.ts'
import { createPaying, type Paying } from './app/sender.ts'
import { startSigners } from './app/signers.ts'
import { startSupply } from './app/supply.ts'
import { requireTrustedProviders } from './app/trusted-providers.ts'
import { startWebhooks, type Webhooks } from './app/webhooks.ts'
import { systemClock, type Clock } from './base/clock.ts'
import type { Config } from './base/config.ts'
import type { BaseError } from './base/errors.ts'
import { limits } from './base/limits.ts'
import { lockFolder } from './base/lock.ts'
import type { Logger } from './base/logger.ts'
import { birthOf } from './base/process.ts'
import { announceReady, requireUnannounced, type ReadyFacts } from './base/ready.ts'
import { createShutdown, type Shutdown } from './base/shutdown.ts'
import { createWatchdog, type Watchdog } from './base/watchdog.ts'
import { checksummed } from './chain/hex.ts'
import type { FoundContracts } from './chain/read/contracts.ts'
import { openSigners } from './chain/signers/open-signers.ts'
import type { Signers } from './chain/signers/signer.ts'
import { findWellKnownSigner } from './chain/signers/well-known-signers.ts'
import { moveByWire } from './ledger/wires.ts'
import { CHARGE_POLICY } from './rails/charge-deps.ts'
import { refuseDefaultSecrets } from './store/access/default-secrets.ts'
import { ensureDemoAccounts } from './store/access/demo-accounts.ts'
import { ensureSigningKey } from './store/access/signing-keys.ts'
import type { Database, Db } from './store/database/database.ts'
import { claimInstallation } from './store/database/installation.ts'
import { takeBackLeases } from './store/database/leases.ts'

/**
 * `up` is everything in one process; `serve` and `work` share a database and a chain with others.
 */
export type Role = 'up' | 'serve' | 'work'

/** A program that runs. `stop` ends all its parts, and resolves to what failed meanwhile. */
export type App = {
  facts: ReadyFacts
  /** Resolves to the reason when a part that the rest stands on has ended by itself. */
  failed: Promise<BaseError>
  stop: () => Promise<BaseError[]>
}

/** What to run, by which settings, and where to log. */
export type AppOptions = {
  config: Config
  role: Role
  logger: Logger
  /** Ends what a start waits for, which then fails. */
  signal?: AbortSignal
  /** Told after each step of the start, for a person who watches. */
  onProgress?: (step: StartStep) => void
}

/** One part that has started, and how long it took. */
export type StartStep = { name: string; detail: string; elapsedMs: number }

/**
 * The only place where parts are put together. A failed start stops what it had started.
 *
 * @example
 *   ```ts
 *   import { createLogger, parseConfig, startApp } from 'quittance/server'
 *
 *   const config = parseConfig(process.env)
 *   const app = await startApp({ config, role: 'up', logger: createLogger({ level: 'info' }) })
 *   console.log(app.facts.url)
 *   await app.stop()
 *   ```
 */
export async function startApp(options: AppOptions): Promise<App> {
  const shutdown = createShutdown()
  try {
    return await start(options, shutdown)
  } catch (error) {
    for (const failure of await shutdown.stop()) options.logger.error({ err: failure })
    throw error
  }
}

async function start(options: AppOptions, shutdown: Shutdown): Promise<App> {
  const { config, role } = options
  const failure = Promise.withResolvers<BaseError>()
  const ground = await open(options, shutdown, failure.resolve)
  const { chain, contracts } = ground
  const ledger = createLedger(ground)
  const works = role !== 'serve'
  const watch: Watchdog['watch'] = works ? ground.watchdog.watch : () => () => undefined
  const paying = await createPaying({
    ...ground,
    onProgress: watch('sender', limits.senderStillMs),
    onMoved: createOnMoved(ledger),
    onEvent: countSender(ground.registry),
  })
  const facts: ReadyFacts = {
    url: undefined,
    statusUrl: undefined,
    console: undefined,
    environment: config.environment,
    chainId: chain.chainId,
    rpcUrl: chain.url,
    settlement: contracts.settlement,
    stablecoin: contracts.stablecoin,
    token: contracts.token,
    signers: paying.signers.own.map((one) => ({ ...one, address: checksummed(one.address) })),
    ...(await startDemo(options, ground, paying)),
    pid: process.pid,
    birth: birthOf(process.pid),
  }
  const rails = await startRails({
    ...ground,
    role,
    paying,
    watch,
    moveByWire: (db, moved) => moveByWire(ledger, db, moved),
  })
  facts.simulators = rails.simulators
  const reconciliation = createReconciliation({
    ...ground,
    signal: shutdown.signal,
    onProgress: watch('reconciler', limits.reconcilerStillMs),
  })
  if (works) work(ground, { sender: paying.sender, rails, reconciliation })
  startSupply(ground, { ledger, works, watch })
  startSigners(ground, { signers: paying.signers, works, watch })
  const webhooks = works ? startWebhooks(ground) : undefined
  if (role === 'work') {
    facts.statusUrl = await serveStatus(ground)
  } else {
    facts.url = await serve(ground, { ...paying, rails, webhooks, reconciliation })
    // One registry holds each metric once: beside the API, its requests are the ones that count.
    facts.statusUrl = (await serveStatus(ground, new Registry())) ?? facts.url
    rails.announce(facts.url)
    facts.console = `${facts.url}/console`
  }
  shutdown.add('ready.json', announceReady(config.dataFolder, facts))
  return { facts, failed: failure.promise, stop: shutdown.stop }
}

/** What every part stands on. */
export type Ground = {
  config: Config
  logger: Logger
  clock: Clock
  registry: Registry
  shutdown: Shutdown
  watchdog: Watchdog
  /** The parts of `/readyz` that are no loops, as they are started. */
  checks: HealthCheck[]
  /** What the operator has accepted, and should not forget. */
  warnings: readonly string[]
  database: Database
  db: Db
  chain: Chain
  contracts: FoundContracts
  signers: Signers
  referenceKey: Uint8Array
}

/** Opens the database and the chain, and refuses those that do not belong together. */
async function open(
  options: AppOptions,
  shutdown: Shutdown,
  onEnd: (reason: BaseError) => void,
): Promise<Ground> {
  const { config, role, logger } = options
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'quittance_' })
  if (role === 'up') {
    const lock = await lockFolder(config.dataFolder)
    shutdown.add('the lock of the data folder', lock.release)
  } else {
    requireShared(config, role)
  }
  const warnings = requireTrustedProviders(config)
  for (const warning of warnings) logger.warn(warning)
  requireUnannounced(config.dataFolder)
  const where = [role === 'work' ? undefined : whereIsApi(config), whereIsStatus(config)]
  for (const one of where) if (one) await requireListenable(one)
  const shared = { config, logger, shutdown }
  const openDatabase = () =>
    timed(options, 'database', () =>
      startDatabase({ ...shared, migrates: role === 'up', signal: options.signal }),
    )
  const openChain = async () => {
    const onEvent = countProviders(registry)
    const opened = await timed(options, 'chain', () => startChain({ ...shared, onEnd, onEvent }))
    if (opened.chainId === 1) requireDurable(config)
    return opened
  }
  // What runs elsewhere is asked first: where it is wrong or away, nothing is started here.
  const elsewhere = config.rpcUrls.length > 0 ? await openChain() : undefined
  const [database, chain] = await both(openDatabase(), elsewhere ?? openChain())
  const { chainId } = chain
  const { db } = database
  const { environment } = config
  const { referenceKey } = await claimInstallation(db, { environment, chainId })
  const signers = await openSigners(config.signer ?? `seed:${SANDBOX_MNEMONIC}`, shutdown.signal)
  const findWellKnown = () => findWellKnownSigner(signers)
  await refuseDefaultSecrets(db, { ...config, chainId, findWellKnown })
  await ensureSigningKey(db)
  const contracts = await timed(options, 'contracts', () => startContracts({ config, chain }))
  const clock = systemClock
  // The lock of the folder says that whoever held them is gone.
  if (role === 'up' && database.kind === 'embedded') {
    await takeBackLeases(db, { now: clock.now(), leaseMs: CHARGE_POLICY.leaseMs })
  }
  measureOrders({ registry, db, chainId, clock })
  measureWebhooks(registry, db)
  measureBreaks({ registry, db, chainId })
  const watchdog = createWatchdog({ clock, logger })
  const found = { database, db, chain, contracts, signers, referenceKey, checks: [] }
  return { ...shared, clock, watchdog, warnings, registry, ...found }
}

/** What goes on by itself; any number of processes may do it beside each other. */
function work({ shutdown, watchdog, ...ground }: Ground, working: Working): void {
  const { sender, rails, reconciliation } = working
  const { signal } = shutdown
  const watching = watchdog.run(signal)
  shutdown.add('the watchdog', () => watching)
  const paying = sender.run(signal)
  shutdown.add('the sender', () => paying)
  const moving = rails.run(signal)
  shutdown.add('the rails', () => moving)
  const reconciling = reconciliation.run(signal)
  shutdown.add('the reconciliation', () => reconciling)
  const maintenance = startMaintenance({ ...ground, signal })
  shutdown.add('the maintenance', maintenance.stop)
  const sampling = keepSamples({ ...ground, signal })
  shutdown.add('the samples of the overview', () => sampling)
}

type Working = Pick<Paying, 'sender'> & { rails: Rails; reconciliation: Reconciliation }

type Served = Paying & Working & { webhooks: Webhooks | undefined }

async function serve(ground: Ground, served: Served): Promise<string> {
  const { config, db, chain, shutdown } = ground
  const { payments, rails, webhooks } = served
  const ledger = createLedger(ground)
  const minting = createMinting(served, shutdown.signal)
  const burning = createBurning(served, shutdown.signal)
  const withdrawing = createWithdrawing(served, {
    withdrawals: config.withdrawals,
    hasSettlement: ground.contracts.settlement !== undefined,
    signal: shutdown.signal,
  })
  const { environment, host } = config
  const server = createServer({
    ...ground,
    isStopping: () => shutdown.signal.aborted,
    trustedProxies: config.trustedProxies,
    hasPrivateMetrics: !isOnLaptop(config),
    door: rails.door,
    ...createOperations({
      ...ground,
      environment,
      host,
      payments,
      ledger,
      minting,
      burning,
      withdrawing,
      ...rails.ground,
      ...served.reconciliation.ground,
      ...createOperating({ ...ground, signers: served.signers }),
      kickWebhooks: webhooks?.kick,
    }),
    pages: { db, loadPages, visitorRpcUrl: chain.isEmbedded ? chain.url : undefined },
    checks: checksOf(ground),
  })
  shutdown.add('the HTTP server', () => server.close())
  return listen(server, whereIsApi(config))
}

/** What the operator's own tools ask, on a port that nobody else needs to reach. */
async function serveStatus(
  ground: Ground,
  ownRegistry = ground.registry,
): Promise<string | undefined> {
  const { config, shutdown } = ground
  const where = whereIsStatus(config)
  if (where === undefined) return undefined
  const isStopping = (): boolean => shutdown.signal.aborted
  const server = createStatusServer({
    ...ground,
    ownRegistry,
    isStopping,
    checks: checksOf(ground),
  })
  shutdown.add('the status server', () => server.close())
  return listen(server, where)
}

function whereIsApi({ host, port }: Config): Where {
  return { host, port, variable: 'PORT' }
}

function whereIsStatus({ host, statusPort: port }: Config): Where | undefined {
  return port === undefined ? undefined : { host, port, variable: 'QUITTANCE_STATUS_PORT' }
}

/** A sandbox that only this machine reaches shows its metrics to anybody who asks. */
function isOnLaptop({ environment, host }: Config): boolean {
  return environment === 'sandbox' && /^(?:127\.|::1$|localhost$)/.test(host)
}

function checksOf({ database, chain, watchdog, checks }: Ground): HealthCheck[] {
  return [
    { name: 'database', check: () => database.ping() },
    { name: 'migrations', check: () => requireMigrated(database) },
    { name: 'chain', check: () => requireChain(chain) },
    ...watchdog.checks(),
    ...checks,
  ]
}

/**
 * The sandbox's own accounts; whoever runs the parts one by one makes accounts by `users` and
 * `keys`.
 */
async function startDemo(
  options: AppOptions,
  { db }: Ground,
  { payments }: Paying,
): Promise<Partial<ReadyFacts>> {
  const { config, role } = options
  const { dataFolder, environment } = config
  if (role !== 'up' || environment !== 'sandbox') return {}
  const { groupB, ...others } = await ensureDemoAccounts({
    db,
    dataFolder,
    environment,
    randomBytes,
  })
  const address = checksummed(await payments.addressOf(groupB.userId))
  return { ...others, groupB: { ...groupB, address } }
}

/** Waits for both even when one fails, so that the shutdown knows all that was started. */
async function both<A, B>(first: Promise<A>, second: B | Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second])
  return Promise.all([first, second])
}

type Started = { detail: string }

async function timed<T extends Started>(
  options: AppOptions,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = performance.now()
  const part = await work()
  options.onProgress?.({ name, detail: part.detail, elapsedMs: performance.now() - startedAt })
  return part
}
