import { Gauge, type Registry } from 'prom-client'

import { toPlatformSigner, toStablecoin } from '../api/endpoints/api/admin/signers.ts'
import type { HealthCheck } from '../api/health.ts'
import { recent } from '../base/cache.ts'
import type { Clock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import type { Logger } from '../base/logger.ts'
import { createLoop } from '../base/loop.ts'
import type { Shutdown } from '../base/shutdown.ts'
import type { Watchdog } from '../base/watchdog.ts'
import { CURRENCY_DECIMALS, STABLECOIN_DECIMALS } from '../domain/money.ts'
import { SIGNER_ALERT_KINDS, type SignerFacts } from '../domain/signers.ts'
import type { SignerReader } from '../sender/signers/reader.ts'
import { watchSigners } from '../sender/signers/watch.ts'
import type { PlatformSignerWire, StablecoinWire } from '../wire/group-b/signers.ts'
import type { Db } from '../store/database/database.ts'

export type OwnSigners = () => Promise<readonly SignerFacts[]>

type SignersGround = {
  db: Db
  coin: string
  chain: { chainId: number; isEmbedded: boolean }
  clock: Clock
  logger: Logger
  shutdown: Shutdown
  checks: HealthCheck[]
}

/**
 * What signs shows itself: in `/readyz`, in the metrics by what this returns, and by alerts for
 * what it lacks.
 */
export function startSigners(
  ground: SignersGround,
  of: {
    signers: SignerReader
    works: boolean
    watch: Watchdog['watch']
    /** Of the chain, behind the names of its checks. */
    suffix: string
  },
): OwnSigners {
  const { checks, shutdown, clock, logger, chain } = ground
  // Read once for all who ask within a few seconds.
  const own = recent({
    load: () => of.signers.platform(AbortSignal.timeout(READ_MS)),
    maxAgeMs: MAX_AGE_MS,
    now: () => performance.now(),
  })
  const shown = [signersCheck(own, ground.coin), stablecoinCheck(of.signers)]
  checks.push(...shown.map((one) => ({ ...one, name: `${one.name}${of.suffix}` })))
  if (!of.works) return own
  const deps = { ...ground, chainId: chain.chainId, signers: of.signers }
  const loop = createLoop({
    name: 'signers',
    clock,
    logger,
    intervalMs: WATCH_MS,
    onProgress: of.watch('signer watch', limits.railsStillMs),
    pass: (signal) => watchSigners(deps, signal),
  })
  const watching = loop.run(shutdown.signal)
  shutdown.add('the watch over the signers', () => watching)
  return own
}

const WATCH_MS = 15_000
const MAX_AGE_MS = 3000

/** Below the limit of a health check: what no provider says by then is not known. */
const READ_MS = 2000

/** Shows them, and never takes the program out of service: what is low still serves. */
function signersCheck(own: OwnSigners, coin: string): HealthCheck {
  return {
    name: 'signers',
    async check() {
      const signers = (await own().catch(() => [])).map(toPlatformSigner)
      return {
        message: signers.map((one) => sentenceOf(one, coin)).join('; ') || 'cannot be read now',
        signers,
      }
    },
  }
}

/** Shows it, and leaves it to the start to refuse a token that does not fit. */
function stablecoinCheck(signers: SignerReader): HealthCheck {
  return {
    name: 'stablecoin',
    async check() {
      const facts = await signers.stablecoin(AbortSignal.timeout(READ_MS))
      if (facts === undefined) return { message: 'none is configured' }
      const stablecoin = toStablecoin(facts)
      const { address, symbol, decimals, profile, is_paused: isPaused } = stablecoin
      const pause = isPaused === null ? 'pause unknown' : isPaused ? 'PAUSED' : 'not paused'
      const name = symbol ?? 'a token without a symbol'
      const words = `${name} at ${address}, ${decimals} decimals, ${PROFILES[profile]}, ${pause}`
      return { message: words, stablecoin }
    },
  }
}

const PROFILES: Readonly<Record<StablecoinWire['profile'], string>> = {
  memo: 'its mints name their order',
  fiat_token: 'as USDC',
  erc20: 'a plain ERC-20',
}

function sentenceOf(signer: PlatformSignerWire, coin: string): string {
  const { address, purposes, balance_decimal: balance, on_its_way: count, mint, alerts } = signer
  const parts = [
    `${address} signs ${purposes.join(', ')}`,
    balance === null ? 'balance unknown' : `has ${balance} ${coin}`,
    `${count} in progress`,
    ...(mint === null ? [] : [mint.is_minter ? `can mint ${mint.allowance}` : 'is not a minter']),
    ...alerts.map(({ kind }) => `needs the operator: ${kind}`),
  ]
  return parts.join(', ')
}

type MeasuredSigners = () => ReadonlyArray<{ name: string; ownSigners: OwnSigners }>

/** Only the platform's own: the users' addresses would be a series each, without a limit. */
export function measureSigners(registry: Registry, chains: MeasuredSigners): void {
  const gauge = (
    name: string,
    help: string,
    valueOf: (facts: SignerFacts) => number | undefined,
  ): void => {
    const made: Gauge<'chain' | 'signer'> = new Gauge({
      name: `quittance_signer_${name}`,
      help,
      labelNames: ['chain', 'signer'],
      registers: [registry],
      async collect() {
        const all = await readAllSigners(chains)
        made.reset()
        for (const { chain, signers } of all) {
          for (const facts of signers) {
            const value = valueOf(facts)
            if (value !== undefined) made.set({ chain, signer: facts.address }, value)
          }
        }
      },
    })
  }
  gauge('balance_eth', 'Balance of the address, in the coin of its chain', ({ balance }) =>
    ether(balance),
  )
  gauge('needed_eth', 'Cost of its next hundred payments', ({ needed }) => ether(needed))
  gauge('next_nonce', 'The nonce of its next transaction', ({ nextNonce }) => number(nextNonce))
  gauge('on_its_way', 'Its transactions that are not final yet', ({ onItsWay }) => onItsWay)
  gauge('gas_today_eth', 'Gas cost of the orders of today (UTC)', ({ gasToday }) => ether(gasToday))
  gauge('mint_allowance_dollars', 'Its mint allowance', ({ mint }) =>
    scaled(mint?.allowance, STABLECOIN_DECIMALS),
  )
  measureAlerts(registry, chains)
}

async function readAllSigners(chains: MeasuredSigners) {
  return Promise.all(
    chains().map(async ({ name: chain, ownSigners }) => {
      return { chain, signers: await ownSigners().catch(() => []) }
    }),
  )
}

function measureAlerts(registry: Registry, chains: MeasuredSigners): void {
  const alerts: Gauge<'chain' | 'kind'> = new Gauge({
    name: 'quittance_signer_alerts',
    help: 'What the platform’s own signers lack',
    labelNames: ['chain', 'kind'],
    registers: [registry],
    async collect() {
      for (const { chain, signers } of await readAllSigners(chains)) {
        const open = signers.flatMap((facts) => facts.alerts)
        for (const kind of SIGNER_ALERT_KINDS) {
          alerts.set({ chain, kind }, open.filter((alert) => alert.kind === kind).length)
        }
      }
    },
  })
}

function ether(wei: bigint | undefined): number | undefined {
  return scaled(wei, CURRENCY_DECIMALS.ETH)
}

function scaled(amount: bigint | undefined, decimals: number): number | undefined {
  return amount === undefined ? undefined : Number(amount) / 10 ** decimals
}

function number(value: bigint | undefined): number | undefined {
  return value === undefined ? undefined : Number(value)
}
