import type { PayerField } from '../../base/parties.ts'
import type { Currency } from '../../domain/money.ts'
import type { Charge } from '../../store/rails/charges.ts'
import type { Refund } from '../../store/rails/refunds.ts'
import type {
  ChargeView,
  DisputeView,
  GatewayAdapter,
  GatewayNews,
  RefundView,
  Webhook,
} from '../gateway.ts'
import { RailError } from '../reply.ts'
import { askOwn, readCode, readText, readWord, requireText } from './ask-own.ts'

/**
 * A payment that your gateway brings in. `transactionId` names it forever: give it to the gateway
 * as its idempotency key. `amount` is in the smallest unit of the currency.
 */
export type OwnCharge = Pick<
  Charge,
  'transactionId' | 'amount' | 'currency' | 'description' | 'metadata' | 'createdAt'
>

/** The same once the gateway knows it. `captureId` is the one of your latest answer. */
export type OpenedCharge = OwnCharge & Pick<Charge, 'captureId'> & { externalId: string }

/** Money that goes back to the payer. `refundId` is its idempotency key. */
export type OwnRefund = Pick<Refund, 'refundId' | 'amount'>

/** The state of a payment at your gateway, once you have compared amount and currency. */
export type OwnChargeView = {
  status: ChargeView['status']
  /** The gateway's id of the payment. It never changes. */
  externalId: string
  /** The status in the gateway's own word; absent, ours. */
  gatewayStatus?: string
  /** Why it failed, or why the payer must try again. */
  errorCode?: string
  /** The page on which the payer continues. */
  url?: string
  /** What the payer's browser needs. */
  clientSecret?: string
  /** The name by which refunds are requested, if it differs from `externalId`. */
  captureId?: string
}

/** How a refund stands. */
export type OwnRefundView = {
  state: RefundView['state']
  externalId?: string
  errorCode?: string
}

/** What a webhook of your gateway is about, once its signature is verified. */
export type OwnGatewayNews = Partial<GatewayNews>

/**
 * A gateway of your own: `startApp` brings payments in through it. `GET /api/gateways`, the limits
 * of its amounts and the documents of the API follow from this value.
 *
 * - Two calls with one key, the id of the payment or of the refund, must have one effect.
 * - Throw a `RefusedError` only if it is certain that nothing can be paid or returned. Anything
 *   else that you throw leaves the outcome unknown, and the platform asks again.
 * - Compare amount and currency with those of the charge before you answer. The platform compares
 *   the id and the order of the states.
 *
 * @example
 *   ```ts
 *   import type { OwnChargeView, OwnGateway } from 'quittance/server'
 *
 *   declare const vouchers: {
 *     issue: (key: string, cents: bigint) => Promise<OwnChargeView>
 *     read: (id: string) => Promise<OwnChargeView>
 *     giveBack: (id: string, key: string, cents: bigint) => Promise<void>
 *   }
 *
 *   export const gateway: OwnGateway = {
 *     id: 9,
 *     kind: 'voucher',
 *     amounts: { USD: [100n, 50_000n] },
 *     payer: {
 *       voucher_url: {
 *         of: 'url',
 *         description: 'Voucher: the page on which the payer enters its code.',
 *         example: 'https://vouchers.example/1',
 *       },
 *     },
 *     create: ({ transactionId, amount }) => vouchers.issue(transactionId, amount),
 *     read: ({ externalId }) => vouchers.read(externalId),
 *     async refund({ externalId }, { refundId, amount }) {
 *       await vouchers.giveBack(externalId, refundId, amount)
 *       return { state: 'completed' }
 *     },
 *   }
 *   ```
 */
