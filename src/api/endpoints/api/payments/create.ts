import type { Clock } from '../../../../base/clock.ts'
import { actorOf, type Caller } from '../../../../domain/access.ts'
import { payerOf, type Gateway } from '../../../../domain/gateways.ts'
import { createId, type RandomBytes } from '../../../../domain/ids.ts'
import type { Currency } from '../../../../domain/money.ts'
import type { Db } from '../../../../store/database/database.ts'
import { findCharge, type Charge } from '../../../../store/rails/charges.ts'
import { recordTransaction } from '../../../../store/transactions/transactions.ts'
import { decimalOf, readAmount } from '../../../../wire/amounts.ts'
import { RequestError } from '../../../../wire/errors.ts'
import {
  paymentCreatedSchema,
  PaymentCreateSchema,
  type PaymentCreate,
  type PaymentCreated,
} from '../../../../wire/group-b/payments.ts'
import { invalidRequest } from '../../../admission/checks.ts'
import { defineEndpoint, type Endpoint } from '../../../admission/endpoint.ts'
import { later, operators } from '../../../admission/refusals.ts'
import type { Move } from '../../../admission/screen.ts'
import { chainNamed, type Chains } from '../../../chains.ts'
import { gatewayListEndpoint } from '../gateways.ts'
import { requireAmount } from './charges.ts'
import { refundEndpoint, type PayBack } from './refund.ts'
import { paymentStatusEndpoint } from './status.ts'

/** What payments need of the gateways; the composition root fits it in. */
export type PaymentDesk = {
  gateways: readonly Gateway[]
  /** Rejects while what the payer would be shown cannot be paid. */
  requireOpen: (at: { chainId: number | undefined; currency: string }) => Promise<void>
  /** Keeps, in the open transaction, what brings the payment to its gateway after the commit. */
  accept: (
    db: Db,
    payment: { transactionId: string; gateway: Gateway; chainId: number | undefined },
  ) => Promise<void>
  /** What our own checkout takes on that chain; undefined where it is not paid there. */
  checkoutCurrencies: (chainId: number) => readonly Currency[] | undefined
  /** Brings it there, or finds it there; rejects with a refusal as it is answered. */
  open: (transactionId: string) => Promise<void>
  /** The page on which a payer pays at our own checkout. */
  checkoutUrl: (chargeId: string) => string
  /** By the ids of the chains; what was paid on another one is not sent back from here. */
  payBacks: () => ReadonlyMap<number, PayBack>
  /** What waits is looked at soon even without it. */
  kick: () => void
}

export type PaymentDeps = {
  desk: PaymentDesk
  chains: Chains
  randomBytes: RandomBytes
  clock: Clock
}

export function paymentEndpoints(deps: PaymentDeps): Endpoint[] {
  return [
    paymentCreate(deps),
    paymentStatusEndpoint,
    refundEndpoint(deps),
    gatewayListEndpoint(deps),
  ]
}

function paymentCreate({ desk, chains, randomBytes }: PaymentDeps): Endpoint {
  return defineEndpoint({
    route: 'POST /api/payments',
    operationId: 'createPayment',
    summary: 'Ask a payer for money through a gateway',
    description:
      'The answer says how the payer continues: `client_secret` for a card, `approval_url` for a ' +
      'wallet, `hosted_url` for a crypto checkout. Nothing is charged before the payer agrees.',
    tag: 'Payments',
    access: 'payments:write',
    body: PaymentCreateSchema,
    status: 201,
    answer: paymentCreatedSchema(desk.gateways),
    failures: [
      'contract_not_configured',
      'limit_exceeded',
      'upstream_failed',
      'upstream_timeout',
      'operator_needed',
    ],
    refusals: { token_paused: later, payee_frozen: operators },
    prepare: async ({ body }) => {
      const gateway = requireGateway(desk.gateways, body)
      const chainId = requireCheckout({ desk, chains, gateway, body })
      await desk.requireOpen({ chainId, currency: body.currency })
    },
    moves: ({ body, caller }) => [moveOf(body, caller)],
    handle: async ({ body, caller, db }) => {
      const gateway = requireGateway(desk.gateways, body)
      const chainId = requireCheckout({ desk, chains, gateway, body })
      requireCurrency(body, currenciesAt(desk, { gateway, chainId }))
      const { currency } = body
      const amount = readAmount({ amount: body.amount, currency })
      requireAmount({ amount, currency, limits: gateway })
      const transactionId = createId('TX', randomBytes)
      await recordTransaction(db, {
        transactionId,
        userId: caller.userId,
        type: 'payment',
        amount,
        currency,
        description: body.description,
        gatewayId: gateway.id,
        chainId,
        metadata: body.metadata ?? {},
        actor: actorOf(caller),
        reason: 'payment created',
      })
      await desk.accept(db, { transactionId, gateway, chainId })
      return { success: true as const, transaction_id: transactionId, status: 'pending' as const }
    },
    subjectsOf: ({ transaction_id: id }) => [id],
    complete: async ({ transaction_id: transactionId }, { db }) => {
      await desk.open(transactionId)
      return createdOf(await requireCharge(db, transactionId), desk)
    },
  })
}

