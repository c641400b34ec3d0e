import { randomBytes } from 'node:crypto'

import { createAccess } from '../api/access/access.ts'
import type { Endpoint, EndpointHooks } from '../api/admission/endpoint.ts'
import type { Minting } from '../api/endpoints/v1/business-account/transfers.ts'
import type { PayingBank } from '../api/endpoints/v1/sides.ts'
import { blockchainBalanceEndpoint } from '../api/endpoints/api/blockchain/balance.ts'
import { blockchainCreateEndpoint } from '../api/endpoints/api/blockchain/transactions.ts'
import type { BlockchainPayments } from '../api/endpoints/api/blockchain/payments.ts'
import { eventListEndpoint } from '../api/endpoints/api/events.ts'
import { solvencyEndpoint } from '../api/endpoints/api/solvency.ts'
import { transactionDetailEndpoint } from '../api/endpoints/api/transactions/detail.ts'
import { transactionListEndpoint } from '../api/endpoints/api/transactions/list.ts'
import { createIdempotently } from '../api/admission/idempotently.ts'
import type { Clock } from '../base/clock.ts'
import type { Environment } from '../base/config.ts'
import type { LedgerContext } from '../ledger/context.ts'
import type { Db } from '../store/database/database.ts'
import { consoleEndpoints, type Operating } from './console.ts'
import { groupAEndpoints } from './group-a.ts'
import { createSubscriptionEndpoints } from './subscriptions.ts'

/** Every operation of both groups, and what they stand on. */
export function createOperations<Prepared, PreparedMint>(deps: {
  db: Db
  clock: Clock
  environment: Environment
  /** Where this program listens. */
  host: string
  payments: BlockchainPayments<Prepared>
  ledger: LedgerContext
  minting: Minting<PreparedMint>
  /** Payments and transfers, on the gateways and institutions that there are. */
  rails: readonly Endpoint[]
  /** Runs and breaks, for administrators. */
  reconciliation: readonly Endpoint[]
  bank: PayingBank
  kickWebhooks?: (() => void) | undefined
  operating: Operating
}): {
  endpoints: Endpoint[]
  hooks: EndpointHooks
} {
  const { db, payments, ledger, minting } = deps
  const { authenticate, limitRate, tokenEndpoint, forgetUser } = createAccess(deps)
  return {
    endpoints: [
      tokenEndpoint,
      transactionListEndpoint,
      transactionDetailEndpoint,
      eventListEndpoint,
      blockchainCreateEndpoint({ payments, randomBytes }),
      blockchainBalanceEndpoint({ payments }),
      ...groupAEndpoints(ledger, minting, deps.bank),
      solvencyEndpoint(ledger),
      ...deps.rails,
      ...createSubscriptionEndpoints(deps),
      ...deps.reconciliation,
      ...consoleEndpoints({ ...deps, forgetUser }),
    ],
    hooks: {
      db,
      authenticate,
      limitRate,
      // The user of Group A is notified of whatever it does, and need not wait for the next poll.
      idempotently: createIdempotently({
        db,
        onCommitted({ group }) {
          if (group === 'a') deps.kickWebhooks?.()
        },
      }),
    },
  }
}
