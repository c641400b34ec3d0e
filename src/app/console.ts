import { randomBytes } from 'node:crypto'

import type { Access } from '../api/access/access.ts'
import type { Endpoint } from '../api/admission/endpoint.ts'
import { keyEndpoints } from '../api/endpoints/api/admin/keys.ts'
import {
  everyonesWalletListEndpoint,
  postingListEndpoint,
} from '../api/endpoints/api/admin/ledger.ts'
import { overviewEndpoint, sampleListEndpoint } from '../api/endpoints/api/admin/overview.ts'
import {
  paymentDecideEndpoint,
  undecidedListEndpoint,
} from '../api/endpoints/api/admin/payments.ts'
import { everyonesListEndpoint, lifeEndpoint } from '../api/endpoints/api/admin/transactions.ts'
import { userEndpoints } from '../api/endpoints/api/admin/users.ts'
import {
  receiptCreateEndpoint,
  type ProvePayment,
} from '../api/endpoints/api/transactions/receipt.ts'
import { streamEndpoint } from '../api/endpoints/api/stream.ts'
import type { Clock } from '../base/clock.ts'
import type { Config, Environment } from '../base/config.ts'
import type { Providers } from '../chain/rpc/providers.ts'
import { prove } from '../verify/prove.ts'
import type { OverviewWire } from '../wire/group-b/admin.ts'
import type { Chain } from './chain.ts'

/** What an operator needs to know of this process beside the database. */
export type Operating = {
  chainId: number
  providers: () => OverviewWire['providers']
  provePayment: ProvePayment
  /** Aborted when the program stops. */
  signal: AbortSignal
}

export function createOperating(deps: {
  chain: Chain
  config: Config
  shutdown: { signal: AbortSignal }
}): Operating {
  const { providers, chainId } = deps.chain
  const { confirmations } = deps.config
  const { signal } = deps.shutdown
  return {
    chainId,
    signal,
    providers: () => healthOf(providers),
    provePayment: async ({ transactionId, ...payment }) => {
      const request = { chainId, ...payment, order: { transactionId } }
      const options = { providers: providers.all, confirmations, signal }
      const { quittance, verdict } = await prove(request, options)
      if (quittance !== undefined) return { quittance }
      return { problem: verdict.disagreements[0]?.message ?? 'The chain does not prove it now.' }
    },
  }
}

/** What the console stands on, beside the operations that everybody may use. */
export function consoleEndpoints(deps: {
  clock: Clock
  environment: Environment
  operating: Operating
  forgetUser: Access['forgetUser']
}): Endpoint[] {
  const { clock, environment, operating, forgetUser } = deps
  return [
    receiptCreateEndpoint({ provePayment: operating.provePayment, randomBytes }),
    streamEndpoint({ clock, signal: operating.signal }),
    overviewEndpoint({ clock, environment, ...operating }),
    sampleListEndpoint({ clock }),
    everyonesListEndpoint,
    lifeEndpoint,
    undecidedListEndpoint,
    paymentDecideEndpoint,
    everyonesWalletListEndpoint,
    postingListEndpoint,
    ...userEndpoints({ forgetUser }),
    ...keyEndpoints({ environment, randomBytes, forgetUser }),
  ]
}

export function healthOf(providers: Providers): OverviewWire['providers'] {
  return providers.states().map(({ name, score, circuit, isPaused, wrongChainId }) => ({
    name,
    score: Math.round(score * 100),
    state:
      wrongChainId === undefined
        ? isPaused
          ? 'paused'
          : circuit === 'closed'
            ? 'well'
            : 'failing'
        : 'wrong_chain',
  }))
}
