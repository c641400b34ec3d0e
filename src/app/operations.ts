import { randomBytes } from 'node:crypto'

import { createAccess } from '../api/access.ts'
import type { Endpoint, EndpointHooks, Idempotently } from '../api/endpoint.ts'
import type { Minting } from '../api/group-a/minting.ts'
import type { PayingBank } from '../api/group-a/sides.ts'
import { blockchainBalanceEndpoint } from '../api/group-b/blockchain-balance.ts'
import { blockchainCreateEndpoint } from '../api/group-b/blockchain-create.ts'
import type { BlockchainPayments } from '../api/group-b/blockchain-payments.ts'
import { eventListEndpoint } from '../api/group-b/events.ts'
import { solvencyEndpoint } from '../api/group-b/solvency.ts'
import { transactionDetailEndpoint } from '../api/group-b/transaction-detail.ts'
import { transactionListEndpoint } from '../api/group-b/transactions-list.ts'
import { createIdempotently } from '../api/idempotently.ts'
import type { Clock } from '../base/clock.ts'
import type { Environment } from '../base/config.ts'
import type { LedgerContext } from '../ledger/context.ts'
import type { Db } from '../store/database.ts'
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
    hooks: { db, authenticate, limitRate, idempotently: tellingAtOnce(deps) },
  }
}

/** Whatever Group A does is told to its user, who need not wait for the next poll. */
function tellingAtOnce(deps: { db: Db; kickWebhooks?: (() => void) | undefined }): Idempotently {
  const idempotently = createIdempotently(deps)
  return async (options) => {
    const answer = await idempotently(options)
    if (options.endpoint.group === 'a' && !answer.replayed) deps.kickWebhooks?.()
    return answer
  }
}
