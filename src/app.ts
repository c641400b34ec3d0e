import { collectDefaultMetrics, Registry } from 'prom-client'

import { createScreening } from './api/admission/screen.ts'
import type { Chains } from './api/chains.ts'
import type { HealthCheck } from './api/health.ts'
import { listen, requireListenable, type Where } from './api/server/listen.ts'
import { createServer, createStatusServer } from './api/server/server.ts'
import { chainChecks, startChainParts, type RunningChain } from './app/chain-parts.ts'
import { requireMigrated, startBells, startDatabase } from './app/database.ts'
import { createDrain } from './app/drain.ts'
import type { Ground, OpenChain } from './app/ground.ts'
import { createLedger } from './app/ledger.ts'
import { startMaintenance } from './app/maintenance.ts'
import { countProviders, countSender, measureOrders, measureWebhooks } from './app/metrics.ts'
import {
  connectChains,
  keepOpening,
  openChains,
  warnOfForgotten,
  type ConnectedChains,
  type Connecting,
} from './app/open-chains.ts'
import { createOperations } from './app/operations.ts'
import { loadPages } from './app/pages.ts'
import { requireDurable, requireShared } from './app/requirements.ts'
import { startRails, type Rails } from './app/rails.ts'
import { measureBreaks } from './app/reconcile/reconciliation.ts'
import { keepSamples } from './app/samples.ts'
import { measureSigners } from './app/signers.ts'
import { factsOf, placeOf } from './app/start/facts.ts'
import { defaultBankOf, requireFitting, type OwnParts } from './app/start/own-parts.ts'
import { openAllSigners } from './app/start/signers.ts'
import { measureSupply } from './app/supply.ts'
import { startTracing } from './app/tracing/start.ts'
import { requireTrustedProviders } from './app/trusted-providers.ts'
import { startWebhooks } from './app/webhooks.ts'
import { systemClock } from './base/clock.ts'
import { configOf, type Config } from './base/config.ts'
import type { BaseError } from './base/errors.ts'
import { lockFolder } from './base/lock.ts'
import type { Logger } from './base/logger.ts'
import { announceReady, requireUnannounced, type ReadyFacts } from './base/ready.ts'
import { createShutdown, type Shutdown } from './base/shutdown.ts'
import { createWatchdog } from './base/watchdog.ts'
import type { ChainNames } from './domain/chains.ts'
import type { LedgerContext } from './ledger/context.ts'
import { moveByWire } from './ledger/wires.ts'
import { CHARGE_POLICY } from './rails/charge-deps.ts'
import { refuseDefaultSecrets } from './store/access/default-secrets.ts'
import { ensureSigningKey } from './store/access/signing-keys.ts'
import { claimInstallation } from './store/database/installation.ts'
import { takeBackLeases } from './store/database/leases.ts'

/**
 * `up` is everything in one process; `serve` and `work` share a database and a chain with others.
 */
export type Role = 'up' | 'serve' | 'work'

/** A program that runs. `stop` ends all its parts, and resolves to what failed meanwhile. */
export type App = {
  facts: ReadyFacts
  /** Resolves to the reason when a part that the others need ends by itself. */
  failed: Promise<BaseError>
  stop: () => Promise<BaseError[]>
}