/** What it asks a payer for, for the screen. */
function moveOf(body: PaymentCreate, { userId }: Caller): Move {
  const { gateway_id: gatewayId, chain, currency, description, metadata } = body
  const amount = decimalOf({ amount: readAmount({ amount: body.amount, currency }), currency })
  const asked = { amount, currency, gatewayId, chain, description, metadata }
  return { field: 'gateway_id', way: 'payment', userId, ...asked }
}

function requireGateway(gateways: readonly Gateway[], body: PaymentCreate): Gateway {
  const gateway = gateways.find(({ id }) => id === body.gateway_id)
  if (gateway === undefined) {
    const message = 'There is no gateway of this id. GET /api/gateways lists them.'
    throw invalidRequest([{ field: 'gateway_id', code: 'unknown_gateway', message }])
  }
  return gateway
}

/** On which chain our own checkout is paid; undefined of any other gateway. */
function requireCheckout(asked: {
  desk: PaymentDesk
  chains: Chains
  gateway: Gateway
  body: PaymentCreate
}): number | undefined {
  const { desk, chains, gateway, body } = asked
  if (gateway.kind !== 'crypto_checkout') {
    if (body.chain === undefined) return undefined
    const message = 'This gateway uses no chain. Leave the field out.'
    throw invalidRequest([{ field: 'chain', code: 'unknown_field', message }])
  }
  const { chainId, name } = chainNamed(chains, body.chain)
  if (desk.checkoutCurrencies(chainId) !== undefined) return chainId
  const message = `The chain ${name} has no settlement contract. Use another chain.`
  throw new RequestError('contract_not_configured', message, {
    problems: [{ field: 'chain', code: 'contract_not_configured', message }],
  })
}

function currenciesAt(
  desk: PaymentDesk,
  { gateway, chainId }: { gateway: Gateway; chainId: number | undefined },
): readonly string[] {
  return (
    (chainId === undefined ? undefined : desk.checkoutCurrencies(chainId)) ?? gateway.currencies
  )
}

function requireCurrency({ currency }: PaymentCreate, taken: readonly string[]): void {
  if (taken.includes(currency)) return
  const message = `This gateway accepts ${taken.join(', ')}. Use one of them.`
  throw invalidRequest([{ field: 'currency', code: 'currency_not_taken', message }])
}

async function requireCharge(db: Db, transactionId: string): Promise<Charge> {
  const charge = await findCharge(db, transactionId)
  if (charge === undefined) throw new RequestError('not_found', 'No payment has this id. Check it.')
  if (charge.externalId === undefined) {
    const why = charge.errorCode ?? 'refused'
    throw new RequestError(
      'upstream_failed',
      `The gateway refused the payment (${why}). Correct the request, or use another gateway.`,
    )
  }
  return charge
}

function createdOf(charge: Charge, desk: PaymentDesk): PaymentCreated {
  const { kind, externalId = '', url = '', clientSecret = '' } = charge
  const told = { externalId, url, clientSecret, checkoutUrl: desk.checkoutUrl(externalId) }
  const fields = Object.entries(payerOf(desk.gateways, kind)).map(([name, field]) => {
    return [name, told[field.of]]
  })
  const { transactionId, status } = charge
  return { success: true, transaction_id: transactionId, status, ...Object.fromEntries(fields) }
}