export type OwnGateway = {
  /** The `gateway_id` of requests. Payments keep it, so never give it to another gateway. */
  id: number
  /** What `GET /api/gateways` calls it: lower-case letters and `_`, at most 32. */
  kind: string
  /** The least and the most of one payment, in the smallest unit of each currency. */
  amounts: Readonly<Partial<Record<Currency, readonly [min: bigint, max: bigint]>>>
  /** Fields in the answer to a new payment that tell the payer how to continue. */
  payer?: Readonly<Record<string, Omit<PayerField, 'of'> & { of: OwnPayerPart }>>
  /** Begins the payment, or finds the one that has this key. */
  create: (charge: OwnCharge, signal: AbortSignal) => Promise<OwnChargeView>
  /** How the payment stands. If a step is yours, such as a capture, take it. */
  read: (charge: OpenedCharge, signal: AbortSignal) => Promise<OwnChargeView>
  /** Returns money, or finds the refund that has this key. */
  refund: (charge: OpenedCharge, refund: OwnRefund, signal: AbortSignal) => Promise<OwnRefundView>
  /** How a dispute stands that `verify` has named. */
  readDispute?: (
    charge: OpenedCharge,
    disputeId: string,
    signal: AbortSignal,
  ) => Promise<DisputeView>
  /**
   * Reads a POST to `/webhooks/gateways/{id}`; undefined for a forgery. It only says which payment
   * has news, and `read` is asked for them.
   */
  verify?: (webhook: Webhook, signal: AbortSignal) => Promise<OwnGatewayNews | undefined>
}

/** What of your answer a field for the payer shows. */
export type OwnPayerPart = Exclude<PayerField['of'], 'checkoutUrl'>

/** The gateway as the rail asks any other: bounded in time, with answers that are checked. */
export function createOwnGateway(own: OwnGateway): GatewayAdapter {
  const { kind } = own
  return {
    kind,
    create: (charge, signal) =>
      askOwn({ signal }, async (within) => readCharge(await own.create(charge, within))),
    read: (charge, signal) =>
      askOwn({ signal }, async (within) => readCharge(await own.read(charge, within))),
    refund: (charge, refund, signal) =>
      askOwn({ signal }, async (within) => readRefund(await own.refund(charge, refund, within))),
    ...(own.readDispute && {
      readDispute: (charge, disputeId, signal) =>
        askOwn({ signal }, async (within) =>
          readDispute(await own.readDispute!(charge, disputeId, within)),
        ),
    }),
    ...(own.verify && {
      verify: (webhook, { signal }) =>
        askOwn({ signal }, async (within) => {
          const news = await own.verify!(webhook, within)
          return news && readNews(news)
        }),
    }),
  }
}

const STATUSES = ['pending', 'processing', 'completed', 'failed'] as const
const REFUND_STATES = ['pending', 'completed', 'failed'] as const

function readCharge(view: OwnChargeView): ChargeView {
  const status = readWord(view.status, { name: 'status', words: STATUSES })
  return {
    status,
    externalId: requireText(view.externalId, { name: 'external_id' }),
    gatewayStatus: readText(view.gatewayStatus, { name: 'gateway_status', max: 64 }) ?? status,
    errorCode: readCode(view.errorCode, 'error_code'),
    url: readUrl(view.url),
    clientSecret: readText(view.clientSecret, { name: 'client_secret', max: 512 }),
    captureId: readText(view.captureId, { name: 'capture_id' }),
  }
}

/** A payer follows it in a browser. */
function readUrl(value: unknown): string | undefined {
  const text = readText(value, { name: 'url', max: 2048 })
  if (text === undefined || /^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text
  throw new RailError('rail_reply_wrong', 'url')
}

function readRefund({ state, externalId, errorCode }: OwnRefundView): RefundView {
  return {
    state: readWord(state, { name: 'state', words: REFUND_STATES }),
    externalId: readText(externalId, { name: 'external_id' }),
    errorCode: readCode(errorCode, 'error_code'),
  }
}

function readNews({ externalId, transactionId, disputeId }: OwnGatewayNews): GatewayNews {
  return {
    externalId: readText(externalId, { name: 'external_id' }),
    transactionId: readText(transactionId, { name: 'transaction_id' }),
    disputeId: readText(disputeId, { name: 'dispute_id' }),
  }
}

function readDispute({ status, reason, amountMinor, isClosed }: DisputeView): DisputeView {
  if (typeof amountMinor !== 'bigint' || amountMinor <= 0n) {
    throw new RailError('rail_reply_wrong', 'amount')
  }
  const word = requireText(status, { name: 'status', max: 64 })
  if (!/^[a-z_]+$/.test(word)) throw new RailError('rail_reply_wrong', 'status')
  const why = requireText(reason, { name: 'reason', max: 64 })
  return { status: word, reason: why, amountMinor, isClosed }
}