/** What to run, by which settings, where to log, and what is added to it. */
export type AppOptions = OwnParts & {
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
  requireFitting(options, config)
  const failure = Promise.withResolvers<BaseError>()
  const { ground, connecting, opened, away } = await openGround(options, shutdown, failure.resolve)
  const running: RunningChain[] = []
  const ledger = createLedger({
    clock: ground.clock,
    stablecoinOn: (chainId) => running.find((one) => one.chainId === chainId)?.stablecoin,
    bank: defaultBankOf(options)?.name,
  })
  const works = role !== 'serve'
  const countOf = countSender(ground.registry)
  const run = async (chain: OpenChain): Promise<void> => {
    const isUsual = running.length === 0
    const of = { ledger, works, isUsual, onEvent: countOf(chain.name) }
    running.push(await startChainParts(ground, chain, of))
  }
  for (const chain of opened) await run(chain)
  const chains: Chains<RunningChain> = {
    all: () => running as [RunningChain, ...RunningChain[]],
    waiting: () => away.map(({ names }) => names),
  }
  measure(ground, chains)
  const [usual] = chains.all()
  const facts = await factsOf(options, ground, usual)
  facts.chains = running.map(({ name, ...one }) => ({ name, ...placeOf(one) }))
  const rails = await startRails({
    ...ground,
    role,
    chains: chains.all,
    watch: works ? ground.watchdog.watch : () => () => undefined,
    moveByWire: (db, moved) => moveByWire(ledger, db, moved),
  })
  facts.simulators = rails.simulators
  if (works) work(ground, { chains, rails })
  if (works) startWebhooks(ground)
  if (role === 'work') {
    facts.statusUrl = await serveStatus(ground, chains)
  } else {
    facts.url = await serve(ground, { chains, ledger, rails })
    // A registry holds each metric once. The shared one counts the requests of the API.
    facts.statusUrl = (await serveStatus(ground, chains, new Registry())) ?? facts.url
    rails.announce(facts.url)
    facts.console = `${facts.url}/console`
  }
  keepOpening(ground, { connecting, away, run })
  shutdown.add('ready.json', announceReady(config.dataFolder, facts))
  return { facts, failed: failure.promise, stop: shutdown.stop }
}

/** Opens the database and the chains, and refuses those that do not belong together. */
async function openGround(
  options: AppOptions,
  shutdown: Shutdown,
  onEnd: (reason: BaseError) => void,
) {
  const { config, role, logger } = options
  const registry = new Registry()
  // At the usual 10 ms it would wake a program at rest a hundred times a second.
  const eventLoopMonitoringPrecision = 100
  collectDefaultMetrics({ register: registry, prefix: 'quittance_', eventLoopMonitoringPrecision })
  const tracing = await startTracing({ config, role, logger, registry, shutdown })
  if (role === 'up') {
    const lock = await lockFolder(config.dataFolder)
    shutdown.add('the lock of the data folder', lock.release)
  } else {
    requireShared(config, role)
  }
  const warnings = config.chains.flatMap((one) => requireTrustedProviders(configOf(config, one)))
  for (const warning of warnings) logger.warn(warning)
  requireUnannounced(config.dataFolder)
  const where = [role === 'work' ? undefined : whereIsApi(config), whereIsStatus(config)]
  for (const one of where) if (one) await requireListenable(one)
  const shared = { config, logger, shutdown, tracing }
  const openDatabase = () =>
    timed(options, 'database', () =>
      startDatabase({ ...shared, migrates: role === 'up', signal: options.signal }),
    )
  const connecting: Connecting = {
    ...shared,
    onEnd,
    onEvent: countProviders(registry),
    timed: (name, work) => timed(options, name, work),
  }
  const connect = async (): Promise<ConnectedChains> => {
    const connected = await connectChains(connecting)
    if (connected.there.some(({ chainId }) => chainId === 1)) requireDurable(config)
    return connected
  }
  // What runs elsewhere is asked first: where it is wrong or away, nothing is started here.
  const elsewhere = config.rpcUrls.length > 0 ? await connect() : undefined
  const [database, connected] = await both(openDatabase(), elsewhere ?? connect())
  const { db } = database
  const { environment } = config
  const { chainId } = connected.there[0]
  const { referenceKey } = await claimInstallation(db, { environment, chainId })
  const { signers, facts } = await openAllSigners(options, shutdown.signal)
  for (const { chainId } of [...connected.there, ...connected.away.map(({ names }) => names)]) {
    await refuseDefaultSecrets(db, { ...config, ...facts, chainId })
  }
  await ensureSigningKey(db)
  const { opened, away } = await openChains(connecting, db, connected)
  const names = away.map((one) => one.names)
  const forgotten = await warnOfForgotten(db, [...opened, ...names])
  for (const warning of forgotten) logger.warn(warning)
  warnings.push(...forgotten)
  const clock = systemClock
  // The lock of the folder proves that the process that held these leases has ended.
  if (role === 'up' && database.kind === 'embedded') {
    await takeBackLeases(db, { now: clock.now(), leaseMs: CHARGE_POLICY.leaseMs })
  }
  const watchdog = createWatchdog({ clock, logger })
  const bells = startBells({ ...shared, database, clock })
  const found = { database, db, bells, own: options, signers, referenceKey, checks: [] }
  const ground: Ground = { ...shared, clock, watchdog, warnings, registry, ...found }
  return { ground, connecting, opened, away }
}

