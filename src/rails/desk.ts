import { randomBytes } from 'node:crypto'

import { createFreshCache } from '../base/cache.ts'
import type { Bell } from '../base/bells.ts'
import type { Clock } from '../base/clock.ts'
import { BaseError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import type { Logger } from '../base/logger.ts'
import { GATEWAYS, type GatewayKind, type Party, type RemoteGatewayKind } from '../base/parties.ts'
import { partyOf, type RailsConfig } from '../base/rails-config.ts'
import { termsIn, termsOf, type Gateway, type Terms } from '../domain/gateways.ts'
import { createId } from '../domain/ids.ts'
import type { Currency } from '../domain/money.ts'
import type { Hex } from '../domain/orders.ts'
import type { Db } from '../store/database/database.ts'
import {
  findCharge,
  findChargeByExternalId,
  insertCharge,
  wakeCharge,
  type Charge,
} from '../store/rails/charges.ts'
import { listWrongTokens, sumByReference } from '../store/rails/checkouts.ts'
import { noteDispute } from '../store/rails/disputes.ts'
import { RequestError } from '../wire/errors.ts'
import type { ChargePolicy } from './charge-deps.ts'
import { createChargeRail } from './charge-rail.ts'
import { renderCheckout, type CheckoutPage } from './checkout-page.ts'
import { SHOWN_STRAYS } from './checkout-strays.ts'
import type { CheckoutSeen } from './checkout-seen.ts'
import type { CheckoutObstacle, CheckoutTerms } from './checkout.ts'
import type { GatewayAdapter, GatewayNews, Webhook } from './gateway.ts'
import { ADAPTERS, type AdapterGround } from './gateways.ts'
import { createOwnGateway, type OwnGateway } from './own/gateway.ts'
import { RailError } from './reply.ts'

/** Puts the gateways behind the operations: those of the configuration, each under its id. */
export function createPaymentGateways(deps: {
  db: Db
  clock: Clock
  logger: Logger
  parties: RailsConfig
  /** Those that the program brings itself. */
  own?: readonly OwnGateway[] | undefined
  policy: ChargePolicy
  bell?: Bell
  onProgress?: () => void
  /** Under which address the world reaches this program. */
  publicUrl: () => string
  /** By the ids of the chains that have a contract to be paid through. */
  checkouts: () => ReadonlyMap<number, CheckoutTerms>
  /** What the checkout of a chain says of what is not final yet. */
  seenOn?: (chainId: number) => CheckoutSeen | undefined
  signal: AbortSignal
}) {
  const { db, clock, signal, checkouts } = deps
  const adapters = adaptersOf(deps)
  const rail = createChargeRail({ ...deps, adapters })
  const desk = {
    gateways: gatewaysOf({ ...deps, adapters }),
    async requireOpen({ chainId, currency }: { chainId: number | undefined; currency: string }) {
      if (chainId === undefined || currency === 'ETH') return
      const obstacle = await checkouts().get(chainId)?.readObstacle?.()
      if (obstacle !== undefined) throw new BaseError(OBSTACLES[obstacle], { code: obstacle })
    },
    checkoutCurrencies(chainId: number): readonly Currency[] | undefined {
      const terms = checkouts().get(chainId)
      return terms && currenciesOf(terms)
    },
    accept: (db: Db, payment: NewCharge): Promise<void> => accept(db, { ...payment, clock }),
    open: async (transactionId: string) => answering(async () => rail.open(transactionId, signal)),
    checkoutUrl: (chargeId: string) => `${deps.publicUrl()}/checkout/${chargeId}`,
    kick: rail.kick,
  }
  const own = desk.gateways.find(({ kind }) => kind === 'crypto_checkout')
  // Many may look at one payment, each once a second.
  const pages = createFreshCache<CheckoutPage>({
    load: async (externalId) => {
      const charge = own && (await findChargeByExternalId(db, { gatewayId: own.id, externalId }))
      const terms = charge?.chainId === undefined ? undefined : checkouts().get(charge.chainId)
      if (!charge || !terms) return undefined
      // Usually nothing has arrived yet, and there is nothing to add up.
      const paidUnder = charge.received
        ? await sumByReference(db, charge.transactionId)
        : new Map<Hex, bigint>()
      const seen = await deps.seenOn?.(terms.chainId)?.(charge)
      const strays = await listWrongTokens(db, { ...charge, limit: SHOWN_STRAYS })
      return renderCheckout(
        { charge, paidUnder, seen, strays },
        await openTerms(charge, terms),
        clock.now(),
      )
    },
    capacity: limits.cachedCheckouts,
    refreshMs: limits.checkoutPageMs,
    limitMs: limits.checkoutPageMs,
    clock,
  })
  const door = {
    checkoutPage: async (externalId: string) => pages.get(externalId),
    receive: (gatewayId: number, webhook: Webhook) =>
      answeringWebhook(() =>
        receiveWebhook({ db, adapters, kick: rail.kick }, gatewayId, webhook, signal),
      ),
  }
  return { desk, door, rail }
}

/** A gateway that cannot be asked about its webhook sends it again. */
async function answeringWebhook<T>(receive: () => Promise<T>): Promise<T> {
  try {
    return await receive()
  } catch (error) {
    if (!(error instanceof RailError)) throw error
    const sentence =
      'The gateway did not answer a question about the webhook. Send the webhook again.'
    throw new RequestError('unavailable', sentence, { cause: error, retryable: true })
  }
}

/** While the node is silent the page stays open; what cannot be paid is not taken anyway. */
async function openTerms(
  { currency }: Pick<Charge, 'currency'>,
  terms: CheckoutTerms,
): Promise<CheckoutTerms> {
  if (currency === 'ETH') return terms
  const obstacle = await terms.readObstacle?.().catch(() => undefined)
  return obstacle === undefined ? terms : { ...terms, stablecoin: undefined }
}

type NewCharge = { transactionId: string; gateway: Gateway; chainId: number | undefined }

async function accept(
  db: Db,
  { transactionId, gateway, chainId, clock }: NewCharge & { clock: Clock },
): Promise<void> {
  const charge = { transactionId, gatewayId: gateway.id, kind: gateway.kind }
  if (gateway.kind === 'crypto_checkout') {
    await insertCharge(db, { ...charge, chainId, ...newCheckout(clock) })
    return
  }
  // The request itself goes on to the gateway; where it dies on the way, the rail takes over.
  const dueAt = new Date(clock.now().getTime() + OWN_TURN_MS)
  await insertCharge(db, { ...charge, dueAt })
}

const OWN_TURN_MS = 60_000

const OBSTACLES: Readonly<Record<CheckoutObstacle, string>> = {
  token_paused: 'The issuer has paused the dollar token, so nobody can pay in it. Try again later.',
  payee_frozen:
    'The dollar token has frozen the address that the checkout is paid to. ' +
    'Set another QUITTANCE_CHECKOUT_PAYEE.',
}

function adaptersOf(deps: {
  parties: RailsConfig
  own?: readonly OwnGateway[] | undefined
  clock: Clock
  publicUrl: () => string
}): Map<number, GatewayAdapter> {
  const { parties, own = [], clock, publicUrl } = deps
  const adapters = new Map<number, GatewayAdapter>()
  const ground = { now: clock.now, returnUrl: publicUrl }
  for (const { id, kind, party: name } of parties.gateways) {
    const party = isRemote(kind) ? partyOf(parties, { kind, name }) : undefined
    if (isRemote(kind) && party) adapters.set(id, adapterOf(kind, party, ground))
  }
  for (const one of own) adapters.set(one.id, createOwnGateway(one))
  return adapters
}

function isRemote(kind: GatewayKind): kind is RemoteGatewayKind {
  return Object.hasOwn(ADAPTERS, kind)
}

function adapterOf<Kind extends RemoteGatewayKind>(
  kind: Kind,
  party: Party<Kind>,
  ground: AdapterGround,
): GatewayAdapter {
  return ADAPTERS[kind]({ ...party, ...ground })
}

function gatewaysOf(deps: {
  parties: RailsConfig
  own?: readonly OwnGateway[] | undefined
  adapters: ReadonlyMap<number, GatewayAdapter>
  checkouts: () => ReadonlyMap<number, CheckoutTerms>
}): Gateway[] {
  const { parties, own = [], adapters } = deps
  const checkouts = [...deps.checkouts().values()]
  const configured = parties.gateways
    .filter(
      ({ kind, id }) => adapters.has(id) || (kind === 'crypto_checkout' && checkouts.length > 0),
    )
    .map(({ kind, id }): Gateway => {
      return { id, kind, payer: GATEWAYS[kind].payer, ...termsNow(kind, checkouts) }
    })
  const brought = own.map(({ id, kind, payer = {}, amounts }): Gateway => {
    return { id, kind, payer, ...termsIn(amounts) }
  })
  return [...configured, ...brought].toSorted((a, b) => a.id - b.id)
}

/** What a checkout takes on any of the chains. */
function termsNow(kind: GatewayKind, checkouts: readonly CheckoutTerms[]): Terms {
  const terms = termsOf(kind)
  if (kind !== 'crypto_checkout') return terms
  const taken = new Set(checkouts.flatMap(currenciesOf))
  return { ...terms, currencies: terms.currencies.filter((currency) => taken.has(currency)) }
}

/** Ether where it is the coin of the chain, dollars where the chain has a token for them. */
function currenciesOf({ coin = 'ETH', stablecoin }: CheckoutTerms): readonly Currency[] {
  return termsOf('crypto_checkout').currencies.filter((currency) =>
    currency === 'ETH' ? coin === 'ETH' : stablecoin !== undefined,
  )
}

/** Nobody outside is asked: the charge has its name and its reference from the start. */
function newCheckout(clock: Clock) {
  return {
    externalId: createId('REF', randomBytes),
    reference: `0x${randomBytes(32).toString('hex')}` as const,
    expiresAt: new Date(clock.now().getTime() + CHECKOUT_MS),
    gatewayStatus: 'NEW',
  }
}

const CHECKOUT_MS = 3_600_000

/** Reports that a gateway did not answer. The same request, sent again, continues the work. */
async function answering(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof RailError)) throw error
    const sentence = 'The gateway did not answer. Send the same request with the same key again.'
    const isLate = error.code === 'rail_unknown'
    throw new RequestError(isLate ? 'upstream_timeout' : 'upstream_failed', sentence, {
      cause: error,
      retryable: true,
    })
  }
}

