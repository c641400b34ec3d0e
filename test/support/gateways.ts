import { randomBytes } from 'node:crypto'

import type { PayBack } from '../../src/api/group-b/payment-refund.ts'
import { paymentEndpoints } from '../../src/api/group-b/payments.ts'
import { createPaymentGateways, type PaymentGateways } from '../../src/app/payment-desk.ts'
import { createLogger } from '../../src/base/logger.ts'
import {
  USUAL_GATEWAYS,
  USUAL_INSTITUTIONS,
  type RailsConfig,
} from '../../src/base/rails-config.ts'
import { CHARGE_POLICY } from '../../src/rails/charge-deps.ts'
import type { CheckoutTerms } from '../../src/rails/checkout.ts'
import type { Db } from '../../src/store/database.ts'
import type { TestClock } from './clock.ts'
import { startRailsApi, type RailsApi } from './rails-api.ts'

export const NO_PARTIES: RailsConfig = {
  publicUrl: 'https://pay.example',
  gateways: USUAL_GATEWAYS,
  institutions: USUAL_INSTITUTIONS,
  named: { stripe: new Map(), paypal: new Map(), bank: new Map() },
  stripe: undefined,
  paypal: undefined,
  bank: undefined,
  checkoutPayee: undefined,
}

export type GatewayBench = PaymentGateways & {
  api: RailsApi
  /** Looks at what is due, and lets an hour pass, so many times. */
  pass: (hours?: number) => Promise<void>
}

/** One program with the gateways of the parties, as the composition root puts it together. */
export async function startGateways(options: {
  db: Db
  clock: TestClock
  parties?: Partial<RailsConfig>
  checkout?: CheckoutTerms
  payBack?: PayBack | undefined
  /** Absent: new ones. */
  users?: Pick<RailsApi, 'alice' | 'bob'>
}): Promise<GatewayBench> {
  const { db, clock, users } = options
  const { signal } = new AbortController()
  const gateways = createPaymentGateways({
    db,
    clock,
    logger: createLogger({ level: 'silent' }),
    parties: { ...NO_PARTIES, ...options.parties },
    policy: CHARGE_POLICY,
    publicUrl: () => 'https://pay.example',
    checkout: options.checkout,
    payBack: options.payBack,
    signal,
  })
  const endpoints = paymentEndpoints({ desk: gateways.desk, randomBytes })
  const api = await startRailsApi(db, endpoints, users)
  return {
    ...gateways,
    api,
    async pass(hours = 1) {
      for (let hour = 0; hour < hours; hour += 1) {
        await gateways.rail.pass(signal)
        clock.advance(3_600_000)
      }
    },
  }
}