type ServedChains = Chains<RunningChain>

function measure({ registry, db, clock }: Ground, { all, waiting }: ServedChains): void {
  const chains = (): ChainNames[] => [...all(), ...waiting()]
  measureOrders({ registry, db, chains, clock })
  measureWebhooks(registry, db)
  measureBreaks({ registry, db, chains })
  measureSupply(registry, db, all)
  measureSigners(registry, all)
}

/** Starts the background work. Any number of processes may do it at the same time. */
function work(
  { shutdown, watchdog, ...ground }: Ground,
  { chains, rails }: { chains: ServedChains; rails: Rails },
): void {
  const { signal } = shutdown
  const watching = watchdog.run(signal)
  shutdown.add('the watchdog', () => watching)
  const moving = rails.run(signal)
  shutdown.add('the rails', () => moving)
  const maintenance = startMaintenance({ ...ground, signal })
  shutdown.add('the maintenance', maintenance.stop)
  const sampling = keepSamples({ ...ground, chains: chains.all, signal })
  shutdown.add('the samples of the overview', () => sampling)
}

type Served = {
  chains: ServedChains
  ledger: LedgerContext
  rails: Rails
}

async function serve(ground: Ground, served: Served): Promise<string> {
  const { config, db, logger, shutdown } = ground
  const { chains, ledger, rails } = served
  const { screen } = ground.own
  const drain = createDrain(ground)
  const { environment, host } = config
  const server = createServer({
    ...ground,
    isStopping: () => shutdown.begun.aborted,
    isClosing: () => drain.closing.aborted,
    trustedProxies: config.trustedProxies,
    hasPrivateMetrics: !isOnLaptop(config),
    door: rails.door,
    ...createOperations({
      ...ground,
      signal: shutdown.signal,
      screen: screen && createScreening({ screen, logger }),
      environment,
      host,
      chains,
      ledger,
      ...rails.ground,
      closing: drain.closing,
    }),
    pages: { db, loadPages, visitorRpcUrl: (name) => ownNodeOf(chains, name) },
    checks: () => checksOf(ground, chains),
  })
  shutdown.finish('the HTTP server', drain.closerOf(server))
  return listen(server, whereIsApi(config))
}

/** No visitor gets the address of a node that somebody else runs: it may have a key in it. */
function ownNodeOf({ all }: ServedChains, name: string | null): string | undefined {
  const { chain } = all().find((one) => one.name === name) ?? {}
  return chain?.isEmbedded ? chain.url : undefined
}

/** What the operator's own tools ask, on a port that nobody else needs to reach. */
async function serveStatus(
  ground: Ground,
  chains: ServedChains,
  ownRegistry = ground.registry,
): Promise<string | undefined> {
  const { config, shutdown } = ground
  const where = whereIsStatus(config)
  if (where === undefined) return undefined
  const server = createStatusServer({
    ...ground,
    ownRegistry,
    isStopping: () => shutdown.begun.aborted,
    checks: () => checksOf(ground, chains),
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

function checksOf({ database, db, watchdog, checks }: Ground, chains: ServedChains): HealthCheck[] {
  return [
    { name: 'database', check: () => database.ping() },
    { name: 'migrations', check: () => requireMigrated(database) },
    ...chainChecks(db, chains),
    ...watchdog.checks(),
    ...checks,
  ]
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