export type Received = 'received' | 'unknown' | 'refused'

/**
 * Takes a webhook in. Nothing in it is believed but which charge has news; what the news are is
 * asked of the gateway. One that comes before our own call has returned finds the charge by the
 * transaction's id.
 */
export async function receiveWebhook(
  deps: { db: Db; adapters: ReadonlyMap<number, GatewayAdapter>; kick: () => void },
  gatewayId: number,
  webhook: Webhook,
  signal: AbortSignal,
): Promise<Received> {
  const verify = deps.adapters.get(gatewayId)?.verify
  if (verify === undefined) return 'unknown'
  // News that names no charge of ours is ignored, so the gateway is not asked about it.
  const isExpected = async (news: GatewayNews): Promise<boolean> =>
    (await chargeOf(deps.db, gatewayId, news)) !== undefined
  const news = await verify(webhook, { signal, isExpected })
  if (news === undefined) return 'refused'
  const charge = await chargeOf(deps.db, gatewayId, news)
  // Other programs may share the account at the gateway. Their charges are ignored.
  if (charge === undefined) return 'received'
  const { transactionId } = charge
  await deps.db.transaction().execute(async (db) => {
    await wakeCharge(db, { gatewayId, transactionId })
    const { disputeId } = news
    if (disputeId !== undefined) await noteDispute(db, { disputeId, transactionId })
  })
  deps.kick()
  return 'received'
}

async function chargeOf(db: Db, gatewayId: number, news: GatewayNews): Promise<Charge | undefined> {
  const { externalId, transactionId } = news
  const known = externalId && (await findChargeByExternalId(db, { gatewayId, externalId }))
  if (known) return known
  const named = transactionId === undefined ? undefined : await findCharge(db, transactionId)
  return named?.gatewayId === gatewayId ? named : undefined
}
